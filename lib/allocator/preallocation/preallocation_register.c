/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "allocator/preallocation/preallocation_register.h"

#include <string.h>

#include "allocator/core/allocator.h"
#include "allocator/group/group.h"
#include "allocator/group/group_reserved.h"

/* The unit test includes this file and here looks at what another thread might see. */
#ifndef PREALLOCATION_MEANWHILE
#define PREALLOCATION_MEANWHILE(mb)
#endif

void preallocation_give_back(struct ext2mb *mb, struct stats *stats, uint64_t position, uint32_t count)
{
	uint32_t number = (uint32_t)(position / mb->geometry.clusters_per_group);
	struct group *group = &mb->groups[number];

	group_lock(group);
	buddy_give(group->buddy, (uint32_t)(position % mb->geometry.clusters_per_group), count);
	group_reserved_clear(mb, position, count);
	/*
	 * This comes before other threads can take these clusters: the count of taken ones must never exceed the count
	 * of those that could be taken.
	 */
	stats_add(stats, COUNT_CLUSTERS_UNRESERVED, count);
	group_leave_changed(mb, number);
	PREALLOCATION_MEANWHILE(mb);
}

static bool overlaps(const struct preallocation_list *list, const struct cluster_range *range)
{
	for (const struct preallocation *item = list->items; item < list->items + list->count; item++)
		if (item->position < range->end && range->start < item->position + item->count)
			return true;
	return false;
}

uint64_t preallocation_owner_give_back(struct preallocation_owner *owner, struct ext2mb *mb, struct stats *stats,
                                       const struct cluster_range *range)
{
	struct preallocation_list *list = &owner->list;
	uint64_t clusters = 0;

	lock_wait(&owner->lock);
	if (list->count && (!range || overlaps(list, range))) {
		preallocation_owner_clear_served(owner, mb);
		preallocation_move_begin(stats);
		for (uint32_t index = 0; index < list->count; index++) {
			preallocation_give_back(mb, stats, list->items[index].position, list->items[index].count);
			clusters += list->items[index].count;
		}
		if (owner->is_file)
			stats_add(stats, COUNT_PREALLOCATIONS_CLOSED, list->count);
		list->count = 0;
		preallocation_move_end(stats);
	}
	lock_release(&owner->lock);
	return clusters;
}

void preallocation_owner_clear_served(struct preallocation_owner *owner, struct ext2mb *mb)
{
	uint64_t position;
	uint32_t count;

	if (inode_pa_alloc_served(&owner->list, &position, &count))
		group_reserved_clear(mb, position, count);
}

errcode_t preallocation_owner_alloc_any(struct preallocation_owner *owner, struct ext2mb *mb, uint32_t logical,
                                        uint32_t most, struct preallocation *taken)
{
	preallocation_owner_clear_served(owner, mb);
	errcode_t error = inode_pa_alloc_any(&owner->list, logical, most, taken);
	if (!error && taken->count)
		group_reserved_clear(mb, taken->position, taken->count);
	return error;
}

void preallocation_register_init(struct preallocation_register *preallocations)
{
	for (unsigned int index = 0; index < PREALLOCATION_REGISTER_SHARDS; index++)
		pthread_mutex_init(&preallocations->shards[index].lock, NULL);
}

void preallocation_register_destroy(struct preallocation_register *preallocations)
{
	for (unsigned int index = 0; index < PREALLOCATION_REGISTER_SHARDS; index++)
		pthread_mutex_destroy(&preallocations->shards[index].lock);
}

void preallocation_register_add(struct preallocation_register *preallocations, struct preallocation_owner *owner,
                                uint32_t shard)
{
	owner->shard = shard % PREALLOCATION_REGISTER_SHARDS;

	struct preallocation_shard *part = &preallocations->shards[owner->shard];
	pthread_mutex_lock(&part->lock);
	owner->next = part->owners;
	owner->link = &part->owners;
	if (owner->next)
		owner->next->link = &owner->next;
	part->owners = owner;
	pthread_mutex_unlock(&part->lock);
}

void preallocation_register_remove(struct preallocation_register *preallocations, struct preallocation_owner *owner)
{
	struct preallocation_shard *part = &preallocations->shards[owner->shard];

	pthread_mutex_lock(&part->lock);
	*owner->link = owner->next;
	if (owner->next)
		owner->next->link = owner->link;
	pthread_mutex_unlock(&part->lock);
}

uint64_t preallocation_register_give_back(struct ext2mb *mb, struct stats *stats, const struct cluster_range *range)
{
	uint64_t clusters = 0;

	for (unsigned int index = 0; index < PREALLOCATION_REGISTER_SHARDS; index++) {
		struct preallocation_shard *part = &mb->preallocations->shards[index];

		pthread_mutex_lock(&part->lock);
		for (struct preallocation_owner *owner = part->owners; owner; owner = owner->next)
			clusters += preallocation_owner_give_back(owner, mb, stats, range);
		pthread_mutex_unlock(&part->lock);
	}
	return clusters;
}

void preallocation_register_clear_served(struct ext2mb *mb)
{
	for (unsigned int index = 0; index < PREALLOCATION_REGISTER_SHARDS; index++) {
		struct preallocation_shard *part = &mb->preallocations->shards[index];

		pthread_mutex_lock(&part->lock);
		for (struct preallocation_owner *owner = part->owners; owner; owner = owner->next) {
			if (!owner->is_file)
				continue;
			lock_wait(&owner->lock);
			preallocation_owner_clear_served(owner, mb);
			lock_release(&owner->lock);
		}
		pthread_mutex_unlock(&part->lock);
	}
}

size_t preallocation_register_list(const struct ext2mb *mb, struct preallocation *found)
{
	size_t count = 0;

	for (unsigned int index = 0; index < PREALLOCATION_REGISTER_SHARDS; index++) {
		const struct preallocation_owner *owner = mb->preallocations->shards[index].owners;

		for (; owner; owner = owner->next) {
			if (found && owner->list.count)
				memcpy(found + count, owner->list.items, owner->list.count * sizeof(*found));
			count += owner->list.count;
		}
	}
	return count;
}
