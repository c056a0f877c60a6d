/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "command/option_row.h"

#include <stdio.h>
#include <string.h>

bool option_row_word(const struct option_row *row, unsigned int index, char word[WORD_BYTES])
{
	const char *from = row->word ? row->word(index) : row->words;

	for (; from && !row->word && index; index--) {
		from = strchr(from, '|');
		from += from != NULL;
	}
	if (!from)
		return false;
	snprintf(word, WORD_BYTES, "%.*s", (int)strcspn(from, "|"), from);
	return true;
}

void add_to_words(char list[WORD_LIST_BYTES], const char *word, bool is_last)
{
	size_t used = strlen(list);

	snprintf(list + used, WORD_LIST_BYTES - used, "%s%s", !used ? "" : is_last ? " or " : ", ", word);
}

void option_row_list_words(const struct option_row *row, char list[WORD_LIST_BYTES])
{
	char word[WORD_BYTES], next[WORD_BYTES];

	*list = '\0';
	for (unsigned int index = 0; option_row_word(row, index, word); index++)
		add_to_words(list, word, !option_row_word(row, index + 1, next));
}
