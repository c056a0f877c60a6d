// SPDX-License-Identifier: LGPL-2.1-or-later
#include "ext2fs/preallocation/locality_group.h"

#include "ext2fs/core/arithmetic.h"
#include "ext2fs/preallocation/preallocation.h"

#define SHARE 4u /* all preallocations together get at most one part in so many of the free space */
#define GROWTH 4u

struct giving_back {
	struct ext2mb *mb;
	struct stats *stats;
};

static void give_run_back(void *context, uint64_t position, uint32_t count)
{
	const struct giving_back *giving = context;

	preallocation_give_back(giving->mb, giving->stats, position, count);
}

void locality_group_trim(struct ext2mb_worker *worker, struct locality_group *pool)
{
	if (pool->own.list.count <= GROUP_PA_MOST)
		return;
	preallocation_move_begin(&worker->stats);
	group_pa_trim(&pool->own.list, give_run_back, &(struct giving_back){ worker->mb, &worker->stats });
	preallocation_move_end(&worker->stats);
}

static uint32_t next_clusters(const struct ext2mb_worker *worker, const struct locality_group *pool, uint32_t least)
{
	const struct normalize_hints *hints = &worker->preallocation->hints;
	uint64_t share = geometry_to_clusters(&worker->mb->geometry, hints->free_blocks) /
	                 (SHARE * ((uint64_t)hints->open_preallocations + 1));
	uint64_t clusters = share < pool->next_clusters ? power_below(share | 1) : pool->next_clusters;

	return (uint32_t)max_u64(clusters, least);
}

/* In the group where the search would begin: a whole preallocation, or what is there. EXT2MB_ET_NO_SPACE. */
static errcode_t take_in_group(struct ext2mb_worker *worker, const struct scan_request *scan,
                               struct preallocation *found)
{
	struct flex_search_request near = { .position = scan->goal, .count = (uint32_t)scan->count,
		                            .least = (uint32_t)scan->count, .in_group = true };
	errcode_t error = flex_search_take(worker, &near, &found->position, &found->count);

	if (error != EXT2MB_ET_NO_SPACE || scan->count == scan->asked)
		return error;
	near.least = (uint32_t)scan->asked;
	return flex_search_take(worker, &near, &found->position, &found->count);
}

/* The first run after the goal that has room for the request: what is short is used up, too. */
static errcode_t take_next(struct ext2mb_worker *worker, const struct scan_request *scan, struct preallocation *found)
{
	const struct flex_search_request near = {
		.position = scan->goal,
		.count = (uint32_t)scan->count,
		.least = (uint32_t)scan->asked,
	};

	return flex_search_take(worker, &near, &found->position, &found->count);
}

/* Preallocations follow one another where that is possible, and become as long as they may be by and by. */
static errcode_t preallocate(struct ext2mb_worker *worker, struct locality_group *pool,
                             const struct small_request *request)
{
	const struct ext2mb *mb = worker->mb;
	struct scan_request scan = {
		.goal = pool->next ? pool->next : request->goal,
		.has_goal = true,
		.count = next_clusters(worker, pool, request->most),
		.asked = request->count,
	};
	struct preallocation found;
	errcode_t error = preallocation_list_reserve(&pool->own.list, 1);

	if (scan.goal >= mb->geometry.clusters)
		scan.goal = 0;
	if (error)
		return error;
	error = EXT2MB_ET_NO_SPACE;
	if (request->is_in_order)
		error = take_next(worker, &scan, &found);
	else if (request->in_group)
		error = take_in_group(worker, &scan, &found);
	if (error == EXT2MB_ET_NO_SPACE)
		error = preallocation_take(worker, &scan, &found);
	if (error)
		return error;
	pool->next = found.position + found.count;
	if (pool->next_clusters < mb->prealloc->group_clusters)
		pool->next_clusters = (uint32_t)min_u64(pool->next_clusters * GROWTH, mb->prealloc->group_clusters);
	group_pa_add(&pool->own.list, found, mb->geometry.clusters_per_group);
	return 0;
}

errcode_t locality_group_take(struct ext2mb_worker *worker, struct locality_group *pool,
                              const struct small_request *request, struct preallocation *taken)
{
	struct preallocation_list *list = &pool->own.list;

	if (request->after && group_pa_take_at(list, request->after, request->most, taken))
		return 0;
	if (!group_pa_take(list, request->count, request->most, request->goal, taken)) {
		errcode_t error = preallocate(worker, pool, request);
		if (error)
			return error;
		if (!group_pa_take(list, request->count, request->most, request->goal, taken) &&
		    !group_pa_take(list, 1, request->most, request->goal, taken))
			return EXT2MB_ET_NO_SPACE;
	}
	locality_group_trim(worker, pool);
	return 0;
}

void locality_group_return(struct ext2mb_worker *worker, struct locality_group *pool, const struct preallocation *run)
{
	lock_wait(&pool->own.lock);
	errcode_t error = preallocation_list_reserve(&pool->own.list, 1);
	if (error)
		preallocation_give_back(worker->mb, &worker->stats, run->position, run->count);
	else
		group_pa_add(&pool->own.list, *run, worker->mb->geometry.clusters_per_group);
	locality_group_trim(worker, pool);
	lock_release(&pool->own.lock);
}
