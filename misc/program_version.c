/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "program_version.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "support/run/children.h"

extern char **environ;

/* Its output and messages go into the pipe. The memory of a process that has read much is not copied. */
static errcode_t start(const char *path, int output, pid_t *child)
{
	const char *const arguments[] = { path, "-V", NULL };
	posix_spawn_file_actions_t actions;
	errcode_t error = posix_spawn_file_actions_init(&actions);

	if (error)
		return error;
	error = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	if (!error)
		error = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
	if (!error)
		error = posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
	if (!error)
		error = posix_spawn(child, path, &actions, NULL, (char *const *)(uintptr_t)arguments, environ);
	posix_spawn_file_actions_destroy(&actions);
	return error;
}

/* Reads all: a program that could not write the rest would be ended by SIGPIPE. */
static void read_line(int input, char line[PROGRAM_VERSION_BYTES])
{
	char more[PROGRAM_VERSION_BYTES];
	size_t filled = 0;
	ssize_t got;

	do {
		const bool has_room = filled < PROGRAM_VERSION_BYTES - 1;

		got = read(input, has_room ? line + filled : more,
		           has_room ? PROGRAM_VERSION_BYTES - 1 - filled : sizeof(more));
		if (got > 0 && has_room)
			filled += (size_t)got;
	} while (got > 0 || (got < 0 && errno == EINTR));
	line[filled] = '\0';
	line[strcspn(line, "\n")] = '\0';
}

errcode_t program_version(const char *path, char line[PROGRAM_VERSION_BYTES])
{
	int ends[2], status = 0;
	pid_t child = -1;

	*line = '\0';
	if (pipe2(ends, O_CLOEXEC) < 0)
		return errno;
	children_expect();
	errcode_t error = start(path, ends[1], &child);

	close(ends[1]);
	read_line(ends[0], line);
	close(ends[0]);
	errcode_t wait_error = children_wait(error ? -1 : child, &status);

	if (error || wait_error)
		return error ? error : wait_error;
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		*line = '\0';
	return 0;
}
