/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An option of a tool: the row of a table. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The parsed command line; each tool defines its own. */
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

/* An option as found on the command line, checked as its kind allows. */
struct taken_option {
	const struct option_row *row;
	char *argument; /* NULL: none */
	uint64_t value; /* a number or size; the index of a word; 1 for an option without an argument */
};

struct option_row {
	const char *heading; /* heading of the rows that follow; no other member is set */
	bool is_brief;       /* with a heading: --help only names these options */

	const char *name;     /* "threads" for --threads; NULL: it has only a letter */
	char letter;          /* 't' for -t; 0: it has only a name */
	const char *argument; /* its name in --help */
	enum argument_kind kind;
	bool is_optional;  /* whether the argument may be left out */
	const char *words; /* "auto|bar|json|none"; for a text: proposals of completion, and other texts are taken,
	                    * too */
	const char *(*word)(unsigned int index); /* instead of `words`, for those of a table; returns NULL after the
	                                          * last one */
	uint64_t minimum, maximum;
	size_t field_offset, field_bytes; /* FIELD() that stores the value or the argument; or 0 */
	void (*set)(struct command *command, const struct taken_option *option); /* NULL: only the field is set */
	const char *help; /* further lines after \n; NULL: another name of the option before it */
};

/* A bool, an unsigned number of 32 or 64 bits (for words: an enum with the same order), a string, or a list of them. */
#define FIELD(member)                                                                                                  \
	.field_offset = offsetof(struct command, member), .field_bytes = sizeof(((struct command *)NULL)->member)

/* Room for one of a row's words, and for all of them. */
#define WORD_BYTES 64
#define WORD_LIST_BYTES 512

/* The row after a table's last one. */
static inline bool option_row_is_end(const struct option_row *row)
{
	return !row->heading && !row->name && !row->letter;
}

/* Copies the row's word of this index; false: it has fewer words. */
bool option_row_word(const struct option_row *row, unsigned int index, char word[WORD_BYTES]);

/* Adds a word to "text, json or filefrag". */
void add_to_words(char list[WORD_LIST_BYTES], const char *word, bool is_last);

/* Lists the row's words like that. */
void option_row_list_words(const struct option_row *row, char list[WORD_LIST_BYTES]);
