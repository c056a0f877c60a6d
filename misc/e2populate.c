// SPDX-License-Identifier: GPL-2.0-or-later
/* e2populate: options in, one report or one message out. All else is in lib/populate. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <ext2fs/ext2fs.h>

#include "e2populate_existing.h"
#include "e2populate_options.h"
#include "e2populate_report.h"
#include "populate/populate.h"
#include "support/run/interrupt.h"
#include "support/run/program.h"
#include "support/utf8.h"

const char tool_name[] = "e2populate";

/* For what mke2fs says; 0: it cannot be had. */
static int open_mke2fs_output(void)
{
	int descriptor = memfd_create("mke2fs", MFD_CLOEXEC);

	return descriptor < 0 ? 0 : descriptor;
}

static int run(struct command *command)
{
	struct problem problem = { 0 };
	struct populate_report report = { 0 };

	if (command->verbose && !command->quiet && !command->options.size_only)
		command->options.mke2fs_output = open_mke2fs_output();
	errcode_t error = progress_start(stderr, command->progress, &command->options.progress);

	if (!error)
		error = populate(&command->options, &report, &problem);
	else
		problem_set(&problem, error, NULL, "cannot show progress");
	progress_end(command->options.progress);
	if (error) {
		print_problem(&problem);
		populate_report_clear(&report);
		return EXIT_FAILURE;
	}
	report_warnings(&report.warnings);
	if (report.skipped_image) {
		fputs("e2populate: ", stderr);
		utf8_print(command->options.image, stderr);
		fputs(": lies in its own source and is left out of it\n", stderr);
	}
	if (command->options.mke2fs_output)
		report_print_file(command->options.mke2fs_output, command->json ? stderr : stdout);
	if (command->json)
		error = report_print_json(&command->options, &report);
	else if (command->options.size_only)
		report_print_size(command->options.image, &report);
	else if (!command->quiet)
		report_print(command->options.image, &report);
	populate_report_clear(&report);
	return report_end(&command->options, error) ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* Invoked as mkfs.extN: take the type from our name. */
static void take_name(const char *name, struct command *command)
{
	static const char *const types[] = { "ext2", "ext3", "ext4" };

	command->is_mke2fs = strcmp(name, "mke2fs") == 0;
	for (size_t type = 0; type < sizeof(types) / sizeof(*types); type++)
		if (strncmp(name, "mkfs.", 5) == 0 && strcmp(name + 5, types[type]) == 0)
			command->type = types[type];
}

/* Invoked by one of mke2fs's names and without -d: run mke2fs itself. */
static int become_mke2fs(const struct command *command, char *name, char **arguments)
{
	struct problem problem = { 0 };
	SCOPE_FREE char *path = NULL;

	arguments[0] = command->type ? name : (char *)"mke2fs";
	errcode_t error = program_find(arguments[0], &path);
	if (error == ENOENT)
		error = program_find("mke2fs", &path);
	if (!error) {
		execv(path, arguments);
		error = errno;
	}
	problem_set(&problem, error, "mke2fs", "cannot run");
	return print_problem(&problem);
}

/* Every thread has up to four descriptors: the usual limit, 1024, is too low where there are 256 processors. */
static void raise_descriptor_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

int main(int argument_count, char **arguments)
{
	struct command command = { .progress = PROGRESS_AUTO, .options.threads = default_threads() };
	char *name = argument_count > 0 ? basename(arguments[0]) : (char *)"";

	tool_start(argument_count, arguments);
	take_name(name, &command);
	if (argument_count < 2 && !is_stand_in(&command))
		usage_error("-d SOURCE and IMAGE are missing");
	if (is_stand_in(&command) && !command_is_ours(argument_count, arguments))
		return become_mke2fs(&command, name, arguments);
	raise_descriptor_limit();
	command_parse(argument_count, arguments, &command);
	if (!command.force && !command.options.size_only && !existing_may_go(command.options.image)) {
		command_free(&command);
		return EXIT_FAILURE;
	}
	interrupt_install();
	int status = run(&command);

	command_free(&command);
	if (status != EXIT_SUCCESS)
		interrupt_die();
	return status;
}
