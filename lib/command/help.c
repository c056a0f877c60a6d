/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "command/help.h"

#include <stdio.h>
#include <string.h>

#define HELP_COLUMN 23
#define HELP_WIDTH 110

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

void help_print_option(const struct option_row *row)
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
	option_row_list_words(row, list);
	printf("%s%s\n", line, row->word && row->kind == ARGUMENT_WORDS ? list : "");
}

/* Prints names and arguments alone, as many as fit in a line. */
static const struct option_row *print_briefly(const struct option_row *row)
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

void help_print_options(const struct option_row *rows)
{
	for (const struct option_row *row = rows; !option_row_is_end(row); row++) {
		if (!row->heading) {
			help_print_option(row);
			continue;
		}
		printf("\n%s:\n", row->heading);
		if (row->is_brief)
			row = print_briefly(row + 1);
	}
}

void help_print(const struct command_line *line, const struct option_row *standard_rows)
{
	fputs(line->usage, stdout);
	for (const struct option_row *const *table = line->tables; *table; table++)
		help_print_options(*table);
	help_print_options(standard_rows);
	if (line->print_epilogue)
		line->print_epilogue();
	if (line->epilogue)
		fputs(line->epilogue, stdout);
}
