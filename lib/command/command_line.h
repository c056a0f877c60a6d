/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The command lines of all tools: an option is a row of a table, from which it is read, checked, stored and described.
 * A new one is a row, and a field of the tool's struct command or a function that takes it.
 */
#pragma once

#include "command/option_row.h"
#include "command/tool.h"
#include "support/run/progress.h"

/* The arguments of an option that may be given several times. Zero-initialise. */
struct argument_list {
	char **list; /* owned, the strings are not; NULL: there are none; else NULL after the last one */
	size_t count, capacity;
};

/* Ends the program without memory. */
void argument_list_add(struct argument_list *arguments, char *argument);

/* Rows of several tools. */
#define PROGRESS_WORDS "auto|bar|json|none" /* as enum progress_style has them */
#define PROGRESS_ROW(member)                                                                                           \
	{                                                                                                              \
		.name = "progress", .argument = "STYLE", .kind = ARGUMENT_WORDS, .words = PROGRESS_WORDS,              \
		FIELD(member), .help = "auto (a bar on a terminal), bar, json or none"                                 \
	}
#define THREADS_ROW(member)                                                                                            \
	{                                                                                                              \
		.name = "threads", .argument = "N", .kind = ARGUMENT_NUMBER, .maximum = MOST_THREADS, FIELD(member),   \
		.help = "how many threads work (default: the processors allowed;\n0: the main one alone)"              \
	}

#define MOST_OPTION_TABLES 8

struct command_line {
	const char *usage;  /* the beginning of --help */
	const char *advice; /* said after a message about an option that is in no table; NULL: nothing */
	/* Each table ends with a row of zeros; NULL follows the last table. --help and --version are added. */
	const struct option_row *tables[MOST_OPTION_TABLES];
	void (*print_epilogue)(void); /* prints what --help says after the options, if that is more than a text; or
	                               * NULL */
	const char *epilogue;         /* the end of --help; NULL: nothing */
	/*
	 * Used for completion, if the options depend on the first argument: returns the command line after that
	 * argument's index'th possible word, and the word itself in `word`; NULL after the last one. The result is
	 * valid until the next call.
	 */
	const struct command_line *(*after_word)(unsigned int index);
	const char *word;
};

/*
 * Reads all options, wherever they are. Wrong ones, --help and --version end the program. Returns the index of the
 * first argument that is not an option: getopt(3) has moved those to the end.
 */
int command_line_read(const struct command_line *line, int argument_count, char **arguments, struct command *command);

/* Is `wanted` true of an option among the arguments? Ignores wrong options. */
bool command_line_has(const struct command_line *line, int argument_count, char **arguments,
                      bool (*wanted)(const struct option_row *row, bool is_by_name));

/* Reads a number within the row's limits; a wrong one ends the program. */
uint64_t read_number(const struct option_row *row, const char *argument);
