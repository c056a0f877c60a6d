/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "allocator/preallocation/directory_locality.h"

#include <errno.h>
#include <string.h>

#include "allocator/core/allocator.h"
#include "allocator/core/arithmetic.h"
#include "allocator/preallocation/preallocation.h"

void directory_localities_init(struct directory_localities *table)
{
	for (unsigned int index = 0; index < DIRECTORY_LOCALITY_SHARDS; index++)
		pthread_mutex_init(&table->shards[index].lock, NULL);
}

static errcode_t create(struct ext2mb *mb, ext2_ino_t ino, struct directory **ret)
{
	struct directory *directory = aligned_alloc(_Alignof(struct directory), sizeof(*directory));

	if (!directory)
		return ENOMEM;
	memset(directory, 0, sizeof(*directory));
	directory->ino = ino;
	for (unsigned int index = 0; index < DIRECTORY_LOCALITY_POOLS; index++) {
		struct locality_group *pool = &directory->pools[index];

		pool->next_clusters =
			(uint32_t)min_u64(mb->prealloc->group_clusters, DIRECTORY_LOCALITY_FIRST_CLUSTERS);
		preallocation_register_add(mb->preallocations, &pool->owner, ino);
	}
	*ret = directory;
	return 0;
}

static void destroy(struct ext2mb *mb, struct directory *directory)
{
	for (unsigned int index = 0; index < DIRECTORY_LOCALITY_POOLS; index++) {
		preallocation_register_remove(mb->preallocations, &directory->pools[index].owner);
		preallocation_list_destroy(&directory->pools[index].owner.list);
	}
	free(directory);
}

void directory_localities_destroy(struct ext2mb *mb)
{
	for (unsigned int index = 0; index < DIRECTORY_LOCALITY_SHARDS; index++) {
		struct directory_shard *shard = &mb->localities->shards[index];

		while (shard->first) {
			struct directory *directory = shard->first;

			shard->first = directory->next;
			destroy(mb, directory);
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

/* The directory that was used the longest time ago, among those that are not in use. */
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
	for (unsigned int index = 0; index < DIRECTORY_LOCALITY_POOLS; index++)
		preallocation_owner_give_back(&evicted->pools[index].owner, mb, &worker->stats, NULL);
	destroy(mb, evicted);
}

void directory_locality_note_begun(struct ext2mb_worker *worker, ext2_ino_t ino)
{
	struct worker_preallocation *own = worker->preallocation;

	own->begun[own->begun_next++ % BEGUN_DIRECTORIES] = ino;
	if (own->begun_count < BEGUN_DIRECTORIES)
		own->begun_count++;
}

/* Moves all preallocations of the pool to the worker's own locality group. */
static void take_over(struct ext2mb_worker *worker, struct locality_group *pool)
{
	struct preallocation_list *list = &pool->owner.list;
	bool has_more = true;

	preallocation_move_begin(&worker->stats);
	while (has_more) {
		struct preallocation run;

		lock_wait(&pool->owner.lock);
		has_more = list->count;
		if (has_more)
			run = list->items[--list->count];
		lock_release(&pool->owner.lock);
		if (has_more)
			locality_group_return(worker, &worker->preallocation->pool, &run);
	}
	preallocation_move_end(&worker->stats);
}

static bool has_little(struct locality_group *pool)
{
	lock_wait(&pool->owner.lock);
	bool little = pool->owner.list.count < GROUP_PA_KEPT;
	lock_release(&pool->owner.lock);
	return little;
}

void directory_locality_take_over(struct ext2mb_worker *worker)
{
	struct worker_preallocation *own = worker->preallocation;

	if (!own->begun_count || !own->is_roomy || !has_little(&own->pool))
		return;
	own->begun_count--;
	ext2_ino_t ino = own->begun[--own->begun_next % BEGUN_DIRECTORIES];
	struct directory_shard *shard = shard_of(worker->mb, ino);

	pthread_mutex_lock(&shard->lock);
	struct directory *directory = unlink_directory(shard, ino);
	if (directory) {
		shard->idle -= !directory->users++;
		link_first(shard, directory);
	}
	pthread_mutex_unlock(&shard->lock);
	if (!directory)
		return;
	for (unsigned int index = 0; index < DIRECTORY_LOCALITY_POOLS; index++)
		take_over(worker, &directory->pools[index]);
	directory_locality_leave(worker, directory);
}

struct locality_group *directory_locality_lock(const struct ext2mb_worker *worker, struct directory *directory)
{
	struct locality_group *pool = &directory->pools[0];

	if (!lock_try(&pool->owner.lock)) {
		pool = &directory->pools[1 + worker->number % (DIRECTORY_LOCALITY_POOLS - 1)];
		lock_wait(&pool->owner.lock);
	}
	return pool;
}
