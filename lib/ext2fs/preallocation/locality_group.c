// SPDX-License-Identifier: LGPL-2.1-or-later
#include "ext2fs/preallocation/locality_group.h"

#include "ext2fs/preallocation/give_back.h"
#include "ext2fs/preallocation/normalize_goal.h"
#include "ext2fs/preallocation/preallocation.h"
#include "ext2fs/preallocation/preallocation_options.h"

#define WINDOWS_SHARE 4u /* all preallocations together get at most one part in so many of the free space */
#define WINDOW_GROWTH 4u

struct giving_back {
	struct ext2mb *mb;
	struct stats *stats;
};

static void give_run_back(void *context, uint64_t position, uint32_t count)
{
	const struct giving_back *giving = context;

	preallocation_give_back(giving->mb, giving->stats, position, count);
}

static void trim(struct ext2mb *mb, struct stats *stats, struct locality_group *pool)
{
	if (pool->runs.count <= GROUP_PA_MOST)
		return;
	preallocation_move_begin(stats);
	group_pa_trim(&pool->runs, give_run_back, &(struct giving_back){ mb, stats });
	preallocation_move_end(stats);
}

static uint32_t next_window(const struct ext2mb_worker *worker, const struct locality_group *pool, uint32_t least)
{
	const struct normalize_hints *hints = &worker->preallocation->hints;
	uint64_t share = geometry_to_clusters(&worker->mb->geometry, hints->free_blocks) /
	                 (WINDOWS_SHARE * ((uint64_t)hints->open_windows + 1));
	uint64_t window = share < pool->window_clusters ? normalize_power_below(share | 1) : pool->window_clusters;

	return window > least ? (uint32_t)window : least;
}

/* In the group where the search would begin: a whole preallocation, or what is there. EXT2MB_ET_NO_SPACE. */
static errcode_t take_in_group(struct ext2mb_worker *worker, const struct scan_request *scan, struct group_pa *window)
{
	struct flex_search_request near = { .position = scan->goal, .count = scan->count, .least = scan->count,
	                                   .in_group = true };
	errcode_t error = preallocation_take_near(worker, &near, &window->position, &window->count);

	if (error != EXT2MB_ET_NO_SPACE || scan->count == scan->asked)
		return error;
	near.least = scan->asked;
	return preallocation_take_near(worker, &near, &window->position, &window->count);
}

/* The first run after the goal that has room for the request: what is short is used up, too. */
static errcode_t take_next(struct ext2mb_worker *worker, const struct scan_request *scan, struct group_pa *window)
{
	const struct flex_search_request near = {
		.position = scan->goal,
		.count = (uint32_t)scan->count,
		.least = (uint32_t)scan->asked,
	};

	return preallocation_take_near(worker, &near, &window->position, &window->count);
}

/* Preallocations follow one another where that is possible, and become as long as they may be by and by. */
static errcode_t make_window(struct ext2mb_worker *worker, struct locality_group *pool,
                             const struct small_request *request)
{
	struct scan_request scan = {
		.goal = pool->next ? pool->next : request->goal,
		.has_goal = true,
		.count = next_window(worker, pool, request->most),
		.asked = request->count,
	};
	struct group_pa window;
	errcode_t error = group_pa_reserve(&pool->runs);

	if (scan.goal >= worker->mb->geometry.clusters)
		scan.goal = 0;
	if (error)
		return error;
	error = EXT2MB_ET_NO_SPACE;
	if (request->is_in_order)
		error = take_next(worker, &scan, &window);
	else if (request->in_group)
		error = take_in_group(worker, &scan, &window);
	if (error == EXT2MB_ET_NO_SPACE)
		error = preallocation_take(worker, &scan, &window.position, &window.count);
	if (error)
		return error;
	pool->next = window.position + window.count;
	if (pool->window_clusters < worker->mb->prealloc->small_window) {
		pool->window_clusters *= WINDOW_GROWTH;
		if (pool->window_clusters > worker->mb->prealloc->small_window)
			pool->window_clusters = worker->mb->prealloc->small_window;
	}
	group_pa_add(&pool->runs, window, worker->mb->geometry.clusters_per_group);
	return 0;
}

errcode_t locality_group_take(struct ext2mb_worker *worker, struct locality_group *pool,
                              const struct small_request *request,
                          struct group_pa *taken)
{
	if (request->after && group_pa_take_at(&pool->runs, request->after, request->most, &taken->count)) {
		taken->position = request->after;
		return 0;
	}
	if (!group_pa_take(&pool->runs, request->count, request->most, request->goal, taken)) {
		errcode_t error = make_window(worker, pool, request);
		if (error)
			return error;
		if (!group_pa_take(&pool->runs, request->count, request->most, request->goal, taken) &&
		    !group_pa_take(&pool->runs, 1, request->most, request->goal, taken))
			return EXT2MB_ET_NO_SPACE;
	}
	trim(worker->mb, &worker->stats, pool);
	return 0;
}

void locality_group_return(struct ext2mb_worker *worker, struct locality_group *pool, const struct group_pa *run)
{
	lock_wait(&pool->lock);
	errcode_t error = group_pa_reserve(&pool->runs);
	if (error)
		preallocation_give_back(worker->mb, &worker->stats, run->position, run->count);
	else
		group_pa_add(&pool->runs, *run, worker->mb->geometry.clusters_per_group);
	trim(worker->mb, &worker->stats, pool);
	lock_release(&pool->lock);
}

static bool overlaps(const struct group_pas *runs, const struct cluster_range *range)
{
	for (uint32_t index = 0; index < runs->count; index++)
		if (cluster_range_overlaps(range, runs->runs[index].position, runs->runs[index].count))
			return true;
	return false;
}

uint64_t locality_group_give_back(struct locality_group *pool, struct ext2mb *mb, struct stats *stats,
                            const struct cluster_range *range)
{
	uint64_t clusters = 0;

	lock_wait(&pool->lock);
	if (range && !overlaps(&pool->runs, range)) {
		lock_release(&pool->lock);
		return 0;
	}
	if (pool->runs.count) {
		preallocation_move_begin(stats);
		for (uint32_t index = 0; index < pool->runs.count; index++) {
			preallocation_give_back(mb, stats, pool->runs.runs[index].position,
			                        pool->runs.runs[index].count);
			clusters += pool->runs.runs[index].count;
		}
		pool->runs.count = 0;
		preallocation_move_end(stats);
	}
	group_pa_destroy(&pool->runs);
	lock_release(&pool->lock);
	return clusters;
}

void locality_group_visit(const struct locality_group *pool, preallocation_visit visit, void *context)
{
	for (uint32_t index = 0; index < pool->runs.count; index++)
		visit(context, pool->runs.runs[index].position, pool->runs.runs[index].count);
}
