/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "compare/kernel_lists.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

errcode_t kernel_lists_create(uint32_t groups, struct kernel_lists **ret)
{
	struct kernel_lists *lists = aligned_alloc(_Alignof(struct kernel_lists), sizeof(*lists));

	if (!lists)
		return ENOMEM;
	memset(lists, 0, sizeof(*lists));
	lists->nodes = calloc(groups, sizeof(*lists->nodes));
	if (!lists->nodes) {
		free(lists);
		return ENOMEM;
	}
	for (uint32_t number = 0; number < groups; number++)
		atomic_init(&lists->nodes[number].order, -1);
	for (unsigned int order = 0; order < BUDDY_MAX_ORDERS; order++) {
		pthread_rwlock_init(&lists->lists[order].lock, NULL);
		atomic_init(&lists->lists[order].head, KERNEL_LIST_NONE);
		lists->lists[order].tail = KERNEL_LIST_NONE;
	}
	*ret = lists;
	return 0;
}

void kernel_lists_destroy(struct kernel_lists *lists)
{
	if (!lists)
		return;
	for (unsigned int order = 0; order < BUDDY_MAX_ORDERS; order++)
		pthread_rwlock_destroy(&lists->lists[order].lock);
	free(lists->nodes);
	free(lists);
}

static int order_of(const struct kernel_lists *lists, uint32_t number)
{
	return atomic_load_explicit(&lists->nodes[number].order, memory_order_relaxed);
}

/* Stores the number of the next group, in the previous node or in the list's head. */
static void set_next(struct kernel_lists *lists, struct kernel_list *list, uint32_t number, uint32_t next)
{
	if (number == KERNEL_LIST_NONE)
		atomic_store_explicit(&list->head, next, memory_order_relaxed);
	else
		lists->nodes[number].next = next;
}

static void unlink_node(struct kernel_lists *lists, struct kernel_list *list, uint32_t number)
{
	struct kernel_node *node = &lists->nodes[number];

	set_next(lists, list, node->previous, node->next);
	*(node->next == KERNEL_LIST_NONE ? &list->tail : &lists->nodes[node->next].previous) = node->previous;
	atomic_store_explicit(&node->order, -1, memory_order_relaxed);
}

static void append(struct kernel_lists *lists, int order, uint32_t number)
{
	struct kernel_list *list = &lists->lists[order];
	struct kernel_node *node = &lists->nodes[number];

	node->previous = list->tail;
	node->next = KERNEL_LIST_NONE;
	set_next(lists, list, list->tail, number);
	list->tail = number;
	atomic_store_explicit(&node->order, (int8_t)order, memory_order_relaxed);
}

void kernel_lists_move(struct kernel_lists *lists, uint32_t number, int from, int to)
{
	int listed = order_of(lists, number);

	if (listed != from)
		atomic_fetch_add_explicit(&lists->misplaced, 1, memory_order_relaxed);
	if (listed >= 0) {
		pthread_rwlock_wrlock(&lists->lists[listed].lock);
		unlink_node(lists, &lists->lists[listed], number);
		pthread_rwlock_unlock(&lists->lists[listed].lock);
	}
	if (to >= 0) {
		pthread_rwlock_wrlock(&lists->lists[to].lock);
		append(lists, to, number);
		pthread_rwlock_unlock(&lists->lists[to].lock);
	}
}

bool kernel_lists_has(const struct kernel_lists *lists, unsigned int order, uint32_t number)
{
	return order_of(lists, number) == (int)order;
}

uint32_t kernel_lists_next(struct kernel_lists *lists, unsigned int order, uint32_t after, uint32_t from, uint32_t end)
{
	struct kernel_list *list = &lists->lists[order];
	uint32_t number = KERNEL_LIST_NONE;

	pthread_rwlock_rdlock(&list->lock);
	if (after == KERNEL_LIST_NONE)
		number = atomic_load_explicit(&list->head, memory_order_relaxed);
	else if (kernel_lists_has(lists, order, after))
		number = lists->nodes[after].next;
	while (number != KERNEL_LIST_NONE && (number < from || number >= end))
		number = lists->nodes[number].next;
	pthread_rwlock_unlock(&list->lock);
	return number;
}
