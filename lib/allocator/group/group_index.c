/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "allocator/group/group_index.h"

errcode_t group_index_create(struct ext2mb *mb)
{
	for (uint32_t order = 0; order < mb->orders; order++) {
		errcode_t error = order_set_create(&mb->index->sets[INDEX_LARGEST][order], mb->geometry.groups);
		if (!error)
			error = order_set_create(&mb->index->sets[INDEX_AVERAGE][order], mb->geometry.groups);
		if (error)
			return error;
	}
	return 0;
}

void group_index_destroy(struct ext2mb *mb)
{
	for (uint32_t order = 0; order < mb->orders; order++) {
		order_set_destroy(&mb->index->sets[INDEX_LARGEST][order]);
		order_set_destroy(&mb->index->sets[INDEX_AVERAGE][order]);
	}
}

/* Enters the new set before leaving the old one, so that a search never misses a group that is only moving. */
void group_index_move(struct order_set *sets, uint32_t number, int8_t *recorded, int order)
{
	if (*recorded == order)
		return;
	if (order >= 0)
		order_set_add(&sets[order], number);
	if (*recorded >= 0)
		order_set_remove(&sets[*recorded], number);
	*recorded = (int8_t)order;
}

static int expected(const struct ext2mb *mb, uint32_t number, enum index_kind kind, const struct group_summary *summary)
{
	(void)number;
	return group_index_is_on(mb) ? group_summary_order(summary, kind) : -1;
}

static void update(struct ext2mb *mb, uint32_t number, const struct group_summary *summary)
{
	for (enum index_kind kind = 0; kind < INDEX_KINDS; kind++)
		group_index_move(mb->index->sets[kind], number, &mb->groups[number].set[kind],
		                 expected(mb, number, kind, summary));
}

static uint32_t next(struct ext2mb *mb, enum index_kind kind, unsigned int order, uint32_t after, uint32_t from,
                     uint32_t end)
{
	return order_set_next(&mb->index->sets[kind][order], after == ORDER_SET_NONE ? from : after + 1, end);
}

static bool has(const struct ext2mb *mb, enum index_kind kind, unsigned int order, uint32_t number)
{
	return order_set_has(&mb->index->sets[kind][order], number);
}

int group_index_largest_of_all(const struct ext2mb *mb)
{
	int largest = -1;

	for (uint32_t number = 0; number < mb->geometry.groups; number++) {
		int order = group_summary_read(&mb->groups[number]).largest_order;

		if (order > largest)
			largest = order;
	}
	return largest;
}

static int largest_order(const struct ext2mb *mb)
{
	if (!group_index_is_on(mb))
		return group_index_largest_of_all(mb);
	for (int order = (int)mb->orders - 1; order >= 0; order--)
		if (!order_set_is_empty(&mb->index->sets[INDEX_LARGEST][order]))
			return order;
	return -1;
}

void group_index_settle(struct ext2mb *mb)
{
	for (uint32_t number = 0; number < mb->geometry.groups; number++) {
		struct group *group = &mb->groups[number];

		group_lock(group);
		struct group_summary summary = group_summary_read(group);
		mb->policy.index->update(mb, number, &summary);
		group_leave(mb, number);
	}
}

const struct index_operations group_index_ordered = {
	.update = update,
	.settle = group_index_settle,
	.largest_order = largest_order,
	.next = next,
	.has = has,
	.expected = expected,
};

uint32_t group_index_count(const struct ext2mb *mb, enum index_kind kind, unsigned int order)
{
	uint32_t count = 0;

	for (uint32_t number = 0; number < mb->geometry.groups; number++)
		count += mb->policy.index->has(mb, kind, order, number);
	return count;
}

/*
 * The switch is set first. A thread that publishes a group after this loop has passed it sees the switch, since both
 * hold the group's lock. The loop corrects what a thread published before.
 */
void group_index_switch(struct ext2mb *mb, bool is_to_be_on)
{
	pthread_mutex_lock(&mb->switch_lock);
	atomic_store_explicit(&mb->is_indexed, is_to_be_on, memory_order_relaxed);
	mb->policy.index->settle(mb);
	pthread_mutex_unlock(&mb->switch_lock);
}
