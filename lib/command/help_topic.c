/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "command/help_topic.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "command/help.h"
#include "command/manual_text.h"

#define HEADINGS_BYTES 2048

struct line {
	enum manual_line_kind kind;
	const char *text;
	size_t bytes;
	const char *next; /* where the next line begins */
};

/* The parts that have been printed so far. */
struct shown {
	bool any;
	bool wants_blank;
	bool ends_with_row; /* of --help: rows follow each other without blank lines */
	const char *entry;  /* the last one: several options may share one */
};

/* Reads the line that begins there; false: the manual is at its end. */
static bool read_line(const char *at, struct line *line)
{
	if (!*at)
		return false;
	*line = (struct line){ .kind = (enum manual_line_kind) * at, .text = at + 1, .bytes = strcspn(at + 1, "\n") };
	line->next = line->text + line->bytes + 1;
	return true;
}

static bool is_heading(const struct line *line)
{
	return line->kind == MANUAL_SECTION || line->kind == MANUAL_SUBSECTION;
}

/* The sections of which --help itself is the better form. */
static bool is_left_out(const struct line *heading)
{
	static const char *const names[] = { "NAME", "SYNOPSIS", "OPTIONS" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (heading->bytes == strlen(names[i]) && memcmp(heading->text, names[i], heading->bytes) == 0)
			return true;
	return false;
}

/* Has the text these words, as whole words, in upper or lower case? */
static bool has_words(const char *text, size_t bytes, const char *words)
{
	size_t length = strlen(words);

	for (size_t at = 0; length && at + length <= bytes; at++)
		if (strncasecmp(text + at, words, length) == 0 && (!at || !isalnum((unsigned char)text[at - 1])) &&
		    (at + length == bytes || !isalnum((unsigned char)text[at + length])))
			return true;
	return false;
}

static bool continues_name(char byte)
{
	return isalnum((unsigned char)byte) || byte == '-' || byte == '_';
}

/* Is it a tag of this option? Its name or letter has no dashes. */
static bool is_option_tag(const struct line *line, const char *name)
{
	size_t length = strlen(name), dashes = length > 1 ? 2 : 1;

	if (line->kind != MANUAL_TAG)
		return false;
	for (size_t at = 0; at + dashes + length <= line->bytes; at++) {
		const char *option = line->text + at, *end = option + dashes + length;

		if ((!at || strchr(" ,", option[-1])) && memcmp(option, "--", dashes) == 0 &&
		    memcmp(option + dashes, name, length) == 0 &&
		    (end == line->text + line->bytes || !continues_name(*end)))
			return true;
	}
	return false;
}

/* Does the tag begin with this word, as commands of debugmb and keys of JSON do? */
static bool is_word_tag(const struct line *line, const char *word)
{
	size_t length = strlen(word);

	return line->kind == MANUAL_TAG && length <= line->bytes && strncasecmp(line->text, word, length) == 0 &&
	       (length == line->bytes || !continues_name(line->text[length]));
}

static void print_line(struct shown *shown, const struct line *line)
{
	printf("%.*s\n", (int)line->bytes, line->text);
	shown->any = shown->wants_blank = true;
	shown->ends_with_row = false;
}

/* A blank line before each part but the first, and what follows its heading. */
static void begin_part(struct shown *shown)
{
	if (shown->wants_blank)
		putchar('\n');
	shown->wants_blank = false;
}

static void print_heading(struct shown *shown, const char *text, size_t bytes)
{
	begin_part(shown);
	printf("%.*s:\n", (int)bytes, text);
}

/* Prints the tags that begin there and the entry that they share, unless it was the last to be printed. Returns its
 * end. */
static const char *print_entry(struct shown *shown, const char *at)
{
	struct line line;
	bool is_new = shown->entry != at, has_text = false;

	if (is_new)
		begin_part(shown);
	shown->entry = at;
	for (; read_line(at, &line); at = line.next) {
		if (line.kind != MANUAL_ENTRY && (line.kind != MANUAL_TAG || has_text))
			break;
		has_text = line.kind == MANUAL_ENTRY;
		if (is_new)
			print_line(shown, &line);
	}
	return at;
}

/* Prints all entries that have such a tag, with the headings of their sections or without. Returns whether there is
 * one. */
static bool print_entries(struct shown *shown, bool (*is_tag)(const struct line *line, const char *name),
                          const char *name, bool with_headings)
{
	struct line line, heading = { 0 };
	const char *tags = NULL;
	bool found = false;

	for (const char *at = manual_text; read_line(at, &line); at = line.next) {
		if (is_heading(&line))
			heading = line;
		if (line.kind != MANUAL_TAG) {
			tags = NULL;
			continue;
		}
		if (!tags)
			tags = at;
		if (!is_tag(&line, name))
			continue;
		if (with_headings && heading.text)
			print_heading(shown, heading.text, heading.bytes);
		heading.text = NULL;
		line.next = print_entry(shown, tags);
		tags = NULL;
		found = true;
	}
	return found;
}

/* --- Options ---------------------------------------------------------------------------------------------------- */

static const char *name_of(const struct option_row *row, char letter[2])
{
	letter[0] = row->letter;
	letter[1] = '\0';
	return row->name ? row->name : letter;
}

static void print_row(struct shown *shown, const struct option_row *row)
{
	if (!shown->ends_with_row)
		begin_part(shown);
	help_print_option(row);
	shown->any = shown->wants_blank = shown->ends_with_row = true;
}

/* Prints what the manual says of an option, or else --help. */
static void print_option(struct shown *shown, const struct option_row *row, bool with_heading)
{
	char letter[2];

	if (!print_entries(shown, is_option_tag, name_of(row, letter), with_heading) && row->help)
		print_row(shown, row);
}

static bool is_option(const struct option_row *row, const char *name)
{
	return (row->name && strcmp(row->name, name) == 0) || (row->letter == name[0] && !name[1]);
}

/* Prints the options of this name, and those below a heading that has these words. */
static void print_options(struct shown *shown, const struct option_row *rows, const char *topic, bool takes_headings)
{
	const struct option_row *heading = NULL;

	for (const struct option_row *row = rows; !option_row_is_end(row); row++) {
		if (row->heading) {
			bool is_it = takes_headings && has_words(row->heading, strlen(row->heading), topic);

			heading = is_it ? row : NULL;
			if (is_it)
				print_heading(shown, row->heading, strlen(row->heading));
		} else if (heading && heading->is_brief && row->help) {
			print_row(shown, row);
		} else if (is_option(row, topic) || (heading && row->help)) {
			print_option(shown, row, !heading);
		}
	}
}

/* --- Proposals ---------------------------------------------------------------------------------------------------- */

static bool has_option(const struct command_line *line, const char *name)
{
	for (const struct option_row *const *table = line->tables; *table; table++)
		for (const struct option_row *row = *table; !option_row_is_end(row); row++)
			if (row->name && strcmp(row->name, name) == 0)
				return true;
	return false;
}

/* Copies the longest word of a heading, in lower case. */
static void longest_word(const char *heading, char word[WORD_BYTES])
{
	size_t longest = 0;

	for (const char *at = heading; *at;) {
		size_t bytes = strcspn(at, " ()");

		if (bytes > longest && bytes < WORD_BYTES) {
			for (size_t i = 0; i < bytes; i++)
				word[i] = (char)tolower((unsigned char)at[i]);
			word[bytes] = '\0';
			longest = bytes;
		}
		at += bytes + strspn(at + bytes, " ()");
	}
}

const char *help_topic_word(const struct command_line *line, unsigned int index)
{
	static char word[WORD_BYTES];
	unsigned int count = 0;

	for (const struct option_row *const *table = line->tables; *table; table++)
		for (const struct option_row *row = *table; !option_row_is_end(row); row++) {
			*word = '\0';
			if (row->heading)
				longest_word(row->heading, word);
			bool is_it = row->heading ? !has_option(line, word) : row->name && row->help;

			if (is_it && count++ == index)
				return row->heading ? word : row->name;
		}
	return NULL;
}

/* --- Sections --------------------------------------------------------------------------------------------------- */

/* Prints a section whose heading is there. Returns its end. */
static const char *print_section(struct shown *shown, const char *at)
{
	struct line line;
	bool follows_tag = false;

	if (!read_line(at, &line))
		return at;
	enum manual_line_kind kind = line.kind;

	do {
		if (is_heading(&line)) {
			print_heading(shown, line.text, line.bytes);
		} else {
			if (line.kind == MANUAL_TAG && !follows_tag)
				begin_part(shown);
			print_line(shown, &line);
		}
		follows_tag = line.kind == MANUAL_TAG;
		at = line.next;
	} while (read_line(at, &line) && line.kind != MANUAL_SECTION && line.kind != kind);
	return at;
}

/*
 * Prints the sections of the manual whose headings have these words. --help sorts the options into sections of its own,
 * so one below OPTIONS is printed only if its heading is these words alone, or if nothing else was found.
 */
static void print_sections(struct shown *shown, const char *topic)
{
	const bool is_elsewhere = shown->any;
	struct line line;
	bool is_out = false;

	for (const char *at = manual_text; read_line(at, &line);) {
		if (line.kind == MANUAL_SECTION)
			is_out = is_left_out(&line);
		bool is_whole = line.bytes == strlen(topic);
		bool is_it = is_heading(&line) && has_words(line.text, line.bytes, topic) &&
		             (!is_out || (line.kind == MANUAL_SUBSECTION && (is_whole || !is_elsewhere)));

		at = is_it ? print_section(shown, at) : line.next;
	}
}

static void add_heading(char list[HEADINGS_BYTES], const char *text, size_t bytes)
{
	size_t used = strlen(list);

	snprintf(list + used, HEADINGS_BYTES - used, "%s%.*s", used ? ", " : "", (int)bytes, text);
}

/* "Size, Work and output, EXIT STATUS" */
static void list_headings(const struct command_line *line, char list[HEADINGS_BYTES])
{
	struct line heading;

	*list = '\0';
	for (const struct option_row *const *table = line->tables; *table; table++)
		for (const struct option_row *row = *table; !option_row_is_end(row); row++)
			if (row->heading)
				add_heading(list, row->heading, strlen(row->heading));
	for (const char *at = manual_text; read_line(at, &heading); at = heading.next)
		if (heading.kind == MANUAL_SECTION && !is_left_out(&heading))
			add_heading(list, heading.text, heading.bytes);
}

static void print_topic(struct shown *shown, const struct command_line *line, const struct option_row *standard_rows,
                        const char *topic, bool is_option_alone)
{
	for (const struct option_row *const *table = line->tables; *table; table++)
		print_options(shown, *table, topic, !is_option_alone);
	print_options(shown, standard_rows, topic, !is_option_alone);
	/* It may be an option of a workload that is not the line's. */
	if (!shown->any)
		print_entries(shown, is_option_tag, topic, true);
	if (is_option_alone)
		return;
	print_sections(shown, topic);
	if (!shown->any)
		print_entries(shown, is_word_tag, topic, true);
}

void help_topic_print(const struct command_line *line, const struct option_row *standard_rows, const char *topic)
{
	const char *words = topic + strspn(topic, "-");
	struct shown shown = { 0 };
	char headings[HEADINGS_BYTES];

	if (*words)
		print_topic(&shown, line, standard_rows, words, words > topic);
	if (shown.any)
		return;
	/* "layer" stands for "Layers that were unpacked before". */
	char plural[WORD_BYTES];

	if (words == topic && *words && (size_t)snprintf(plural, sizeof(plural), "%ss", words) < sizeof(plural))
		print_topic(&shown, line, standard_rows, plural, false);
	if (shown.any)
		return;
	list_headings(line, headings);
	usage_error("--help: %s is neither an option nor one of the sections: %s", *topic ? topic : "\"\"", headings);
}
