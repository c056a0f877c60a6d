/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "transaction/held_blocks.h"

#include <errno.h>
#include <search.h>

static int compare(const void *one, const void *other)
{
	uint64_t left = *(const uint64_t *)one, right = *(const uint64_t *)other;

	return left < right ? -1 : left > right;
}

struct held_block *held_blocks_find(const struct held_blocks *held, uint64_t block)
{
	void *node = held->count ? tfind(&block, &held->tree, compare) : NULL;

	return node ? *(struct held_block **)node : NULL;
}

errcode_t held_blocks_add(struct held_blocks *held, uint64_t block, struct held_block **ret)
{
	SCOPE_FREE struct held_block *added = malloc(sizeof(*added) + held->block_bytes);

	if (!added)
		return ENOMEM;
	added->block = block;
	if (!tsearch(added, &held->tree, compare))
		return ENOMEM;
	held->count++;
	*ret = TAKE(added);
	return 0;
}

struct listing {
	struct held_block **list;
	size_t count;
};

static void alloc_node(const void *node, VISIT visit, void *context)
{
	struct listing *listing = context;

	if (visit == postorder || visit == leaf)
		listing->list[listing->count++] = *(struct held_block *const *)node;
}

errcode_t held_blocks_list(const struct held_blocks *held, struct held_block ***list)
{
	struct listing listing = { calloc(held->count + 1, sizeof(*listing.list)), 0 };

	if (!listing.list)
		return ENOMEM;
	twalk_r(held->tree, alloc_node, &listing);
	*list = listing.list;
	return 0;
}

void held_blocks_drop(struct held_blocks *held, struct held_block *block)
{
	tdelete(block, &held->tree, compare);
	free(block);
	held->count--;
}

void held_blocks_clear(struct held_blocks *held)
{
	tdestroy(held->tree, free);
	held->tree = NULL;
	held->count = 0;
}
