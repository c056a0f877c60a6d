/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "allocator/preallocation/locality_group.h"

#include "allocator/core/arithmetic.h"
#include "allocator/preallocation/preallocation.h"

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
	if (pool->owner.list.count <= GROUP_PA_MOST)
		return;
	preallocation_move_begin(&worker->stats);
	group_pa_trim(&pool->owner.list, give_run_back, &(struct giving_back){ worker->mb, &worker->stats });
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
static errcode_t alloc_in_group(struct ext2mb_worker *worker, const struct scan_request *scan,
                                struct preallocation *found)
{
	struct flex_search_request near = {
		.position = scan->goal, .count = (uint32_t)scan->count, .least = (uint32_t)scan->count, .in_group = true
	};
	errcode_t error = flex_search_alloc(worker, &near, &found->position, &found->count);

	if (error != EXT2MB_ET_NO_SPACE || scan->count == scan->asked)
		return error;
	near.least = (uint32_t)scan->asked;
	near.goes_on = false;
	return flex_search_alloc(worker, &near, &found->position, &found->count);
}

/*
 * The first run after the goal that has room for the request, so that short runs are used up, too. Files whose ends are
 * not known do not get these as long as there are whole preallocations.
 */
static errcode_t alloc_next(struct ext2mb_worker *worker, const struct scan_request *scan, bool is_open,
                            struct preallocation *found)
{
	struct flex_search_request near = {
		.position = scan->goal,
		.count = (uint32_t)scan->count,
		.least = (uint32_t)(is_open ? scan->count : scan->asked),
		.goes_on = is_open,
	};
	errcode_t error = flex_search_alloc(worker, &near, &found->position, &found->count);

	if (error != EXT2MB_ET_NO_SPACE || !is_open)
		return error;
	near.least = (uint32_t)scan->asked;
	return flex_search_alloc(worker, &near, &found->position, &found->count);
}

/*
 * If many directories are written to and fro, each would leave the rest of its last preallocation as a hole. So
 * after the first one a directory gets what its files need, from the group's first run that is long enough. As long as
 * most groups are nearly free, the first ones lie side by side from the group's start on.
 */
static errcode_t alloc_scattered(struct ext2mb_worker *worker, const struct locality_group *pool,
                                 const struct small_request *request, uint32_t asked, struct preallocation *found)
{
	uint32_t count = pool->next ? request->most : next_clusters(worker, pool, request->most);
	const struct flex_search_request near = {
		.position = request->goal - request->goal % worker->mb->geometry.clusters_per_group,
		.count = count,
		.least = pool->next ? asked : count,
		.in_group = true,
	};

	if (!pool->next && !worker->preallocation->is_roomy)
		return EXT2MB_ET_NO_SPACE;
	return flex_search_alloc(worker, &near, &found->position, &found->count);
}

/* Preallocations follow one another where possible, and become longer step by step up to their limit. */
static errcode_t alloc_run(struct ext2mb_worker *worker, struct locality_group *pool,
                           const struct small_request *request, uint32_t asked, struct preallocation *found)
{
	const struct ext2mb *mb = worker->mb;
	struct scan_request scan = {
		.goal = pool->next ? pool->next : request->goal,
		.has_goal = true,
		.count = next_clusters(worker, pool, request->most),
		.asked = asked,
	};
	errcode_t error = EXT2MB_ET_NO_SPACE;

	if (scan.goal >= mb->geometry.clusters)
		scan.goal = 0;
	if (request->is_in_order)
		error = alloc_next(worker, &scan, request->is_open, found);
	else if (request->in_group)
		error = alloc_in_group(worker, &scan, found);
	if (error == EXT2MB_ET_NO_SPACE)
		error = preallocation_alloc(worker, &scan, found);
	if (error)
		return error;
	pool->next = found->position + found->count;
	if (pool->next_clusters < mb->prealloc->group_clusters)
		pool->next_clusters = (uint32_t)min_u64(pool->next_clusters * GROWTH, mb->prealloc->group_clusters);
	return 0;
}

static errcode_t preallocate(struct ext2mb_worker *worker, struct locality_group *pool,
                             const struct small_request *request, uint32_t asked)
{
	struct preallocation found;
	errcode_t error = preallocation_list_reserve(&pool->owner.list, 1);

	if (error)
		return error;
	error = EXT2MB_ET_NO_SPACE;
	if (request->is_scattered)
		error = alloc_scattered(worker, pool, request, asked, &found);
	if (!error && !pool->next)
		pool->next = found.position + found.count;
	if (error == EXT2MB_ET_NO_SPACE)
		error = alloc_run(worker, pool, request, asked, &found);
	if (error)
		return error;
	group_pa_add(&pool->owner.list, found, worker->mb->geometry.clusters_per_group);
	return 0;
}

/* The blocks that follow the file, if no preallocation has them: another preallocation ended there. */
static errcode_t alloc_after(struct ext2mb_worker *worker, const struct small_request *request,
                             struct preallocation *taken)
{
	const struct scan_request scan = {
		.goal = request->after,
		.has_goal = true,
		.count = request->most,
		.flags = EXT2MB_ALLOC_GOAL_ONLY,
		.reserves = true,
	};

	if (!(request->room || request->is_scattered) || !request->after ||
	    request->after >= worker->mb->geometry.clusters)
		return EXT2MB_ET_NO_SPACE;
	return scan_alloc(worker, &scan, &taken->position, &taken->count);
}

/* Decides by the worker's hints, since a search for something that does not exist goes through all groups. */
static bool may_be_free(const struct ext2mb_worker *worker, uint32_t clusters)
{
	int largest = worker->preallocation->hints.largest_order;

	return largest >= 0 && clusters <= UINT64_C(1) << largest;
}

/*
 * Allocates from a preallocation that has at least this many blocks left, perhaps a new one. NO_SPACE: there is none; a
 * new one that is shorter is kept.
 */
static errcode_t alloc_room(struct ext2mb_worker *worker, struct locality_group *pool,
                            const struct small_request *request, uint32_t least, struct preallocation *taken)
{
	struct preallocation_list *list = &pool->owner.list;

	if (group_pa_alloc(list, least, request->most, request->goal, taken))
		return 0;
	if (least > request->count && !may_be_free(worker, least))
		return EXT2MB_ET_NO_SPACE;
	errcode_t error = preallocate(worker, pool, request, least);
	if (error)
		return error;
	return group_pa_alloc(list, least, request->most, request->goal, taken) ? 0 : EXT2MB_ET_NO_SPACE;
}

/*
 * A file should begin where there is room for all that it may become: when files began in the rest of a closed one,
 * every sixth of Perl's files had two extents.
 */
errcode_t locality_group_alloc(struct ext2mb_worker *worker, struct locality_group *pool,
                               const struct small_request *request, struct preallocation *taken)
{
	struct preallocation_list *list = &pool->owner.list;

	if (request->after && group_pa_alloc_at(list, request->after, request->most, taken))
		return 0;
	errcode_t error = alloc_after(worker, request, taken);
	if (error == EXT2MB_ET_NO_SPACE && request->room > request->most)
		error = alloc_room(worker, pool, request, request->room, taken);
	if (error == EXT2MB_ET_NO_SPACE && request->room && request->most > request->count)
		error = alloc_room(worker, pool, request, request->most, taken);
	if (error == EXT2MB_ET_NO_SPACE)
		error = alloc_room(worker, pool, request, request->count, taken);
	if (error == EXT2MB_ET_NO_SPACE && group_pa_alloc(list, 1, request->most, request->goal, taken))
		error = 0;
	if (!error)
		locality_group_trim(worker, pool);
	return error;
}

void locality_group_return(struct ext2mb_worker *worker, struct locality_group *pool, const struct preallocation *run)
{
	lock_wait(&pool->owner.lock);
	if (pool->is_closed || preallocation_list_reserve(&pool->owner.list, 1)) {
		preallocation_give_back(worker->mb, &worker->stats, run->position, run->count);
	} else {
		group_pa_add(&pool->owner.list, *run, worker->mb->geometry.clusters_per_group);
		locality_group_trim(worker, pool);
	}
	lock_release(&pool->owner.lock);
}
