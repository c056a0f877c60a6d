// SPDX-License-Identifier: LGPL-2.1-or-later
#include "ext2fs/preallocation/directory.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "ext2fs/allocator.h"

struct directory {
	struct small_pool pool;
	struct small_pool *_Atomic more; /* DIRECTORY_MORE_POOLS of them, once two threads have met here */
	struct window_owner owner;
	struct directory *next;
	ext2_ino_t ino;
	uint32_t users; /* under the shard's lock */
};

void directory_table_init(struct directory_table *table)
{
	for (unsigned int index = 0; index < DIRECTORY_SHARDS; index++)
		pthread_mutex_init(&table->shards[index].lock, NULL);
}

static uint32_t first_window(const struct ext2mb *mb)
{
	return mb->prealloc.small_window < DIRECTORY_FIRST_WINDOW ? mb->prealloc.small_window : DIRECTORY_FIRST_WINDOW;
}

static struct directory *directory_of(const struct window_owner *owner)
{
	return (struct directory *)((char *)owner - offsetof(struct directory, owner));
}

static uint64_t discard(struct window_owner *owner, struct ext2mb *mb, struct stats *stats,
                        const struct window_range *range)
{
	struct directory *directory = directory_of(owner);
	struct small_pool *more = atomic_load_explicit(&directory->more, memory_order_acquire);
	uint64_t clusters = small_pool_discard(&directory->pool, mb, stats, range);

	for (unsigned int index = 0; more && index < DIRECTORY_MORE_POOLS; index++)
		clusters += small_pool_discard(&more[index], mb, stats, range);
	return clusters;
}

static void visit_all(const struct window_owner *owner, window_visit visit, void *context)
{
	const struct directory *directory = directory_of(owner);
	const struct small_pool *more = atomic_load_explicit(&directory->more, memory_order_acquire);

	small_pool_visit(&directory->pool, visit, context);
	for (unsigned int index = 0; more && index < DIRECTORY_MORE_POOLS; index++)
		small_pool_visit(&more[index], visit, context);
}

static const struct window_owner_kind directory_kind = { discard, visit_all, NULL };

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
	struct small_pool *more = directory->more;

	for (unsigned int index = 0; more && index < DIRECTORY_MORE_POOLS; index++)
		small_runs_destroy(&more[index].runs);
	free(more);
	small_runs_destroy(&directory->pool.runs);
	free(directory);
}

void directory_table_destroy(struct ext2mb *mb)
{
	for (unsigned int index = 0; index < DIRECTORY_SHARDS; index++) {
		struct directory_shard *shard = &mb->directory_table.shards[index];

		while (shard->first) {
			struct directory *directory = shard->first;

			shard->first = directory->next;
			window_register_remove(&mb->windows, &directory->owner);
			destroy(directory);
		}
		pthread_mutex_destroy(&shard->lock);
	}
}

static struct directory_shard *shard_of(struct ext2mb *mb, ext2_ino_t ino)
{
	return &mb->directory_table.shards[ino * UINT32_C(0x9e3779b1) >> (32 - DIRECTORY_SHARD_BITS)];
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

errcode_t directory_get(struct ext2mb_worker *worker, ext2_ino_t ino, struct directory **ret)
{
	struct ext2mb *mb = worker->mb;
	struct directory_shard *shard = shard_of(mb, ino);
	errcode_t error = 0;

	pthread_mutex_lock(&shard->lock);
	struct directory *directory = unlink_directory(shard, ino);
	directory_visits_note(&worker->visits, ino, directory);
	if (!directory) {
		error = create(mb, ino, &directory);
		if (!error)
			window_register_add(&mb->windows, &directory->owner, ino);
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

/* Of those that nobody uses, the one that was used the longest time ago. */
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

void directory_put(struct ext2mb_worker *worker, struct directory *directory)
{
	struct ext2mb *mb = worker->mb;
	struct directory_shard *shard = shard_of(mb, directory->ino);
	struct directory *evicted = NULL;

	pthread_mutex_lock(&shard->lock);
	if (!--directory->users && ++shard->idle > DIRECTORY_IDLE_MOST)
		evicted = unlink_oldest_idle(shard);
	pthread_mutex_unlock(&shard->lock);
	if (!evicted)
		return;
	discard(&evicted->owner, mb, &worker->stats, NULL);
	window_register_remove(&mb->windows, &evicted->owner);
	destroy(evicted);
}

/* Makes the other pools, unless another thread is faster or there is no memory: then the first must do. */
static struct small_pool *more_pools(struct ext2mb *mb, struct directory *directory)
{
	struct small_pool *more = atomic_load_explicit(&directory->more, memory_order_acquire);

	if (more)
		return more;
	struct small_pool *made = aligned_alloc(_Alignof(struct small_pool), DIRECTORY_MORE_POOLS * sizeof(*made));
	if (!made)
		return NULL;
	memset(made, 0, DIRECTORY_MORE_POOLS * sizeof(*made));
	for (unsigned int index = 0; index < DIRECTORY_MORE_POOLS; index++)
		made[index].window_clusters = first_window(mb);
	if (atomic_compare_exchange_strong_explicit(&directory->more, &more, made, memory_order_acq_rel,
	                                            memory_order_acquire))
		return made;
	free(made);
	return more;
}

struct small_pool *directory_lock_pool(struct ext2mb_worker *worker, struct directory *directory)
{
	if (lock_try(&directory->pool.lock))
		return &directory->pool;

	struct small_pool *more = more_pools(worker->mb, directory);
	struct small_pool *pool = more ? &more[worker->number % DIRECTORY_MORE_POOLS] : &directory->pool;
	lock_wait(&pool->lock);
	return pool;
}

struct small_pool *directory_first_pool(struct directory *directory)
{
	return &directory->pool;
}
