/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The command lines of all tools: an option is a row of a table, from which it is read, checked, stored and described.
 * A new one is a row, and a field of the tool's struct command or a function that takes it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/run/progress.h"
#include "tool.h"

/* What was on the command line; each tool has its own. */
struct command;

enum argument_kind {
	ARGUMENT_NONE,
	ARGUMENT_NUMBER, /* minimum to maximum */
	ARGUMENT_SIZE,   /* bytes, also as 64K; minimum to maximum */
	ARGUMENT_WORDS,  /* one of a list */
	ARGUMENT_TEXT,
	ARGUMENT_FILE,
	ARGUMENT_DIRECTORY,
	ARGUMENT_IMAGE, /* a file or device with a filesystem */
};

struct option_row;

/* An option as it was found, and checked as far as its kind allows. */
struct taken_option {
	const struct option_row *row;
	char *argument;       /* NULL: none */
	uint64_t value;       /* of a number or size; which word; 1 for an option without an argument */
};

struct option_row {
	const char *heading; /* of the rows that follow; then nothing else is set */
	bool is_brief;       /* with a heading: --help names these options and says no more of them */

	const char *name;     /* "threads" for --threads; NULL: it has only a letter */
	char letter;          /* 't' for -t; 0: it has only a name */
	const char *argument; /* what --help calls it */
	enum argument_kind kind;
	bool is_optional;  /* the argument */
	const char *words; /* "auto|bar|json|none" */
	const char *(*word)(unsigned int index); /* instead, for words of a table: NULL after the last one */
	uint64_t minimum, maximum;
	size_t field_offset, field_bytes; /* FIELD(), where the value or the argument goes; or none */
	void (*take)(struct command *command, const struct taken_option *option); /* NULL: the field is all */
	const char *help; /* further lines after \n; NULL: another name of the option before it */
};

/* The arguments of an option that may be given several times. Zero-initialise. */
struct argument_list {
	char **list; /* owned, the strings are not; NULL: there are none; else NULL after the last one */
	size_t count, capacity;
};

/* Ends the program where there is no memory. */
void argument_list_add(struct argument_list *arguments, char *argument);

/* A bool, an unsigned number of 32 or 64 bits (for words: an enum with the same order), a string, or a list of them. */
#define FIELD(member) \
	.field_offset = offsetof(struct command, member), .field_bytes = sizeof(((struct command *)NULL)->member)

/* Rows of several tools. */
#define PROGRESS_WORDS "auto|bar|json|none" /* as enum progress_style has them */
#define PROGRESS_ROW(member)                                                                                           \
	{ .name = "progress", .argument = "STYLE", .kind = ARGUMENT_WORDS, .words = PROGRESS_WORDS, FIELD(member),     \
	  .help = "auto (a bar on a terminal), bar, json or none" }
#define THREADS_ROW(member)                                                                                            \
	{ .name = "threads", .argument = "N", .kind = ARGUMENT_NUMBER, .maximum = MOST_THREADS, FIELD(member),         \
	  .help = "how many threads work (default: the processors online;\n0: the main one alone)" }

#define MOST_OPTION_TABLES 8

struct command_line {
	const char *usage; /* what --help begins with */
	const char *advice; /* said after a message about an option that is in no table; NULL: nothing */
	/* Each ends with a row that is all zeros; NULL follows the last one. --help and --version are added to them. */
	const struct option_row *tables[MOST_OPTION_TABLES];
	const char *epilogue;          /* what --help ends with; NULL: nothing */
	void (*print_epilogue)(void); /* what it ends with where that is more than a text; NULL */
};

/*
 * Reads all options, wherever they are. Wrong ones, --help and --version end the program. Returns the index of the
 * first argument that is no option: getopt(3) has moved these to the end.
 */
int command_line_read(const struct command_line *line, int argument_count, char **arguments, struct command *command);

/* Is there an option among the arguments that is `wanted`? Says nothing of wrong ones. */
bool command_line_has(const struct command_line *line, int argument_count, char **arguments,
                      bool (*wanted)(const struct option_row *row, bool is_by_name));

/* Reads a number as the row has it; a wrong one ends the program. */
uint64_t read_number(const struct option_row *row, const char *argument);

#define WORD_LIST_BYTES 512

/* Adds a word to "text, json or filefrag". */
void add_to_words(char list[WORD_LIST_BYTES], const char *word, bool is_last);

/* What --help says of a table's options. */
void command_line_describe(const struct option_row *rows);
