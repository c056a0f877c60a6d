/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "orphan/orphan_list.h"

#include <errno.h>

#include "ext2fs/ext2mb.h"
#include "support/vector.h"

void orphan_list_init(struct orphan_list *list)
{
	*list = (struct orphan_list){
		.newest = ORPHAN_LIST_NONE,
		.oldest = ORPHAN_LIST_NONE,
		.unused = ORPHAN_LIST_NONE,
		.leaving = ORPHAN_LIST_NONE,
	};
}

void orphan_list_destroy(struct orphan_list *list)
{
	free(list->nodes);
}

static errcode_t alloc_node(struct orphan_list *list, uint32_t *number)
{
	if (list->unused != ORPHAN_LIST_NONE) {
		*number = list->unused;
		list->unused = list->nodes[*number].older;
		return 0;
	}
	if (list->count >= EXT2MB_ORPHAN_ON_LIST)
		return ENOMEM;
	errcode_t error = vector_reserve(&list->nodes, &list->capacity, list->count + 1, sizeof(*list->nodes));
	if (error)
		return error;
	*number = (uint32_t)list->count++;
	return 0;
}

/* Returns the field that has the number of the next older node; for ORPHAN_LIST_NONE that is the newest. */
static uint32_t *older_than(struct orphan_list *list, uint32_t number)
{
	return number == ORPHAN_LIST_NONE ? &list->newest : &list->nodes[number].older;
}

static uint32_t *newer_than(struct orphan_list *list, uint32_t number)
{
	return number == ORPHAN_LIST_NONE ? &list->oldest : &list->nodes[number].newer;
}

/* Inserts between the nodes that it names. */
static errcode_t insert(struct orphan_list *list, struct orphan_node node, uint32_t *number)
{
	errcode_t error = alloc_node(list, number);

	if (error)
		return error;
	list->nodes[*number] = node;
	*older_than(list, node.newer) = *number;
	*newer_than(list, node.older) = *number;
	return 0;
}

errcode_t orphan_list_add(struct orphan_list *list, uint32_t ino, uint32_t *node)
{
	const struct orphan_node added = {
		.ino = ino,
		.newer = ORPHAN_LIST_NONE,
		.older = list->newest,
		.state = ORPHAN_NODE_LISTED,
	};

	return insert(list, added, node);
}

errcode_t orphan_list_load(struct orphan_list *list, uint32_t ino, uint32_t next)
{
	const struct orphan_node added = {
		.ino = ino,
		.newer = list->oldest,
		.older = ORPHAN_LIST_NONE,
		.written = next,
		.is_written = true,
		.state = ORPHAN_NODE_LISTED,
	};
	uint32_t node;

	return insert(list, added, &node);
}

errcode_t orphan_list_remove(struct orphan_list *list, uint32_t number, uint32_t ino)
{
	if (number >= list->count)
		return EXT2MB_ET_ORPHAN_ABSENT;

	struct orphan_node *node = &list->nodes[number];
	if (node->state != ORPHAN_NODE_LISTED || node->ino != ino)
		return EXT2MB_ET_ORPHAN_ABSENT;
	*older_than(list, node->newer) = node->older;
	*newer_than(list, node->older) = node->newer;

	uint32_t *kind = node->is_written ? &list->leaving : &list->unused;
	node->state = node->is_written ? ORPHAN_NODE_LEAVING : ORPHAN_NODE_UNUSED;
	node->older = *kind;
	*kind = number;
	return 0;
}

uint32_t orphan_list_next(const struct orphan_list *list, uint32_t *node)
{
	for (uint32_t number = *node; number < list->count; number++) {
		if (list->nodes[number].state == ORPHAN_NODE_LISTED) {
			*node = number;
			return list->nodes[number].ino;
		}
	}
	return 0;
}

uint32_t orphan_list_link(const struct orphan_list *list, const struct orphan_node *node)
{
	return node->older == ORPHAN_LIST_NONE ? 0 : list->nodes[node->older].ino;
}

void orphan_list_forget_leaving(struct orphan_list *list)
{
	while (list->leaving != ORPHAN_LIST_NONE) {
		struct orphan_node *node = &list->nodes[list->leaving];
		uint32_t next = node->older;

		node->state = ORPHAN_NODE_UNUSED;
		node->older = list->unused;
		list->unused = list->leaving;
		list->leaving = next;
	}
}
