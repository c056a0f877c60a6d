/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "transaction/replay.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>

#include "ext2fs/ext2mb_err.h"
#include "support/run/children.h"
#include "support/run/program.h"

extern char **environ;

/*
 * Bits of e2fsck's exit status: errors left uncorrected, operational error, usage, cancelled, library.
 */
#define E2FSCK_FAILED 0xfc

/* Keeps a preloaded libext2mb out of e2fsck. */
static char **environment_without_preload(void)
{
	size_t count = 0, kept = 0;

	while (environ[count])
		count++;
	char **environment = calloc(count + 1, sizeof(*environment));

	for (size_t index = 0; environment && index < count; index++)
		if (strncmp(environ[index], "LD_PRELOAD=", strlen("LD_PRELOAD=")))
			environment[kept++] = environ[index];
	return environment;
}

static errcode_t run_quietly(const char *path, char *const *arguments, int *status)
{
	SCOPE_FREE char **environment = environment_without_preload();
	posix_spawn_file_actions_t actions;
	pid_t pid = -1;

	if (!environment || posix_spawn_file_actions_init(&actions))
		return ENOMEM;
	errcode_t error = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);

	for (int descriptor = 1; !error && descriptor <= 2; descriptor++)
		error = posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_WRONLY, 0);
	children_expect();
	if (!error)
		error = posix_spawn(&pid, path, &actions, NULL, arguments, environment);
	posix_spawn_file_actions_destroy(&actions);
	errcode_t wait_error = children_wait(error ? -1 : pid, status);

	return error ? error : wait_error;
}

errcode_t replay_journal(const char *name, const char *io_options)
{
	SCOPE_FREE char *target = NULL;
	SCOPE_FREE char *path = NULL;
	int status = 0;
	errcode_t error = program_find("e2fsck", &path);

	if (error)
		return error == ENOENT ? EXT2MB_ET_REPLAY : error;
	if (asprintf(&target, "%s%s%s", name, *io_options ? "?" : "", io_options) < 0)
		return ENOMEM;
	char *const arguments[] = { path, "-p", "-E", "journal_only", target, NULL };

	error = run_quietly(path, arguments, &status);
	if (error)
		return error;
	return !WIFEXITED(status) || WEXITSTATUS(status) & E2FSCK_FAILED ? EXT2MB_ET_REPLAY : 0;
}
