/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "command/completion.h"

#include <stdio.h>
#include <string.h>

/*
 * If readline splits words at =, --report=js is three words; if it does not, `attached` is put before each proposal.
 * An option's key is its name, with a = if the argument is attached to it.
 */
static const char bash_start[] =
	"	local word=${COMP_WORDS[COMP_CWORD]} key=${COMP_WORDS[COMP_CWORD - 1]} attached='' is_end=''\n"
	"	local kind=image words='' options='' index\n"
	"	COMPREPLY=()\n"
	"	if [[ $word == --*=* ]]; then\n"
	"		key=${word%%=*}= attached=${word%%=*}= word=${word#*=}\n"
	"	elif [[ $word == = ]]; then\n"
	"		key=$key= word=''\n"
	"	elif [[ $key == = ]]; then\n"
	"		key=${COMP_WORDS[COMP_CWORD - 2]}=\n"
	"	fi\n"
	"	for ((index = 1; index < COMP_CWORD; index++)); do\n"
	"		[[ ${COMP_WORDS[index]} != -- ]] || key='' is_end=1\n"
	"	done\n";

/* Files are left to readline, which knows how to quote their names. */
static const char bash_end[] =
	"	case $kind in\n"
	"	image)\n"
	"		if [[ $word == -* && ! $is_end ]]; then\n"
	"			words=$options\n"
	"		else\n"
	"			compopt -o default\n"
	"		fi\n"
	"		;;\n"
	"	file) compopt -o default ;;\n"
	"	directory) compopt -o dirnames ;;\n"
	"	esac\n"
	"	[[ ! $words ]] || mapfile -t COMPREPLY < <(compgen -P \"$attached\" -W \"$words\" -- \"$word\")\n"
	"	[[ ${#COMPREPLY[@]} != 1 || ${COMPREPLY[0]} != *= ]] || compopt -o nospace\n"
	"	return 0\n"
	"}\n";

typedef void print_row(const struct option_row *row);

/* Skips rows without help: options that are refused, are for scripts alone, or are another name of the row before. */
static void for_each_row(const struct command_line *line, const struct option_row *standard_rows, print_row *print)
{
	for (const struct option_row *const *table = line->tables; *table; table++)
		for (const struct option_row *row = *table; !option_row_is_end(row); row++)
			if (row->help)
				print(row);
	for (const struct option_row *row = standard_rows; !option_row_is_end(row); row++)
		if (row->help)
			print(row);
}

static void print_words(const struct option_row *row)
{
	char word[WORD_BYTES];

	for (unsigned int index = 0; option_row_word(row, index, word); index++)
		printf("%s%s", index ? " " : "", word);
}

static void print_first_words(const struct command_line *line)
{
	const struct command_line *after;

	for (unsigned int index = 0; (after = line->after_word(index)); index++)
		printf("%s%s", index ? " " : "", after->word);
}

/* --- bash ------------------------------------------------------------------------------------------------------- */

static void print_bash_option(const struct option_row *row)
{
	if (row->letter)
		printf(" -%c", row->letter);
	if (row->name)
		printf(" --%s%s", row->name, row->kind != ARGUMENT_NONE && !row->is_optional ? "=" : "");
}

/* The argument: attached to the option, or, if it is required, the next word. */
static void print_bash_argument(const struct option_row *row)
{
	static const char *const kinds[] = {
		[ARGUMENT_NUMBER] = "other", [ARGUMENT_SIZE] = "other", [ARGUMENT_WORDS] = "words",
		[ARGUMENT_TEXT] = "other",   [ARGUMENT_FILE] = "file",  [ARGUMENT_DIRECTORY] = "directory",
		[ARGUMENT_IMAGE] = "file",
	};

	if (row->kind == ARGUMENT_NONE)
		return;
	printf("	");
	/* An argument that may be left out is never the next word. */
	if (row->letter && !row->is_optional)
		printf("-%c%s", row->letter, row->name ? " | " : "");
	if (row->name && !row->is_optional)
		printf("--%s | ", row->name);
	if (row->name)
		printf("--%s=", row->name);
	printf(") kind=%s words='", kinds[row->kind]);
	print_words(row);
	printf("' ;;\n");
}

static void print_bash_options(const struct command_line *line, const struct option_row *standard_rows)
{
	printf("	options='");
	for_each_row(line, standard_rows, print_bash_option);
	printf("'\n	[[ $is_end ]] || case $key in\n");
	for_each_row(line, standard_rows, print_bash_argument);
	printf("	esac\n");
}

static void print_bash(const struct command_line *line, const struct option_row *standard_rows)
{
	const struct command_line *after;

	printf("# Completion for bash, made from the options of %s.\n_%s()\n{\n%s", tool_name, tool_name, bash_start);
	if (!line->after_word) {
		print_bash_options(line, standard_rows);
	} else {
		printf("	case $COMP_CWORD:${COMP_WORDS[1]} in\n	1:*) kind=words words='");
		print_first_words(line);
		printf(" --help --version' ;;\n");
		for (unsigned int index = 0; (after = line->after_word(index)); index++) {
			printf("	*:%s)\n", after->word);
			print_bash_options(after, standard_rows);
			printf("	;;\n");
		}
		printf("	esac\n");
	}
	printf("%scomplete -F _%s %s\n", bash_end, tool_name, tool_name);
}

/* --- zsh -------------------------------------------------------------------------------------------------------- */

/* Prints one line without the characters that have a meaning for zsh's _arguments. */
static void print_zsh_text(const char *text)
{
	size_t length = strlen(text);

	while (length && strchr(": \n", text[length - 1]))
		length--;
	for (size_t index = 0; index < length; index++) {
		switch (text[index]) {
		case '\n':
			putchar(' ');
			break;
		case '[':
		case ']':
			putchar(text[index] == '[' ? '(' : ')');
			break;
		case '\'':
			fputs("'\\''", stdout);
			break;
		case ':':
		case '\\':
			putchar('\\');
			__attribute__((fallthrough));
		default:
			putchar(text[index]);
		}
	}
}

static void print_zsh_action(const struct option_row *row)
{
	char word[WORD_BYTES];

	if (row->kind == ARGUMENT_DIRECTORY) {
		printf("_files -/");
	} else if (row->kind == ARGUMENT_FILE || row->kind == ARGUMENT_IMAGE) {
		printf("_files");
	} else if (option_row_word(row, 0, word)) {
		putchar('(');
		print_words(row);
		putchar(')');
	} else {
		putchar(' ');
	}
}

static void print_zsh_name(const struct option_row *row, bool is_letter)
{
	if (is_letter)
		printf("	'*-%c%s[", row->letter, row->kind == ARGUMENT_NONE ? "" : row->is_optional ? "-" : "+");
	else
		printf("	'*--%s%s[", row->name, row->kind == ARGUMENT_NONE ? "" : row->is_optional ? "=-" : "=");
	print_zsh_text(row->help);
	putchar(']');
	if (row->kind != ARGUMENT_NONE) {
		printf("%s", row->is_optional ? "::" : ":");
		print_zsh_text(row->argument ? row->argument : "");
		putchar(':');
		print_zsh_action(row);
	}
	printf("'\n");
}

static void print_zsh_option(const struct option_row *row)
{
	if (row->letter)
		print_zsh_name(row, true);
	if (row->name)
		print_zsh_name(row, false);
}

static void print_zsh_options(const struct command_line *line, const struct option_row *standard_rows)
{
	printf("	options=(\n");
	for_each_row(line, standard_rows, print_zsh_option);
	printf("	)\n");
}

static void print_zsh(const struct command_line *line, const struct option_row *standard_rows)
{
	const struct command_line *after;

	printf("#compdef %s\n# Completion for zsh, made from the options of %s.\nlocal -a options\n", tool_name,
	       tool_name);
	if (!line->after_word) {
		print_zsh_options(line, standard_rows);
		printf("_arguments -s -S $options '*:file:_files'\n");
		return;
	}
	printf("case $words[2] in\n");
	for (unsigned int index = 0; (after = line->after_word(index)); index++) {
		printf("%s)\n", after->word);
		print_zsh_options(after, standard_rows);
		printf("	;;\n");
	}
	printf("*) options=(--help --version) ;;\nesac\n_arguments -s -S '1:WORKLOAD:(");
	print_first_words(line);
	printf(")' '*:file:_files' $options\n");
}

/* --- fish ------------------------------------------------------------------------------------------------------- */

/* The first word to which the options belong; NULL: they belong to the tool. */
static const char *fish_word;

/* Prints one line within single quotes. */
static void print_fish_text(const char *text)
{
	size_t length = strlen(text);

	while (length && strchr(": \n", text[length - 1]))
		length--;
	putchar('\'');
	for (size_t index = 0; index < length; index++) {
		if (text[index] == '\'' || text[index] == '\\')
			putchar('\\');
		putchar(text[index] == '\n' ? ' ' : text[index]);
	}
	putchar('\'');
}

static void print_fish_argument(const struct option_row *row)
{
	char word[WORD_BYTES];

	if (row->kind == ARGUMENT_NONE)
		return;
	/* An argument that may be left out is never the next word. */
	if (!row->is_optional)
		printf(row->kind == ARGUMENT_FILE || row->kind == ARGUMENT_IMAGE ? " -r -F" : " -x");
	if (row->kind == ARGUMENT_DIRECTORY) {
		printf(" -a '(__fish_complete_directories)'");
	} else if (option_row_word(row, 0, word)) {
		printf(" -a '");
		print_words(row);
		putchar('\'');
	}
}

static void print_fish_option(const struct option_row *row)
{
	printf("complete -c %s", tool_name);
	if (fish_word)
		printf(" -n '__fish_seen_subcommand_from %s'", fish_word);
	if (row->letter)
		printf(" -s %c", row->letter);
	if (row->name)
		printf(" -l %s", row->name);
	print_fish_argument(row);
	printf(" -d ");
	print_fish_text(row->help);
	putchar('\n');
}

static void print_fish(const struct command_line *line, const struct option_row *standard_rows)
{
	const struct command_line *after;

	printf("# Completion for fish, made from the options of %s.\n", tool_name);
	if (!line->after_word) {
		for_each_row(line, standard_rows, print_fish_option);
		return;
	}
	printf("complete -c %s -n __fish_use_subcommand -f -a '", tool_name);
	print_first_words(line);
	printf(" --help --version'\n");
	for (unsigned int index = 0; (after = line->after_word(index)); index++) {
		fish_word = after->word;
		for_each_row(after, standard_rows, print_fish_option);
	}
}

void completion_print(const struct command_line *line, const struct option_row *standard_rows,
                      enum completion_shell shell)
{
	if (shell == COMPLETION_BASH)
		print_bash(line, standard_rows);
	else if (shell == COMPLETION_FISH)
		print_fish(line, standard_rows);
	else
		print_zsh(line, standard_rows);
}
