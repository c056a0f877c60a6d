// SPDX-License-Identifier: GPL-2.0-or-later
/* e2populate: options in, one report or one message out. All else is in lib/populate. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <ext2fs/ext2fs.h>

#include "e2populate_options.h"
#include "e2populate_report.h"
#include "ext2fs/ext2mb_err.h"
#include "support/interrupt.h"

static int run(struct command *command)
{
	struct problem problem = { 0 };
	struct populate_report report = { 0 };
	errcode_t error = progress_start(stderr, command->progress, &command->options.progress);

	if (!error)
		error = populate(&command->options, &report, &problem);
	else
		problem_set(&problem, error, NULL, "cannot show progress");
	progress_end(command->options.progress);
	if (error) {
		report_problem(&problem);
		warnings_clear(&report.warnings);
		return EXIT_FAILURE;
	}
	report_warnings(&report.warnings);
	warnings_clear(&report.warnings);
	if (report.skipped_image)
		fprintf(stderr, "e2populate: %s: lies in its own source and is left out of it\n",
		        command->options.image);
	if (!command->quiet)
		report_print(command->options.image, &report);
	return EXIT_SUCCESS;
}

/* Without -d this is mke2fs: whoever has put e2populate in its place keeps what they had. */
static int become_mke2fs(char **arguments)
{
	arguments[0] = (char *)"mke2fs";
	execvp("mke2fs", arguments);
	if (errno == ENOENT)
		execv("/usr/sbin/mke2fs", arguments);
	if (errno == ENOENT)
		execv("/sbin/mke2fs", arguments);
	fprintf(stderr, "e2populate: mke2fs: cannot run: %s\n", strerror(errno));
	return EXIT_FAILURE;
}

/* The image must not get the number of a standard stream that is closed: what is said would go into it. */
static void open_standard_streams(void)
{
	int descriptor;

	do {
		descriptor = open("/dev/null", O_RDWR);
	} while (descriptor >= 0 && descriptor <= STDERR_FILENO);
	if (descriptor >= 0)
		close(descriptor);
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
	struct command command = { .progress = PROGRESS_AUTO };
	long processors = sysconf(_SC_NPROCESSORS_ONLN);

	/* getopt(3) begins its messages with it. */
	if (argument_count < 2)
		usage_error("-d SOURCE and IMAGE are missing");
	arguments[0] = (char *)"e2populate";
	if (!command_is_ours(argument_count, arguments))
		return become_mke2fs(arguments);
	open_standard_streams();
	raise_descriptor_limit();
	initialize_ext2_error_table();
	initialize_e2mb_error_table();
	command.options.threads = processors < 1 ? 1 : processors > MOST_THREADS ? MOST_THREADS :
	                                                                             (unsigned int)processors;
	command_parse(argument_count, arguments, &command);
	interrupt_install();
	int status = run(&command);

	command_free(&command);
	return status;
}
