// SPDX-License-Identifier: LGPL-2.1-or-later
#include "ext2fs/preallocation/window_owner.h"

#include "ext2fs/allocator.h"

void window_register_init(struct window_register *windows)
{
	for (unsigned int index = 0; index < WINDOW_REGISTER_SHARDS; index++)
		pthread_mutex_init(&windows->shards[index].lock, NULL);
}

void window_register_destroy(struct window_register *windows)
{
	for (unsigned int index = 0; index < WINDOW_REGISTER_SHARDS; index++)
		pthread_mutex_destroy(&windows->shards[index].lock);
}

void window_register_add(struct window_register *windows, struct window_owner *owner, uint32_t shard)
{
	owner->shard = shard % WINDOW_REGISTER_SHARDS;

	struct window_shard *part = &windows->shards[owner->shard];
	pthread_mutex_lock(&part->lock);
	owner->next = part->owners;
	owner->link = &part->owners;
	if (owner->next)
		owner->next->link = &owner->next;
	part->owners = owner;
	pthread_mutex_unlock(&part->lock);
}

void window_register_remove(struct window_register *windows, struct window_owner *owner)
{
	struct window_shard *part = &windows->shards[owner->shard];

	pthread_mutex_lock(&part->lock);
	*owner->link = owner->next;
	if (owner->next)
		owner->next->link = owner->link;
	pthread_mutex_unlock(&part->lock);
}

uint64_t window_register_discard(struct ext2mb *mb, struct stats *stats, const struct window_range *range)
{
	uint64_t clusters = 0;

	for (unsigned int index = 0; index < WINDOW_REGISTER_SHARDS; index++) {
		struct window_shard *part = &mb->windows.shards[index];

		pthread_mutex_lock(&part->lock);
		for (struct window_owner *owner = part->owners; owner; owner = owner->next)
			clusters += owner->kind->discard(owner, mb, stats, range);
		pthread_mutex_unlock(&part->lock);
	}
	return clusters;
}

void window_register_clear_served(struct window_register *windows)
{
	for (unsigned int index = 0; index < WINDOW_REGISTER_SHARDS; index++) {
		struct window_shard *part = &windows->shards[index];

		pthread_mutex_lock(&part->lock);
		for (struct window_owner *owner = part->owners; owner; owner = owner->next)
			if (owner->kind->clear_served)
				owner->kind->clear_served(owner);
		pthread_mutex_unlock(&part->lock);
	}
}

void window_register_visit(struct window_register *windows, window_visit visit, void *context)
{
	for (unsigned int index = 0; index < WINDOW_REGISTER_SHARDS; index++)
		for (struct window_owner *owner = windows->shards[index].owners; owner; owner = owner->next)
			owner->kind->visit(owner, visit, context);
}
