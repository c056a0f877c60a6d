/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How every tool ends when its command line is wrong. */
#ifndef MISC_USAGE_H
#define MISC_USAGE_H

#define EXIT_USAGE 2

/* What its messages begin with; each tool defines its own. */
extern const char tool_name[];

/*
 * Says on standard error what is wrong with the command line (without the tool's name before it and a newline after
 * it), and exits with EXIT_USAGE.
 */
void usage_error(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

#endif
