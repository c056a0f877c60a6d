/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ext2mb-run: executes a program with our library preloaded. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ext2mb_run_options.h"
#include "ext2mb_run_program.h"
#include "preload/settings.h"
#include "support/cleanup.h"

/* Exit statuses by which nohup(1) and env(1) tell their own errors from the program's. */
#define EXIT_CANNOT_RUN 126
#define EXIT_NOT_FOUND 127

#define LIBRARY "ext2mb-run.so"

const char *tool_name = "ext2mb-run";

/* Relative to our own folder: where make builds the library, and where make install puts it. */
static const char *const library_folders[] = { ".", PRELOAD_FOLDER };

static errcode_t find_library(char **library, struct problem *problem)
{
	SCOPE_FREE char *self = realpath("/proc/self/exe", NULL);

	if (!self)
		return problem_set(problem, errno, "/proc/self/exe", "cannot read");
	*strrchr(self, '/') = '\0';
	for (size_t index = 0; index < sizeof(library_folders) / sizeof(*library_folders); index++) {
		SCOPE_FREE char *name = NULL;

		/* The first folder counts only if we run from the build. */
		if (index == 0 && strcmp(program_name(self), "preload") != 0)
			continue;
		if (asprintf(&name, "%s/%s/" LIBRARY, self, library_folders[index]) < 0)
			return problem_set(problem, ENOMEM, NULL, "cannot run");
		*library = realpath(name, NULL);
		if (*library)
			return 0;
	}
	return problem_set_reason(problem, ENOENT, LIBRARY, "cannot find it", "install it in %s/%s", self,
	                          PRELOAD_FOLDER);
}

/* Libraries that are preloaded already come first: AddressSanitizer, for one, has to. */
static errcode_t preload(const char *library, struct problem *problem)
{
	const char *others = getenv("LD_PRELOAD");
	SCOPE_FREE char *all = NULL;

	if (strpbrk(library, ": "))
		return problem_set_reason(problem, EINVAL, library, "cannot be preloaded",
		                          "its name must not contain blanks or colons");
	if (others && strstr(others, library))
		return 0;
	if (asprintf(&all, "%s%s%s", others ? others : "", others && *others ? ":" : "", library) < 0 ||
	    setenv("LD_PRELOAD", all, 1) != 0)
		return problem_set(problem, ENOMEM, NULL, "cannot run");
	return 0;
}

static errcode_t prepare(const struct command *command, const char *path, struct problem *problem)
{
	SCOPE_FREE char *library = NULL;
	errcode_t error = program_check(path, problem);

	if (!error)
		error = find_library(&library, problem);
	if (!error)
		error = preload(library, problem);
	if (!error && settings_export(command->journal, command->is_verbose) != 0)
		error = problem_set(problem, ENOMEM, NULL, "cannot run");
	return error;
}

static void refuse_journal(const struct command *command)
{
	const char *name = program_name(command->program[0]);

	if (!settings_may_journal(name))
		usage_error(
			"--journal: %s: it works only with fuse2fs and debugfs, which show when a change is complete",
			name);
}

int main(int argument_count, char **arguments)
{
	struct command command;
	struct problem problem = { 0 };
	SCOPE_FREE char *path = NULL;

	tool_start();
	command_parse(argument_count, arguments, &command);
	if (command.journal)
		refuse_journal(&command);
	errcode_t error = program_locate(command.program[0], &path, &problem);

	if (error) {
		print_problem(&problem);
		return error == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN;
	}
	if (!prepare(&command, path, &problem)) {
		execvp(path, command.program);
		problem_set(&problem, errno, path, "cannot run");
	}
	print_problem(&problem);
	return EXIT_CANNOT_RUN;
}
