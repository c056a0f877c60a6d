/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "support/run/child.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <ext2fs/ext2_err.h>
#include <inttypes.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "support/run/children.h"
#include "support/run/interrupt.h"
#include "support/run/program.h"

extern char **environ;

#define MESSAGE_BYTES 4096

/*
 * e2fsprogs up to 1.47.0 know only the first variable. Later versions read the second, too. There 0 (in our own
 * environment) means "now" for some of what they write, such as the times of quota files.
 */
static const char *const clock_variables[] = { "E2FSPROGS_FAKE_TIME", "SOURCE_DATE_EPOCH" };

#define CLOCKS (sizeof(clock_variables) / sizeof(*clock_variables))
#define CLOCK_BYTES 64

struct clocks {
	char texts[CLOCKS][CLOCK_BYTES]; /* NAME=VALUE */
};

/* A program's message; only its first MESSAGE_BYTES are kept. */
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

/*
 * The child shares our memory until it runs the program (vfork(2)), so everything is prepared before. posix_spawn(3)
 * would suffice but for one thing: when we end, even by SIGKILL, the child must not go on writing to the image.
 */
struct launch {
	const char *path;
	char *const *arguments;
	char *const *environment;
	int input, output, messages;
	pid_t parent;
	const sigset_t *signals; /* the child's first signal mask */
	volatile int error;      /* the error with which the program could not be run */
};

static void become(struct launch *launch)
{
	/*
	 * The child gets a process group of its own: only we end it, together with the programs that it starts
	 * (badblocks).
	 */
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != launch->parent || dup2(launch->input, STDIN_FILENO) < 0 ||
	    dup2(launch->output, STDOUT_FILENO) < 0 || dup2(launch->messages, STDERR_FILENO) < 0) {
		launch->error = errno;
		return;
	}
	sigprocmask(SIG_SETMASK, launch->signals, NULL);
	execve(launch->path, launch->arguments, launch->environment);
	launch->error = errno;
}

/* No handler of ours may run in the child, and no signal may arrive between the check of the flag and vfork(). */
static errcode_t spawn(struct launch *launch, pid_t *pid)
{
	sigset_t all, old;
	int status = 0;

	sigfillset(&all);
	launch->parent = getpid();
	launch->signals = &old;
	children_expect();
	pthread_sigmask(SIG_SETMASK, &all, &old);
	*pid = vfork();
	if (*pid == 0) {
		become(launch);
		_exit(EXIT_FAILURE);
	}
	errcode_t error = *pid < 0 ? errno : launch->error;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	errcode_t wait_error = error ? children_wait(*pid, &status) : 0;

	return error ? error : wait_error;
}

static errcode_t start(const struct child *child, int messages, pid_t *pid)
{
	struct clocks clocks;
	SCOPE_FREE char *path = NULL;
	SCOPE_FREE char **environment = NULL;
	SCOPE_CLOSE int input = open("/dev/null", O_RDONLY | O_CLOEXEC);
	errcode_t error = input < 0 ? errno : program_find(child->arguments[0], &path);

	if (!error)
		error = make_environment(child, &clocks, &environment);
	if (error)
		return error;
	struct launch launch = {
		.path = path,
		.arguments = (char *const *)child->arguments,
		.environment = environment,
		.input = input,
		/* Some programs give their reasons on standard output. */
		.output = child->output ? child->output : messages,
		.messages = messages,
	};

	return spawn(&launch, pid);
}

/* Returns true when there is something to read, false if a signal has arrived. ppoll(2) cannot miss a signal. */
static bool wait_for_message(int descriptor)
{
	struct pollfd waiting = { .fd = descriptor, .events = POLLIN };
	sigset_t all, old;
	int ready = -1;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	while (ready < 0 && !interrupt_pending()) {
		ready = ppoll(&waiting, 1, NULL, &old);
		if (ready < 0 && errno != EINTR)
			break;
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return !interrupt_pending();
}

/* Keeps the beginning of the child's output and discards the rest. Returns false if a signal arrived before the end. */
static bool read_message(int descriptor, struct message *message)
{
	char rest[512];
	bool is_whole;

	while ((is_whole = wait_for_message(descriptor))) {
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
	return is_whole;
}

/* Returns the message as one line, with the image's own name in place of the temporary one. NULL: no memory. */
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

/*
 * Finds the operating system's error that the program reports in the user's locale. EINVAL: the program itself refused
 * the request.
 */
static errcode_t cause_of(const char *message)
{
	static const errcode_t causes[] = { EIO, ENOSPC, EDQUOT, ENOMEM, EROFS, EMFILE, ENFILE, EXT2_ET_NO_MEMORY };
	locale_t users = newlocale(LC_ALL_MASK, "", (locale_t)0);
	errcode_t cause = EINVAL;

	for (size_t i = 0; i < sizeof(causes) / sizeof(*causes); i++) {
		bool is_of_system = users && causes[i] != EXT2_ET_NO_MEMORY;
		const char *text = is_of_system ? strerror_l((int)causes[i], users) : error_message(causes[i]);

		if (strstr(message, text))
			cause = causes[i];
	}
	if (users)
		freelocale(users);
	return cause == EXT2_ET_NO_MEMORY ? ENOMEM : cause;
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
	/*
	 * After a signal nothing that the child has made is kept, so it need not clean up. e2fsck would take long to
	 * stop.
	 */
	if (!error && !read_message(messages[0], &message))
		kill(-pid, SIGKILL);
	close(messages[0]);
	if (error)
		return problem_set_reason(problem, error, child->image_path, action, "cannot run it: %s",
		                          error_message(error));
	error = children_wait(pid, &status);
	if (error)
		return problem_set(problem, error, child->image_path, action);
	if (WIFSIGNALED(status))
		return problem_set_reason(problem, EINTR, child->image_path, action, "ended by signal %d",
		                          WTERMSIG(status));
	if (WEXITSTATUS(status) <= child->most_status)
		return 0;
	SCOPE_FREE char *line = one_line(child, message.text);

	return problem_set_reason(problem, cause_of(message.text), child->image_path, action, "%s",
	                          line && *line ? line : "it gave no reason");
}
