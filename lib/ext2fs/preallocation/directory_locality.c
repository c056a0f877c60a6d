// SPDX-License-Identifier: LGPL-2.1-or-later
#include "ext2fs/preallocation/directory_locality.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "ext2fs/core/allocator.h"
#include "ext2fs/core/minmax.h"
#include "ext2fs/preallocation/preallocation.h"
#include "ext2fs/preallocation/preallocation_options.h"

struct directory {
	struct locality_group pool;
	struct locality_group *_Atomic more; /* DIRECTORY_LOCALITY_MORE_POOLS of them, once two threads have met here */
	struct preallocation_owner owner;
	struct directory *next;
	ext2_ino_t ino;
	uint32_t users; /* under the shard's lock */
};

void directory_localities_init(struct directory_localities *table)
{
	for (unsigned int index = 0; index < DIRECTORY_LOCALITY_SHARDS; index++)
		pthread_mutex_init(&table->shards[index].lock, NULL);
}

static uint32_t first_window(const struct ext2mb *mb)
{
	return (uint32_t)min_u64(mb->prealloc->small_window, DIRECTORY_LOCALITY_FIRST_WINDOW);
}

static struct directory *directory_of(const struct preallocation_owner *owner)
{
	return (struct directory *)((char *)owner - offsetof(struct directory, owner));
}

static uint64_t give_back(struct preallocation_owner *owner, struct ext2mb *mb, struct stats *stats,
                        const struct cluster_range *range)
{
	struct directory *directory = directory_of(owner);
	struct locality_group *more = atomic_load_explicit(&directory->more, memory_order_acquire);
	uint64_t clusters = locality_group_give_back(&directory->pool, mb, stats, range);

	for (unsigned int index = 0; more && index < DIRECTORY_LOCALITY_MORE_POOLS; index++)
		clusters += locality_group_give_back(&more[index], mb, stats, range);
	return clusters;
}

static void visit_all(const struct preallocation_owner *owner, preallocation_visit visit, void *context)
{
	const struct directory *directory = directory_of(owner);
	const struct locality_group *more = atomic_load_explicit(&directory->more, memory_order_acquire);

	locality_group_visit(&directory->pool, visit, context);
	for (unsigned int index = 0; more && index < DIRECTORY_LOCALITY_MORE_POOLS; index++)
		locality_group_visit(&more[index], visit, context);
}

static const struct preallocation_owner_kind directory_kind = { give_back, visit_all, NULL };

static errcode_t create(struct ext2mb *mb, ext2_ino_t ino, struct directory **ret)
{
	struct directory *directory = aligned_alloc(_Alignof(struct directory), sizeof(*directory));

	if (!directory)
		return ENOMEM;
	memset(directory, 0, sizeof(*directory));
	directory->ino = ino;
	directory->pool.window_clusters = first_window(mb);
	directory->owner.kind = &directory_kind;
	*ret = directory;
	return 0;
}

static void destroy(struct directory *directory)
{
	struct locality_group *more = directory->more;

	for (unsigned int index = 0; more && index < DIRECTORY_LOCALITY_MORE_POOLS; index++)
		group_pa_destroy(&more[index].runs);
	free(more);
	group_pa_destroy(&directory->pool.runs);
	free(directory);
}

void directory_localities_destroy(struct ext2mb *mb)
{
	for (unsigned int index = 0; index < DIRECTORY_LOCALITY_SHARDS; index++) {
		struct directory_shard *shard = &mb->localities->shards[index];

		while (shard->first) {
			struct directory *directory = shard->first;

			shard->first = directory->next;
			preallocation_register_remove(mb->preallocations, &directory->owner);
			destroy(directory);
		}
		pthread_mutex_destroy(&shard->lock);
	}
}

static struct directory_shard *shard_of(struct ext2mb *mb, ext2_ino_t ino)
{
	return &mb->localities->shards[ino * UINT32_C(0x9e3779b1) >> (32 - DIRECTORY_LOCALITY_SHARD_BITS)];
}

/* Takes the directory out of its shard's list; NULL if it is not there. */
static struct directory *unlink_directory(struct directory_shard *shard, ext2_ino_t ino)
{
	struct directory **link = &shard->first;

	while (*link && (*link)->ino != ino)
		link = &(*link)->next;
	struct directory *directory = *link;
	if (directory)
		*link = directory->next;
	return directory;
}

static void link_first(struct directory_shard *shard, struct directory *directory)
{
	directory->next = shard->first;
	shard->first = directory;
}

errcode_t directory_locality_visit(struct ext2mb_worker *worker, ext2_ino_t ino, struct directory **ret)
{
	struct ext2mb *mb = worker->mb;
	struct directory_shard *shard = shard_of(mb, ino);
	errcode_t error = 0;

	pthread_mutex_lock(&shard->lock);
	struct directory *directory = unlink_directory(shard, ino);
	directory_visits_note(&worker->preallocation->visits, ino, directory);
	if (!directory) {
		error = create(mb, ino, &directory);
		if (!error)
			preallocation_register_add(mb->preallocations, &directory->owner, ino);
	} else if (!directory->users) {
		shard->idle--;
	}
	if (!error) {
		directory->users++;
		link_first(shard, directory);
	}
	pthread_mutex_unlock(&shard->lock);
	*ret = directory;
	return error;
}

/* The one that was used the longest time ago, of those that are not in use. */
static struct directory *unlink_oldest_idle(struct directory_shard *shard)
{
	struct directory **oldest = NULL;

	for (struct directory **link = &shard->first; *link; link = &(*link)->next)
		if (!(*link)->users)
			oldest = link;
	struct directory *directory = *oldest;
	*oldest = directory->next;
	shard->idle--;
	return directory;
}

void directory_locality_leave(struct ext2mb_worker *worker, struct directory *directory)
{
	struct ext2mb *mb = worker->mb;
	struct directory_shard *shard = shard_of(mb, directory->ino);
	struct directory *evicted = NULL;

	pthread_mutex_lock(&shard->lock);
	if (!--directory->users && ++shard->idle > DIRECTORY_LOCALITY_IDLE_MOST)
		evicted = unlink_oldest_idle(shard);
	pthread_mutex_unlock(&shard->lock);
	if (!evicted)
		return;
	give_back(&evicted->owner, mb, &worker->stats, NULL);
	preallocation_register_remove(mb->preallocations, &evicted->owner);
	destroy(evicted);
}

/* Makes the other pools, unless another thread is faster or there is no memory: then the first must do. */
static struct locality_group *more_pools(struct ext2mb *mb, struct directory *directory)
{
	struct locality_group *more = atomic_load_explicit(&directory->more, memory_order_acquire);

	if (more)
		return more;
	struct locality_group *made = aligned_alloc(_Alignof(struct locality_group),
	                                            DIRECTORY_LOCALITY_MORE_POOLS * sizeof(*made));
	if (!made)
		return NULL;
	memset(made, 0, DIRECTORY_LOCALITY_MORE_POOLS * sizeof(*made));
	for (unsigned int index = 0; index < DIRECTORY_LOCALITY_MORE_POOLS; index++)
		made[index].window_clusters = first_window(mb);
	if (atomic_compare_exchange_strong_explicit(&directory->more, &more, made, memory_order_acq_rel,
	                                            memory_order_acquire))
		return made;
	free(made);
	return more;
}

struct locality_group *directory_locality_lock(struct ext2mb_worker *worker, struct directory *directory)
{
	if (lock_try(&directory->pool.lock))
		return &directory->pool;

	struct locality_group *more = more_pools(worker->mb, directory);
	struct locality_group *pool = more ? &more[worker->number % DIRECTORY_LOCALITY_MORE_POOLS] : &directory->pool;
	lock_wait(&pool->lock);
	return pool;
}

struct locality_group *directory_locality_first(struct directory *directory)
{
	return &directory->pool;
}
