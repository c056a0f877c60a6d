// SPDX-License-Identifier: GPL-2.0-or-later
#include "populate/child.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>

#include "support/program.h"

extern char **environ;

#define MESSAGE_BYTES 4096

/*
 * Up to 1.47.0 e2fsprogs know only the first. Later ones read the second too, where 0 (of our own environment) is "now"
 * for some of what they write, such as the times of quota files.
 */
static const char *const clock_variables[] = { "E2FSPROGS_FAKE_TIME", "SOURCE_DATE_EPOCH" };

#define CLOCKS (sizeof(clock_variables) / sizeof(*clock_variables))
#define CLOCK_BYTES 64

struct clocks {
	char texts[CLOCKS][CLOCK_BYTES]; /* NAME=VALUE */
};

/* What they say, as much as is kept of it. */
struct message {
	char text[MESSAGE_BYTES];
	size_t used_bytes;
};

static bool is_clock(const char *assignment)
{
	for (size_t clock = 0; clock < CLOCKS; clock++) {
		size_t bytes = strlen(clock_variables[clock]);

		if (strncmp(assignment, clock_variables[clock], bytes) == 0 && assignment[bytes] == '=')
			return true;
	}
	return false;
}

static errcode_t make_environment(const struct child *child, struct clocks *clocks, char ***ret)
{
	size_t count = 0, next = 0;

	while (environ[count])
		count++;
	char **environment = calloc(count + CLOCKS + 1, sizeof(*environment));
	if (!environment)
		return ENOMEM;
	for (size_t variable = 0; variable < count; variable++)
		if (!child->has_epoch || !is_clock(environ[variable]))
			environment[next++] = environ[variable];
	for (size_t clock = 0; child->has_epoch && clock < CLOCKS; clock++) {
		snprintf(clocks->texts[clock], CLOCK_BYTES, "%s=%" PRId64, clock_variables[clock], child->epoch);
		environment[next++] = clocks->texts[clock];
	}
	*ret = environment;
	return 0;
}

static errcode_t spawn(const struct child *child, const posix_spawn_file_actions_t *actions,
                       char *const *environment, pid_t *pid)
{
	SCOPE_FREE char *path = NULL;
	errcode_t error = program_find(child->program, &path);

	return error ? error : posix_spawn(pid, path, actions, NULL, child->arguments, environment);
}

static errcode_t start(const struct child *child, int messages, pid_t *pid)
{
	struct clocks clocks;
	SCOPE_FREE char **environment = NULL;
	posix_spawn_file_actions_t actions;
	errcode_t error = make_environment(child, &clocks, &environment);

	if (!error)
		error = posix_spawn_file_actions_init(&actions);
	if (error)
		return error;
	error = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	/* Some reasons are given on standard output. */
	if (!error)
		error = posix_spawn_file_actions_adddup2(&actions, child->output ? child->output : messages,
		                                         STDOUT_FILENO);
	if (!error)
		error = posix_spawn_file_actions_adddup2(&actions, messages, STDERR_FILENO);
	if (!error)
		error = spawn(child, &actions, environment, pid);
	posix_spawn_file_actions_destroy(&actions);
	return error;
}

/* Keeps the first of what the child says and reads the rest away. */
static void read_message(int descriptor, struct message *message)
{
	char rest[512];

	for (;;) {
		size_t room = sizeof(message->text) - 1 - message->used_bytes;
		ssize_t got = room ? read(descriptor, message->text + message->used_bytes, room) :
		                     read(descriptor, rest, sizeof(rest));
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		if (room)
			message->used_bytes += (size_t)got;
	}
	message->text[message->used_bytes] = '\0';
}

/* One line, with the image's own name where the child has the temporary one. NULL: no memory. */
static char *one_line(const struct child *child, const char *text)
{
	size_t path_bytes = strlen(child->path), image_bytes = strlen(child->image_path);
	char *line = malloc(MESSAGE_BYTES * (image_bytes + 1));
	char *to = line;

	while (line && *text) {
		if (path_bytes && strncmp(text, child->path, path_bytes) == 0) {
			to = mempcpy(to, child->image_path, image_bytes);
			text += path_bytes;
		} else if (!isspace((unsigned char)*text)) {
			*to++ = *text++;
		} else {
			if (to != line && to[-1] != ' ')
				*to++ = ' ';
			text++;
		}
	}
	if (line) {
		to -= to != line && to[-1] == ' ';
		*to = '\0';
	}
	return line;
}

errcode_t child_run(const struct child *child, const char *action, struct problem *problem)
{
	struct message message = { .used_bytes = 0 };
	int messages[2], status;
	pid_t pid;

	if (pipe2(messages, O_CLOEXEC) < 0)
		return problem_set(problem, errno, child->image_path, action);
	errcode_t error = start(child, messages[1], &pid);
	close(messages[1]);
	if (!error)
		read_message(messages[0], &message);
	close(messages[0]);
	if (error)
		return problem_set_reason(problem, error, child->image_path, action, "cannot run it: %s",
		                          error_message(error));
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return problem_set(problem, errno, child->image_path, action);
	if (WIFSIGNALED(status))
		return problem_set_reason(problem, EINTR, child->image_path, action, "ended by signal %d",
		                          WTERMSIG(status));
	if (WEXITSTATUS(status) == 0)
		return 0;
	SCOPE_FREE char *line = one_line(child, message.text);

	return problem_set_reason(problem, EINVAL, child->image_path, action, "%s",
	                          line && *line ? line : "it gave no reason");
}
