/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "program_version.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "support/cleanup.h"
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
	SCOPE_FCLOSE FILE *stream = fdopen(ends[0], "r");

	if (!stream || !fgets(line, PROGRAM_VERSION_BYTES, stream))
		*line = '\0';
	/* A program that could not write the rest would be ended by SIGPIPE. */
	while (stream && fgetc(stream) != EOF)
		;
	errcode_t wait_error = children_wait(error ? -1 : child, &status);

	if (error || wait_error)
		return error ? error : wait_error;
	line[strcspn(line, "\n")] = '\0';
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		*line = '\0';
	return 0;
}
