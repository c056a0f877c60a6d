// SPDX-License-Identifier: GPL-2.0-or-later
#include "populate/mke2fs.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>

extern char **environ;

#define OWN_ARGUMENTS 16
#define OWN_VARIABLES 4
#define MESSAGE_BYTES 4096

struct child {
	char **arguments;
	char **environment;
	char fake_time[64];
	char inodes[32];
};

static void child_free(const struct child *child)
{
	free(child->arguments);
	free(child->environment);
}

static size_t count_strings(char *const *strings)
{
	size_t count = 0;

	while (strings && strings[count])
		count++;
	return count;
}

static errcode_t make_arguments(const struct mke2fs_run *run, struct child *child)
{
	size_t count = count_strings(run->options), next = 0;

	child->arguments = calloc(count + OWN_ARGUMENTS, sizeof(*child->arguments));
	if (!child->arguments)
		return ENOMEM;
	child->arguments[next++] = (char *)"mke2fs";
	for (size_t option = 0; option < count; option++)
		child->arguments[next++] = run->options[option];
	if (!run->verbose)
		child->arguments[next++] = (char *)"-q";
	if (run->extended) {
		child->arguments[next++] = (char *)"-E";
		child->arguments[next++] = (char *)run->extended;
	}
	if (run->uuid) {
		child->arguments[next++] = (char *)"-U";
		child->arguments[next++] = (char *)run->uuid;
	}
	if (run->inodes) {
		snprintf(child->inodes, sizeof(child->inodes), "%" PRIu64, run->inodes);
		child->arguments[next++] = (char *)"-N";
		child->arguments[next++] = child->inodes;
	}
	child->arguments[next++] = (char *)run->path;
	if (run->size)
		child->arguments[next++] = (char *)run->size;
	return 0;
}

static errcode_t make_environment(const struct mke2fs_run *run, struct child *child)
{
	size_t count = count_strings(environ), next = 0;

	child->environment = calloc(count + OWN_VARIABLES, sizeof(*child->environment));
	if (!child->environment)
		return ENOMEM;
	for (size_t variable = 0; variable < count; variable++) {
		if (!run->has_epoch || strncmp(environ[variable], "E2FSPROGS_FAKE_TIME=", 20) != 0)
			child->environment[next++] = environ[variable];
	}
	/* Up to 1.47.0 mke2fs knows only its own variable for the clock. */
	if (run->has_epoch) {
		snprintf(child->fake_time, sizeof(child->fake_time), "E2FSPROGS_FAKE_TIME=%" PRId64, run->epoch);
		child->environment[next++] = child->fake_time;
	}
	return 0;
}

/* mke2fs is often outside the PATH of an ordinary user. */
static const char *const mke2fs_names[] = { "mke2fs", "/usr/sbin/mke2fs", "/sbin/mke2fs" };

static errcode_t start_child(const struct mke2fs_run *run, struct child *child, int error_descriptor, pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	errcode_t error = posix_spawn_file_actions_init(&actions);

	if (error)
		return error;
	error = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	if (!error && !run->verbose)
		error = posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	if (!error)
		error = posix_spawn_file_actions_adddup2(&actions, error_descriptor, STDERR_FILENO);
	if (!error)
		error = ENOENT;
	for (size_t name = 0; error == ENOENT && name < sizeof(mke2fs_names) / sizeof(*mke2fs_names); name++)
		error = posix_spawnp(pid, mke2fs_names[name], &actions, NULL, child->arguments, child->environment);
	posix_spawn_file_actions_destroy(&actions);
	return error;
}

/* Keeps the first MESSAGE_BYTES of what the child says and reads the rest away. */
static void read_messages(int descriptor, char message[MESSAGE_BYTES])
{
	size_t used = 0;
	char rest[512];

	for (;;) {
		bool full = used == MESSAGE_BYTES - 1;
		ssize_t got = full ? read(descriptor, rest, sizeof(rest)) :
		                     read(descriptor, message + used, MESSAGE_BYTES - 1 - used);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		if (!full)
			used += (size_t)got;
	}
	message[used] = '\0';
}

/* One line out of what it said. */
static void one_line(char *message)
{
	char *to = message;

	for (const char *from = message; *from; from++) {
		if (!isspace((unsigned char)*from))
			*to++ = *from;
		else if (to != message && to[-1] != ' ')
			*to++ = ' ';
	}
	if (to != message && to[-1] == ' ')
		to--;
	*to = '\0';
}

errcode_t mke2fs_run(const struct mke2fs_run *run, struct problem *problem)
{
	__attribute__((cleanup(child_free))) struct child child = { 0 };
	char message[MESSAGE_BYTES];
	int messages[2], status;
	pid_t pid;

	errcode_t error = make_arguments(run, &child);
	if (!error)
		error = make_environment(run, &child);
	if (error)
		return problem_set(problem, error, run->image_path, "cannot run mke2fs");
	if (pipe2(messages, O_CLOEXEC) < 0)
		return problem_set(problem, errno, run->image_path, "cannot run mke2fs");
	error = start_child(run, &child, messages[1], &pid);
	close(messages[1]);
	if (!error)
		read_messages(messages[0], message);
	close(messages[0]);
	if (error)
		return problem_set(problem, error, run->image_path, "cannot run mke2fs");
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return problem_set(problem, errno, run->image_path, "cannot run mke2fs");
	if (WIFSIGNALED(status))
		return problem_set_reason(problem, EINTR, run->image_path, "mke2fs failed", "ended by signal %d",
		                          WTERMSIG(status));
	if (WEXITSTATUS(status) == 0)
		return 0;
	one_line(message);
	return problem_set_reason(problem, EINVAL, run->image_path, "mke2fs failed", "%s",
	                          *message ? message : "it gave no reason");
}
