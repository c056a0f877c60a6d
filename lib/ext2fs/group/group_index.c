/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ext2fs/group/group_index.h"

static struct order_set *sets_of(struct ext2mb *mb, enum index_kind kind)
{
	return kind == INDEX_LARGEST ? mb->largest : mb->average;
}

static bool is_on(const struct ext2mb *mb)
{
	return atomic_load_explicit(&mb->is_indexed, memory_order_relaxed);
}

/* The default's way: groups move between sets, and out of all when they are full. */
static void settle_way(struct ext2mb *mb)
{
	bool is_default = is_on(mb) && mb->policy.choices & EXT2MB_CHOICE_ORDERED_SETS &&
	                  mb->policy.choices & EXT2MB_CHOICE_FULL_UNLISTED;

	atomic_store_explicit(&mb->has_default_index, is_default, memory_order_relaxed);
}

errcode_t group_index_create(struct ext2mb *mb)
{
	settle_way(mb);
	if (!(mb->policy.choices & EXT2MB_CHOICE_ORDERED_SETS)) {
		errcode_t error = base_lists_create(mb->geometry.groups, &mb->base_lists[INDEX_LARGEST]);
		if (!error)
			error = base_lists_create(mb->geometry.groups, &mb->base_lists[INDEX_AVERAGE]);
		return error;
	}
	for (uint32_t order = 0; order < mb->orders; order++) {
		errcode_t error = order_set_create(&mb->largest[order], mb->geometry.groups);
		if (!error)
			error = order_set_create(&mb->average[order], mb->geometry.groups);
		if (error)
			return error;
	}
	return 0;
}

void group_index_destroy(struct ext2mb *mb)
{
	for (uint32_t order = 0; order < mb->orders; order++) {
		order_set_destroy(&mb->largest[order]);
		order_set_destroy(&mb->average[order]);
	}
	base_lists_destroy(mb->base_lists[INDEX_LARGEST]);
	base_lists_destroy(mb->base_lists[INDEX_AVERAGE]);
}

static void move(struct ext2mb *mb, enum index_kind kind, uint32_t number, int8_t *recorded, int order)
{
	struct order_set *sets = sets_of(mb, kind);

	if (*recorded == order)
		return;
	if (mb->base_lists[kind]) {
		base_lists_move(mb->base_lists[kind], number, *recorded, order);
	} else {
		if (order >= 0)
			order_set_add(&sets[order], number);
		if (*recorded >= 0)
			order_set_remove(&sets[*recorded], number);
	}
	*recorded = (int8_t)order;
}

int group_index_expected(const struct ext2mb *mb, uint32_t number, enum index_kind kind,
                         const struct group_summary *summary)
{
	if (!is_on(mb))
		return -1;
	if (kind == INDEX_LARGEST)
		return summary->largest_order;
	/* Before patch 10 a full group stayed in the set where its last cluster had left it: a zombie. */
	if (summary->average_order < 0 && !(mb->policy.choices & EXT2MB_CHOICE_FULL_UNLISTED) &&
	    summary->state == GROUP_LOADED)
		return mb->groups[number].average_set;
	return summary->average_order;
}

void group_index_update(struct ext2mb *mb, uint32_t number, const struct group_summary *summary)
{
	struct group *group = &mb->groups[number];

	/* Before patch 11 the order was noted but the set was not left: later it is another set that is left. */
	if (!is_on(mb) && !(mb->policy.choices & EXT2MB_CHOICE_ALWAYS_LEAVE)) {
		group->largest_set = (int8_t)summary->largest_order;
		return;
	}
	move(mb, INDEX_LARGEST, number, &group->largest_set, group_index_expected(mb, number, INDEX_LARGEST, summary));
	move(mb, INDEX_AVERAGE, number, &group->average_set, group_index_expected(mb, number, INDEX_AVERAGE, summary));
}

uint32_t group_index_next(struct ext2mb *mb, enum index_kind kind, unsigned int order, uint32_t after, uint32_t from,
                          uint32_t end)
{
	if (mb->base_lists[kind])
		return base_lists_next(mb->base_lists[kind], order, after, from, end);
	return order_set_next(&sets_of(mb, kind)[order], after == ORDER_SET_NONE ? from : after + 1, end);
}

unsigned int group_index_next_order(const struct ext2mb *mb, enum index_kind kind, unsigned int order)
{
	const struct order_set *sets = kind == INDEX_LARGEST ? mb->largest : mb->average;

	if (mb->base_lists[kind])
		while (order < mb->orders && base_lists_is_empty(mb->base_lists[kind], order))
			order++;
	else
		while (order < mb->orders && order_set_is_empty(&sets[order]))
			order++;
	return order;
}

bool group_index_has(const struct ext2mb *mb, enum index_kind kind, unsigned int order, uint32_t number)
{
	if (mb->base_lists[kind])
		return base_lists_has(mb->base_lists[kind], order, number);
	return order_set_has(kind == INDEX_LARGEST ? &mb->largest[order] : &mb->average[order], number);
}

uint32_t group_index_count(struct ext2mb *mb, enum index_kind kind, unsigned int order)
{
	uint32_t count = 0;

	for (uint32_t number = 0; number < mb->geometry.groups; number++)
		count += group_index_has(mb, kind, order, number);
	return count;
}

/*
 * The switch itself comes first. Whoever publishes a group after this has passed it sees the switch, for both hold
 * the group's lock; whoever does so before is put right here.
 */
void group_index_switch(struct ext2mb *mb, bool is_to_be_on)
{
	pthread_mutex_lock(&mb->switch_lock);
	if (is_on(mb) != is_to_be_on) {
		atomic_store_explicit(&mb->is_indexed, is_to_be_on, memory_order_relaxed);
		settle_way(mb);
		if (!(mb->policy.choices & EXT2MB_CHOICE_ALWAYS_LEAVE))
			mb->has_stale_index = true;
	}
	for (uint32_t number = 0; number < mb->geometry.groups && !mb->has_stale_index; number++) {
		struct group *group = &mb->groups[number];

		lock_wait(&group->lock);
		struct group_summary summary = group_summary_read(group);
		group_index_update(mb, number, &summary);
		lock_release(&group->lock);
	}
	pthread_mutex_unlock(&mb->switch_lock);
}
