/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The word that a misspelt one was meant to be, for messages. */
#pragma once

#include <stddef.h>

/* Longer words are like no other. */
#define NEAREST_MOST_BYTES 63

struct nearest {
	const char *wanted; /* borrowed */
	const char *word;   /* borrowed; the best so far; NULL: none is near enough */
	size_t distance;    /* of the best */
};

/* Begins to look for words that are like this one. */
static inline struct nearest nearest_to(const char *wanted)
{
	return (struct nearest){ .wanted = wanted };
}

/*
 * Tries a word, which is kept as long as it is the nearest one; of several the first. Near enough: a third of its
 * letters have to be inserted, left out, replaced or exchanged with the next one at most, and at least one may.
 */
void nearest_try(struct nearest *nearest, const char *word);
