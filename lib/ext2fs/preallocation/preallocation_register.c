// SPDX-License-Identifier: LGPL-2.1-or-later
#include "ext2fs/preallocation/preallocation_register.h"

#include "ext2fs/core/allocator.h"

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
			clusters += owner->kind->give_back(owner, mb, stats, range);
		pthread_mutex_unlock(&part->lock);
	}
	return clusters;
}

void preallocation_register_clear_served(struct preallocation_register *preallocations)
{
	for (unsigned int index = 0; index < PREALLOCATION_REGISTER_SHARDS; index++) {
		struct preallocation_shard *part = &preallocations->shards[index];

		pthread_mutex_lock(&part->lock);
		for (struct preallocation_owner *owner = part->owners; owner; owner = owner->next)
			if (owner->kind->clear_served)
				owner->kind->clear_served(owner);
		pthread_mutex_unlock(&part->lock);
	}
}

void preallocation_register_visit(struct preallocation_register *preallocations, preallocation_visit visit,
                                  void *context)
{
	for (unsigned int index = 0; index < PREALLOCATION_REGISTER_SHARDS; index++)
		for (struct preallocation_owner *owner = preallocations->shards[index].owners; owner; owner = owner->next)
			owner->kind->visit(owner, visit, context);
}
