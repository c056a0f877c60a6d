// SPDX-License-Identifier: GPL-2.0-or-later
#include "populate/data/zero_runs.h"

#include <stdlib.h>
#include <string.h>

#include "support/vector.h"

bool bytes_are_zero(const void *bytes, size_t count)
{
	const char *first = bytes;
	uint64_t word = 0;

	if (count >= sizeof(word)) {
		memcpy(&word, bytes, sizeof(word));
		if (word)
			return false;
	}
	/* A block equals itself shifted by a byte, and begins with zero: memcmp() runs at memory speed. */
	return !count || (first[0] == 0 && memcmp(first, first + 1, count - 1) == 0);
}

static errcode_t note(struct zero_runs *list, uint32_t node, uint32_t logical, uint32_t blocks)
{
	struct zero_run *last = list->count ? &list->runs[list->count - 1] : NULL;

	if (last && last->node == node && last->logical + last->blocks == logical) {
		last->blocks += blocks;
		return 0;
	}
	errcode_t error = vector_reserve(&list->runs, &list->capacity, list->count + 1, sizeof(*list->runs));
	if (error)
		return error;
	list->runs[list->count++] = (struct zero_run){ node, logical, blocks };
	return 0;
}

errcode_t zero_runs_find(const struct ondisk_format *format, uint32_t node, uint32_t logical, const void *bytes,
                     size_t count, struct zero_runs *list)
{
	size_t step = (size_t)format->block_bytes << format->cluster_bits;
	const char *next = bytes;

	while (count) {
		size_t length = count < step ? count : step;
		uint32_t blocks = (uint32_t)((length + format->block_bytes - 1) >> format->block_bits);

		if (bytes_are_zero(next, length)) {
			errcode_t error = note(list, node, logical, blocks);

			if (error)
				return error;
		}
		next += length;
		logical += blocks;
		count -= length;
	}
	return 0;
}

static int compare_runs(const void *left, const void *right)
{
	const struct zero_run *a = left, *b = right;

	if (a->node != b->node)
		return a->node < b->node ? -1 : 1;
	return a->logical < b->logical ? -1 : a->logical > b->logical;
}

errcode_t zero_runs_join(struct zero_runs *all, struct zero_runs *list)
{
	if (!list->count)
		return 0;
	errcode_t error = vector_reserve(&all->runs, &all->capacity, all->count + list->count, sizeof(*all->runs));
	if (error)
		return error;
	memcpy(&all->runs[all->count], list->runs, list->count * sizeof(*all->runs));
	all->count += list->count;
	list->count = 0;
	return 0;
}

void zero_runs_sort(struct zero_runs *list)
{
	list->blocks = 0;
	if (list->count)
		qsort(list->runs, list->count, sizeof(*list->runs), compare_runs);
	for (size_t run = 0; run < list->count; run++)
		list->blocks += list->runs[run].blocks;
}
