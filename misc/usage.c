// SPDX-License-Identifier: GPL-2.0-or-later
#include "usage.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "support/cleanup.h"
#include "support/utf8.h"

/* Arguments may be names of files, from a pattern of the shell. */
static void print_message(const char *format, va_list arguments)
{
	SCOPE_FREE char *text = NULL;

	if (vasprintf(&text, format, arguments) < 0)
		text = NULL;
	utf8_print(text ? text : "out of memory", stderr);
}

void usage_error(const char *format, ...)
{
	va_list arguments;

	fprintf(stderr, "%s: ", tool_name);
	va_start(arguments, format);
	print_message(format, arguments);
	va_end(arguments);
	fprintf(stderr, "\nTry '%s --help'.\n", tool_name);
	exit(EXIT_USAGE);
}
