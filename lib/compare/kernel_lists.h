/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Groups by order before patch 15: a linked list for each order, with its own rwlock, in the order in which the
 * groups were added.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "allocator/core/buddy.h"
#include "support/problem.h"

#define KERNEL_LIST_NONE UINT32_MAX

struct kernel_list {
	_Alignas(64) pthread_rwlock_t lock;
	_Atomic uint32_t head; /* changed under the lock */
	uint32_t tail;
};

struct kernel_node {
	uint32_t next;
	uint32_t previous;
	_Atomic int8_t order; /* the order of its list, -1: none; changes to and from k under list k's lock */
};

struct kernel_lists {
	struct kernel_list lists[BUDDY_MAX_ORDERS];
	struct kernel_node *nodes;  /* one for each group */
	_Atomic uint64_t misplaced; /* groups that were to leave a list in which they were not */
};

/* ENOMEM. */
MUST_CHECK errcode_t kernel_lists_create(uint32_t groups, struct kernel_lists **ret);
void kernel_lists_destroy(struct kernel_lists *lists);

/*
 * Moves a group from one list to the end of another (-1: none). A group that is in a third list is counted in
 * misplaced and removed from there: the kernel before patch 11 unlinked it under the wrong lock. The caller holds the
 * group's lock.
 */
void kernel_lists_move(struct kernel_lists *lists, uint32_t number, int from, int to);

/* Any thread. Looks without the lock, as the kernel does before it takes it. */
static inline bool kernel_lists_is_empty(const struct kernel_lists *lists, unsigned int order)
{
	return atomic_load_explicit(&lists->lists[order].head, memory_order_relaxed) == KERNEL_LIST_NONE;
}

bool kernel_lists_has(const struct kernel_lists *lists, unsigned int order, uint32_t number);

/*
 * Returns the first member after `after` (KERNEL_LIST_NONE: from the head on) whose number is in [from, end);
 * KERNEL_LIST_NONE if there is none, or `after` has left the list meanwhile.
 */
uint32_t kernel_lists_next(struct kernel_lists *lists, unsigned int order, uint32_t after, uint32_t from, uint32_t end);
