/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Groups by order before patch 15: a linked list for each order, with a lock of its own for many readers or one
 * writer, in the order in which the groups came.
 */
#ifndef EXT2FS_BASE_LISTS_H
#define EXT2FS_BASE_LISTS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "ext2fs/core/buddy.h"
#include "support/problem.h"

#define BASE_LIST_NONE UINT32_MAX

struct base_list {
	_Alignas(64) pthread_rwlock_t lock;
	_Atomic uint32_t head; /* changed under the lock */
	uint32_t tail;
};

struct base_node {
	uint32_t next;
	uint32_t previous;
	_Atomic int8_t order; /* whose list it is in, -1: none; becomes and ceases to be k under list k's lock */
};

struct base_lists {
	struct base_list lists[BUDDY_MAX_ORDERS];
	struct base_node *nodes;    /* one for each group */
	_Atomic uint64_t misplaced; /* groups that were not in the list that they were to leave */
};

/* ENOMEM. */
MUST_CHECK errcode_t base_lists_create(uint32_t groups, struct base_lists **ret);
void base_lists_destroy(struct base_lists *lists);

/*
 * Out of one list and to the end of another (-1: none). A group that is not where it is said to be is counted and
 * taken out of the list that it is in: the kernel before patch 11 unlinked it under the wrong lock. The caller
 * holds the group's lock.
 */
void base_lists_move(struct base_lists *lists, uint32_t number, int from, int to);

/* Any thread, without the lock, as the kernel looks before it takes it. */
static inline bool base_lists_is_empty(const struct base_lists *lists, unsigned int order)
{
	return atomic_load_explicit(&lists->lists[order].head, memory_order_relaxed) == BASE_LIST_NONE;
}

bool base_lists_has(const struct base_lists *lists, unsigned int order, uint32_t number);

/*
 * The first member behind `after` (BASE_LIST_NONE: from the head on) whose number is in [from, end); BASE_LIST_NONE
 * when there is none, or `after` has left the list meanwhile.
 */
uint32_t base_lists_next(struct base_lists *lists, unsigned int order, uint32_t after, uint32_t from, uint32_t end);

#endif
