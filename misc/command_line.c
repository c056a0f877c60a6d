/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "command_line.h"

#include <assert.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ext2fs/ext2fs.h>
#include <ext2fs/ext2mb_version.h>

#include "completion.h"
#include "support/text/nearest.h"
#include "support/text/units.h"
#include "support/vector.h"

#define HELP_COLUMN 23
#define HELP_WIDTH 110
#define MOST_OPTIONS 128 /* of a tool with a workload */

/* getopt_long(3) returns values from here on for options given by name; all letters are below. */
#define FIRST_NAME 256

static void choose_help(struct command *command, const struct taken_option *option);
static void choose_version(struct command *command, const struct taken_option *option);
static void choose_completion(struct command *command, const struct taken_option *option);

static const struct option_row standard_rows[] = {
	{ .heading = "Help" },
	{ .name = "help", .letter = 'h', .set = choose_help, .help = "this text" },
	{ .name = "version",
	  .letter = 'V',
	  .set = choose_version,
	  .help = "the versions of the tool and of its library" },
	/* Used by the Makefile. No other option begins with --sh, so abbreviations keep their meaning. */
	{ .name = "shell-completion",
	  .argument = "SHELL",
	  .kind = ARGUMENT_WORDS,
	  .words = COMPLETION_SHELLS,
	  .set = choose_completion },
	{ 0 },
};

_Static_assert(PROGRESS_AUTO == 0 && PROGRESS_BAR == 1 && PROGRESS_JSON == 2 && PROGRESS_NONE == 3, PROGRESS_WORDS);

/* The one that is being read; --help needs it. */
static const struct command_line *current;

/* --- Words ------------------------------------------------------------------------------------------------------ */

void add_to_words(char list[WORD_LIST_BYTES], const char *word, bool is_last)
{
	size_t used = strlen(list);

	snprintf(list + used, WORD_LIST_BYTES - used, "%s%s", !used ? "" : is_last ? " or " : ", ", word);
}

static void list_words(const struct option_row *row, char list[WORD_LIST_BYTES])
{
	char word[WORD_BYTES], next[WORD_BYTES];

	*list = '\0';
	for (unsigned int index = 0; option_row_word(row, index, word); index++)
		add_to_words(list, word, !option_row_word(row, index + 1, next));
}

/* --- Help ------------------------------------------------------------------------------------------------------- */

/* "--threads=N", "-b BLOCK-SIZE" */
static void name_option(const struct option_row *row, char *text, size_t bytes)
{
	const char *argument = row->argument ? row->argument : "";

	if (!row->name)
		snprintf(text, bytes, "-%c%s%s", row->letter, *argument ? " " : "", argument);
	else if (row->is_optional)
		snprintf(text, bytes, "--%s[=%s]", row->name, argument);
	else
		snprintf(text, bytes, "--%s%s%s", row->name, *argument ? "=" : "", argument);
}

static void describe_option(const struct option_row *row)
{
	const char *line = row->help;
	char option[WORD_LIST_BYTES], list[WORD_LIST_BYTES];

	if (!row->help)
		return;
	name_option(row, option, sizeof(option));
	int used = !row->name  ? printf("  %s", option) :
	           row->letter ? printf("  -%c, %s", row->letter, option) :
	                         printf("      %s", option);

	/* A long name has a line of its own. */
	if (used >= HELP_COLUMN) {
		putchar('\n');
		used = 0;
	}
	printf("%*s", HELP_COLUMN - used, "");
	for (const char *end; (end = strchr(line, '\n')); line = end + 1)
		printf("%.*s\n%*s", (int)(end - line), line, HELP_COLUMN, "");
	list_words(row, list);
	printf("%s%s\n", line, row->word && row->kind == ARGUMENT_WORDS ? list : "");
}

/* Prints names and arguments alone, as many as fit in a line. */
static const struct option_row *describe_briefly(const struct option_row *row)
{
	char option[WORD_LIST_BYTES];
	size_t column = 1;

	putchar(' ');
	for (; !option_row_is_end(row) && !row->heading; row++) {
		if (!row->help)
			continue;
		name_option(row, option, sizeof(option));
		if (column + 1 + strlen(option) > HELP_WIDTH) {
			fputs("\n ", stdout);
			column = 1;
		}
		column += (size_t)printf(" %s", option);
	}
	putchar('\n');
	return row - 1;
}

void command_line_describe(const struct option_row *rows)
{
	for (const struct option_row *row = rows; !option_row_is_end(row); row++) {
		if (!row->heading) {
			describe_option(row);
			continue;
		}
		printf("\n%s:\n", row->heading);
		if (row->is_brief)
			row = describe_briefly(row + 1);
	}
}

static void choose_help(struct command *command UNUSED, const struct taken_option *option UNUSED)
{
	static char buffer[1 << 16];

	/* Write all at once: after an error in the middle its reason would be lost. */
	setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
	fputs(current->usage, stdout);
	for (const struct option_row *const *table = current->tables; *table; table++)
		command_line_describe(*table);
	command_line_describe(standard_rows);
	if (current->print_epilogue)
		current->print_epilogue();
	if (current->epilogue)
		fputs(current->epilogue, stdout);
	exit_after_printing();
}

static void choose_completion(struct command *command UNUSED, const struct taken_option *option)
{
	completion_print(current, standard_rows, (enum completion_shell)option->value);
	exit_after_printing();
}

static void choose_version(struct command *command UNUSED, const struct taken_option *option UNUSED)
{
	const char *version, *date;

	ext2fs_get_library_version(&version, &date);
	printf("%s %s\nUsing EXT2FS Library version %s, %s\n", tool_name, EXT2MB_VERSION_STRING, version, date);
	exit_after_printing();
}

/* --- Reading ---------------------------------------------------------------------------------------------------- */

/* All tables as getopt_long(3) wants them. */
struct all_options {
	const struct option_row *rows[MOST_OPTIONS];
	struct option names[MOST_OPTIONS + 1];
	char letters[MOST_OPTIONS * sizeof("x::")];
	size_t count;
};

static void add_table(struct all_options *all, const struct option_row *row)
{
	size_t names = 0, letters = strlen(all->letters);

	while (all->names[names].name)
		names++;
	for (; !option_row_is_end(row); row++) {
		int colons = row->kind == ARGUMENT_NONE ? 0 : row->is_optional ? 2 : 1;

		if (row->heading)
			continue;
		if (row->name)
			all->names[names++] = (struct option){ .name = row->name,
				                               .has_arg = colons, /* no, required, optional */
				                               .val = FIRST_NAME + (int)all->count };
		if (row->letter)
			letters += (size_t)sprintf(all->letters + letters, "%c%.*s", row->letter, colons, "::");
		assert(all->count < MOST_OPTIONS);
		all->rows[all->count++] = row;
	}
}

static void collect_options(const struct command_line *line, struct all_options *all)
{
	*all = (struct all_options){ 0 };
	for (const struct option_row *const *table = line->tables; *table; table++)
		add_table(all, *table);
	add_table(all, standard_rows);
}

/* Returns NULL if there is none. */
static const struct option_row *row_of(const struct all_options *all, int option)
{
	if (option >= FIRST_NAME)
		return all->rows[option - FIRST_NAME];
	for (size_t row = 0; row < all->count; row++)
		if (option && all->rows[row]->letter == option)
			return all->rows[row];
	return NULL;
}

/* The option as the command line has it. */
static const char *label_of(const struct option_row *row)
{
	static char label[WORD_BYTES];
	const char letter[] = { row->letter, '\0' };

	snprintf(label, sizeof(label), "%s%s", row->name ? "--" : "-", row->name ? row->name : letter);
	return label;
}

static uint64_t read_word(const struct option_row *row, const char *argument)
{
	char word[WORD_BYTES], list[WORD_LIST_BYTES];

	for (unsigned int index = 0; option_row_word(row, index, word); index++)
		if (strcmp(word, argument) == 0)
			return index;
	list_words(row, list);
	usage_error("%s: %s is not %s", label_of(row), argument, list);
}

uint64_t read_number(const struct option_row *row, const char *argument)
{
	uint64_t value;

	if (units_parse_number(argument, row->minimum, row->maximum, &value))
		usage_error("%s: %s is not a number from %" PRIu64 " to %" PRIu64, label_of(row), argument,
		            row->minimum, row->maximum);
	return value;
}

static uint64_t read_value(const struct option_row *row, const char *argument)
{
	uint64_t value = 1;

	switch (row->kind) {
	case ARGUMENT_WORDS:
		return read_word(row, argument);
	case ARGUMENT_NUMBER:
		return read_number(row, argument);
	case ARGUMENT_SIZE:
		if (units_parse_bytes(argument, 1, &value) || value < row->minimum || value > row->maximum)
			usage_error("%s: %s is not a size from %" PRIu64 " to %" PRIu64 " bytes", label_of(row),
			            argument, row->minimum, row->maximum);
		return value;
	default:
		return value;
	}
}

void argument_list_add(struct argument_list *arguments, char *argument)
{
	if (vector_reserve(&arguments->list, &arguments->capacity, arguments->count + 2, sizeof(*arguments->list)))
		exit_without_memory();
	arguments->list[arguments->count++] = argument;
	arguments->list[arguments->count] = NULL;
}

static void store(struct command *command, const struct taken_option *option)
{
	const struct option_row *row = option->row;
	char *field = (char *)command + row->field_offset;
	uint32_t value = (uint32_t)option->value;
	bool is_set = option->value;

	if (row->field_bytes == sizeof(struct argument_list))
		argument_list_add((struct argument_list *)(void *)field, option->argument);
	else if (row->kind >= ARGUMENT_TEXT)
		memcpy(field, &option->argument, sizeof(option->argument));
	else if (row->field_bytes == sizeof(is_set))
		memcpy(field, &is_set, sizeof(is_set));
	else if (row->field_bytes == sizeof(value))
		memcpy(field, &value, sizeof(value));
	else
		memcpy(field, &option->value, sizeof(option->value));
}

static void read_option(const struct option_row *row, char *argument, struct command *command)
{
	const struct taken_option option = {
		.row = row,
		.argument = argument,
		.value = argument || !row->is_optional ? read_value(row, argument) : 0,
	};

	if (row->field_bytes && (argument || !row->is_optional))
		store(command, &option);
	if (row->set)
		row->set(command, &option);
}

/* After getopt(3)'s message about an option by name: the one that was meant, in one line, if one is like it. */
static bool propose(const struct all_options *all, const char *argument)
{
	SCOPE_FREE char *name = NULL;

	/* A letter is in optopt, and so is an option that was found, but must not have an argument, or must have one.
	 */
	if (optopt || strncmp(argument, "--", 2) != 0)
		return false;
	name = strndup(argument + 2, strcspn(argument + 2, "="));
	if (!name)
		return false;
	struct nearest nearest = nearest_to(name);

	for (size_t i = 0; i < all->count; i++) {
		const char *candidate = all->rows[i]->name;

		if (!candidate || !all->rows[i]->help)
			continue;
		/* It is ambiguous: getopt(3) has listed what it may be. */
		if (strncmp(candidate, name, strlen(name)) == 0)
			return false;
		nearest_try(&nearest, candidate);
	}
	if (nearest.word)
		fprintf(stderr, "%s: did you mean --%s?\n", tool_name, nearest.word);
	return nearest.word;
}

int command_line_read(const struct command_line *line, int argument_count, char **arguments, struct command *command)
{
	struct all_options all;
	int option;

	current = line;
	collect_options(line, &all);
	while ((option = getopt_long(argument_count, arguments, all.letters, all.names, NULL)) != -1) {
		const struct option_row *row = row_of(&all, option);

		if (!row && propose(&all, arguments[optind - 1]))
			exit_for_usage();
		if (!row && line->advice)
			usage_error("%s", line->advice);
		if (!row)
			exit_for_usage();
		read_option(row, optarg, command);
	}
	return optind;
}

bool command_line_has(const struct command_line *line, int argument_count, char **arguments,
                      bool (*wanted)(const struct option_row *row, bool is_by_name))
{
	struct all_options all;
	bool found = false;
	int option;

	collect_options(line, &all);
	opterr = 0;
	while ((option = getopt_long(argument_count, arguments, all.letters, all.names, NULL)) != -1) {
		/* An argument is missing: optopt is its option. */
		const struct option_row *row = row_of(&all, option == '?' ? optopt : option);

		found = found || (row && wanted(row, option >= FIRST_NAME));
	}
	opterr = 1;
	optind = 0;
	return found;
}
