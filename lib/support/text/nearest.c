/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "support/text/nearest.h"

#include <string.h>

static size_t least(size_t one, size_t other)
{
	return one < other ? one : other;
}

/*
 * The optimal string alignment distance: Levenshtein's, where an exchange of two neighbours is one step, too, which is
 * the most usual slip of a typist. Three rows of the table are enough for that.
 */
static size_t distance(const char *from, size_t from_bytes, const char *to, size_t to_bytes)
{
	size_t rows[3][NEAREST_MOST_BYTES + 1];
	size_t *before = rows[0], *above = rows[1], *row = rows[2];

	for (size_t column = 0; column <= to_bytes; column++)
		above[column] = column;
	for (size_t line = 1; line <= from_bytes; line++) {
		row[0] = line;
		for (size_t column = 1; column <= to_bytes; column++) {
			size_t replaced = above[column - 1] + (from[line - 1] != to[column - 1]);

			row[column] = least(replaced, least(above[column], row[column - 1]) + 1);
			if (line > 1 && column > 1 && from[line - 1] == to[column - 2] &&
			    from[line - 2] == to[column - 1])
				row[column] = least(row[column], before[column - 2] + 1);
		}
		size_t *oldest = before;

		before = above;
		above = row;
		row = oldest;
	}
	return above[to_bytes];
}

void nearest_try(struct nearest *nearest, const char *word)
{
	size_t wanted_bytes = strlen(nearest->wanted), word_bytes = strlen(word);

	if (wanted_bytes > NEAREST_MOST_BYTES || word_bytes > NEAREST_MOST_BYTES || !wanted_bytes)
		return;
	size_t most = word_bytes < 6 ? 1 : word_bytes / 3, steps;

	steps = distance(nearest->wanted, wanted_bytes, word, word_bytes);
	if (steps > most || (nearest->word && steps >= nearest->distance))
		return;
	nearest->word = word;
	nearest->distance = steps;
}
