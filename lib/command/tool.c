/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "command/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <ext2fs/ext2fs.h>

#include "ext2fs/ext2mb_err.h"
#include "support/io/whole_io.h"
#include "support/run/interrupt.h"
#include "support/run/processors.h"
#include "support/run/program.h"
#include "support/utf8.h"

/*
 * C.UTF-8, in which libarchive converts names of UTF-16, is a file, which hosts with another libc do not have, and
 * which must be that of our glibc.
 */
static void take_own_locale(void)
{
	SCOPE_FREE char *folder = NULL;

	if (program_beside("../share/ext2mb/locale", &folder) == 0)
		setenv("LOCPATH", folder, true);
}

void tool_start(void)
{
	/* open() returns the lowest free number. With O_PATH reading and writing fail, even where there is no /dev. */
	for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; stream++)
		if (fcntl(stream, F_GETFD) < 0 && open("/", O_PATH) != stream)
			_exit(EXIT_FAILURE);
	initialize_ext2_error_table();
	initialize_e2mb_error_table();
	if (STATIC_TOOLS)
		take_own_locale();
}

unsigned int default_threads(void)
{
	struct processors processors;

	processors_count(&processors);
	unsigned int usable = processors_usable(&processors);

	return usable > MOST_THREADS ? MOST_THREADS : usable;
}

int print_problem(struct problem *problem)
{
	SCOPE_FREE char *text = problem_text(problem);

	fprintf(stderr, "%s: %s\n", tool_name, text ? text : "out of memory");
	problem_clear(problem);
	return EXIT_FAILURE;
}

int print_failure(errcode_t error, const char *path, const char *action)
{
	struct problem problem = { 0 };

	problem_set(&problem, error, path, action);
	return print_problem(&problem);
}

int print_failure_reason(errcode_t error, const char *path, const char *action, const char *reason, ...)
{
	SCOPE_FREE char *text = NULL;
	struct problem problem = { 0 };
	va_list arguments;

	va_start(arguments, reason);
	if (vasprintf(&text, reason, arguments) < 0)
		text = NULL;
	va_end(arguments);
	problem_set_reason(&problem, error, path, action, "%s", text ? text : "out of memory");
	return print_problem(&problem);
}

int print_output_problem(struct problem *problem)
{
	if (problem->error == EPIPE) {
		interrupt_uninstall();
		raise(SIGPIPE);
	}
	return print_problem(problem);
}

int print_output_failure(errcode_t error)
{
	struct problem problem = { 0 };

	problem_set(&problem, error, "standard output", "cannot write");
	return print_output_problem(&problem);
}

/* Arguments may be file names from a shell pattern, with any characters. */
void usage_error(const char *format, ...)
{
	SCOPE_FREE char *text = NULL;
	va_list arguments;

	va_start(arguments, format);
	if (vasprintf(&text, format, arguments) < 0)
		text = NULL;
	va_end(arguments);
	fprintf(stderr, "%s: ", tool_name);
	utf8_print(text ? text : "out of memory", stderr);
	fputc('\n', stderr);
	exit(EXIT_USAGE);
}

void exit_after_printing(void)
{
	errcode_t error = flush_output(stdout);

	exit(error ? print_output_failure(error) : EXIT_SUCCESS);
}

void exit_without_memory(void)
{
	fprintf(stderr, "%s: out of memory\n", tool_name);
	exit(EXIT_FAILURE);
}
