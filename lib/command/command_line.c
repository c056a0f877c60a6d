/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "command/command_line.h"

#include <assert.h>
#include <ctype.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ext2fs/ext2fs.h>
#include <ext2fs/ext2mb_version.h>

#include "command/completion.h"
#include "command/help.h"
#include "command/help_topic.h"
#include "support/text/nearest.h"
#include "support/text/units.h"
#include "support/vector.h"

#define MOST_OPTIONS 128 /* of a tool with a workload */

/* getopt_long(3) returns values from here on for options given by name; all letters are below. */
#define FIRST_NAME 256

static void choose_help(struct command *command, const struct taken_option *option);
static void choose_version(struct command *command, const struct taken_option *option);
static void choose_completion(struct command *command, const struct taken_option *option);

static const char *topic_word(unsigned int index);

static const struct option_row standard_rows[] = {
	{ .heading = "Help" },
	{ .name = "help",
	  .letter = 'h',
	  .argument = "TOPIC",
	  .kind = ARGUMENT_TEXT,
	  .is_optional = true,
	  .word = topic_word,
	  .set = choose_help,
	  .help = "this text, or what the manual says of an option or a section, as --help=threads" },
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

static const char *topic_word(unsigned int index)
{
	return help_topic_word(current, index);
}

static void choose_help(struct command *command UNUSED, const struct taken_option *option)
{
	static char buffer[1 << 16];

	/* Write all at once: after an error in the middle its reason would be lost. */
	setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
	if (option->argument)
		help_topic_print(current, standard_rows, option->argument);
	else
		help_print(current, standard_rows);
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
	char letters[1 + MOST_OPTIONS * sizeof("x::")]; /* the first one, a colon, makes it return one where an argument
	                                                 * is missing */
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
	*all = (struct all_options){ .letters = ":" };
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
	option_row_list_words(row, list);
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

/* " of append"; "": the tool's own. */
static const char *whose_options(const struct command_line *line)
{
	static char text[WORD_BYTES];

	snprintf(text, sizeof(text), "%s%s", line->word ? " of " : "", line->word ? line->word : "");
	return text;
}

/* Is it a whole word in a part of the usage: SIZE in "[SIZE]", DIR in "DIR|FILE.tar"? */
static bool names_argument(const char *part, const char *argument)
{
	size_t bytes = strlen(argument);

	for (const char *at = part; *argument && (at = strstr(at, argument)); at += bytes)
		if ((at == part || !isalnum((unsigned char)at[-1])) && !isalnum((unsigned char)at[bytes]))
			return true;
	return false;
}

/* If the usage has an argument of this name, in capitals, says where that goes: people try --size=1G. */
static void refuse_argument(const struct command_line *line, const char *name)
{
	SCOPE_FREE char *usage = strndup(line->usage, strcspn(line->usage, "\n"));
	SCOPE_FREE char *argument = strdup(name);
	char *rest = usage, *part;
	const char *before = "";

	if (!usage || !argument)
		exit_without_memory();
	for (char *letter = argument; *letter; letter++)
		*letter = (char)toupper((unsigned char)*letter);
	for (; (part = strsep(&rest, " ")); before = part + (*part == '[')) {
		if (!names_argument(part, argument))
			continue;
		if (*before == '-')
			usage_error("--%s is no option%s: did you mean %s %s?", name, whose_options(line), before,
			            argument);
		bool is_after = *before && !before[strspn(before, "ABCDEFGHIJKLMNOPQRSTUVWXYZ")];

		usage_error("--%s is no option%s: %s is an argument%s%s" SEE_HELP, name, whose_options(line), argument,
		            is_after ? ", after " : "", is_after ? before : "");
	}
}

/* Says of an option by name that is in no table, without its dashes, which one was meant, or which ones it may be. */
__attribute__((noreturn)) static void refuse_name(const struct command_line *line, const struct all_options *all,
                                                  const char *name)
{
	struct nearest nearest = nearest_to(name);
	char list[WORD_LIST_BYTES] = "", option[WORD_BYTES] = "";

	refuse_argument(line, name);
	for (size_t i = 0; i < all->count; i++) {
		const char *candidate = all->rows[i]->name;

		if (!candidate || !all->rows[i]->help)
			continue;
		nearest_try(&nearest, candidate);
		if (strncmp(candidate, name, strlen(name)) != 0)
			continue;
		if (*option)
			add_to_words(list, option, false);
		snprintf(option, sizeof(option), "--%s", candidate);
	}
	if (*option) {
		add_to_words(list, option, true);
		usage_error("--%s is ambiguous: it may be %s", name, list);
	}
	if (nearest.word)
		usage_error("--%s is no option%s: did you mean --%s?", name, whose_options(line), nearest.word);
	usage_error("--%s is no option%s: %s", name, whose_options(line),
	            line->advice ? line->advice : "--help lists them");
}

/* After getopt(3) has refused an option: says what is wrong with it, and what there is instead. */
__attribute__((noreturn)) static void refuse_option(const struct command_line *line, const struct all_options *all,
                                                    int option, const char *argument)
{
	SCOPE_FREE char *name = NULL;
	const struct option_row *row = row_of(all, optopt);

	if (option == ':' && row)
		usage_error("%s: %s is missing", label_of(row), row->argument);
	if (optopt >= FIRST_NAME && row)
		usage_error("%s takes no argument", label_of(row));
	if (optopt)
		usage_error("-%c is no option%s: %s", optopt, whose_options(line),
		            line->advice ? line->advice : "--help lists them");
	name = strndup(argument + 2, strcspn(argument + 2, "="));
	if (!name)
		exit_without_memory();
	refuse_name(line, all, name);
}

int command_line_read(const struct command_line *line, int argument_count, char **arguments, struct command *command)
{
	struct all_options all;
	int option;

	current = line;
	collect_options(line, &all);
	opterr = 0;
	while ((option = getopt_long(argument_count, arguments, all.letters, all.names, NULL)) != -1) {
		if (option == '?' || option == ':')
			refuse_option(line, &all, option, arguments[optind - 1]);
		read_option(row_of(&all, option), optarg, command);
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
		/* An argument is missing, or is one too many: optopt is its option. */
		const struct option_row *row = row_of(&all, option == '?' || option == ':' ? optopt : option);

		found = found || (row && wanted(row, option >= FIRST_NAME));
	}
	optind = 0;
	return found;
}
