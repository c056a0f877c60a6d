/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "simulate/replay/traced_blocks.h"

#include <assert.h>
#include <errno.h>
#include <search.h>
#include <stdlib.h>

/* Overlapping runs compare as equal: the tree never has two of them. */
static int by_place(const void *left, const void *right)
{
	const struct traced_run *one = left, *other = right;

	if (one->start + one->count <= other->start)
		return -1;
	return one->start >= other->start + other->count;
}

static struct traced_run *find(const struct traced_blocks *blocks, uint64_t start, uint64_t count)
{
	const struct traced_run key = { .start = start, .count = count };
	struct traced_run *const *node = tfind(&key, &blocks->tree, by_place);

	return node ? *node : NULL;
}

const struct traced_run *traced_blocks_find(const struct traced_blocks *blocks, uint64_t start, uint64_t count)
{
	return find(blocks, start, count);
}

static errcode_t insert(struct traced_blocks *blocks, const struct traced_run *run)
{
	SCOPE_FREE struct traced_run *copy = malloc(sizeof(*copy));

	if (!copy)
		return ENOMEM;
	*copy = *run;
	struct traced_run *const *node = tsearch(copy, &blocks->tree, by_place);
	if (!node)
		return ENOMEM;
	assert(*node == copy);
	(void)TAKE(copy);
	blocks->runs++;
	return 0;
}

errcode_t traced_blocks_add(struct traced_blocks *blocks, const struct traced_run *run)
{
	struct traced_run *before = run->start ? find(blocks, run->start - 1, 1) : NULL;

	if (!before || before->file != run->file || before->is_data != run->is_data ||
	    before->place + before->count != run->place || (!run->is_data && !run->place))
		return insert(blocks, run);
	before->count += run->count;
	return 0;
}

/* The part of a run in [start, end). */
static struct traced_run part_of(const struct traced_run *run, uint64_t start, uint64_t end)
{
	struct traced_run part = *run;

	part.start = start;
	part.count = end - start;
	part.place += run->is_data || run->place ? start - run->start : 0;
	return part;
}

errcode_t traced_blocks_remove(struct traced_blocks *blocks, uint64_t start, uint64_t count, struct traced_run *run)
{
	struct traced_run *whole = find(blocks, start, count);
	uint64_t end = start + count;

	*run = (struct traced_run){ 0 };
	if (!whole)
		return 0;
	uint64_t whole_end = whole->start + whole->count;
	uint64_t from = whole->start > start ? whole->start : start, to = whole_end < end ? whole_end : end;

	*run = part_of(whole, from, to);
	if (to < whole_end) {
		const struct traced_run rest = part_of(whole, to, whole_end);

		whole->count = from - whole->start;
		if (!whole->count) {
			*whole = rest;
			return 0;
		}
		return insert(blocks, &rest);
	}
	if (from > whole->start) {
		whole->count = from - whole->start;
		return 0;
	}
	tdelete(whole, &blocks->tree, by_place);
	free(whole);
	blocks->runs--;
	return 0;
}

void traced_blocks_clear(struct traced_blocks *blocks)
{
	tdestroy(blocks->tree, free);
	*blocks = (struct traced_blocks){ 0 };
}
