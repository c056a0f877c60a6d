/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "option_row.h"

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
