/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Code that all tools share: beginning, messages, end. */
#pragma once

#include "support/problem.h"

#define EXIT_USAGE 2
#define MOST_THREADS 1024

/* The name that begins each message. Each tool defines it, and may change it before tool_start(). */
extern const char *tool_name;

/*
 * Called first in main(). Opens those of the descriptors 0 to 2 that the caller has closed: otherwise a file that is
 * opened later could get their numbers, and output would go into it. Reading from and writing to such a stream fails
 * with EBADF, so output is never lost without an error. Ends the program if a descriptor cannot be opened. Registers
 * the texts of all errors.
 */
void tool_start(void);

/* The default number of threads: one for each processor that this process may use (support/run/processors.h). */
unsigned int default_threads(void);

/* Prints the problem on standard error and clears it. Returns EXIT_FAILURE. */
int print_problem(struct problem *problem);

/* The same for a failure that the caller has found itself, with the error's message or a reason in its own words. */
int print_failure(errcode_t error, const char *path, const char *action);
int print_failure_reason(errcode_t error, const char *path, const char *action, const char *reason, ...)
	__attribute__((format(printf, 4, 5)));

/*
 * For programs that are there for what they print, after everything else is done. Where the reader of the output has
 * gone, as head(1) goes when it has seen enough (EPIPE), the program ends by SIGPIPE without a word, as others do; with
 * the message if its caller ignores that signal. Any other problem is printed.
 */
int print_output_problem(struct problem *problem);

/* The same for an error of standard output. */
int print_output_failure(errcode_t error);

/*
 * Says on standard error, in one line, what is wrong with the command line (without the tool's name before it and a
 * newline after it), and exits with EXIT_USAGE.
 */
void usage_error(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* Ends a message about an operand that is not there. */
#define SEE_HELP "; --help shows what goes where"

/* Exits with success if all that was printed is written; else says why not, and exits with failure. */
void exit_after_printing(void) __attribute__((noreturn));

/* Ends the program when there is no memory for the command line. */
void exit_without_memory(void) __attribute__((noreturn));
