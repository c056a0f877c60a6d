// SPDX-License-Identifier: LGPL-2.1-or-later
#include "ext2fs/preallocation/small_pool.h"

#include <stddef.h>

#include "ext2fs/preallocation/normalize.h"
#include "ext2fs/search/reserve.h"

#define WINDOWS_SHARE 4u /* all windows together get at most one part in so many of the free space */
#define WINDOW_GROWTH 4u

struct giving_back {
	struct ext2mb *mb;
	struct stats *stats;
};

static void give_back(void *context, uint64_t position, uint32_t count)
{
	const struct giving_back *giving = context;

	reserve_give_back(giving->mb, giving->stats, position, count);
}

static void trim(struct ext2mb *mb, struct stats *stats, struct small_pool *pool)
{
	if (pool->runs.count <= SMALL_RUNS_MOST)
		return;
	reserve_move_begin(stats);
	small_runs_trim(&pool->runs, give_back, &(struct giving_back){ mb, stats });
	reserve_move_end(stats);
}

static uint32_t next_window(const struct ext2mb_worker *worker, const struct small_pool *pool, uint32_t least)
{
	const struct normalize_hints *hints = &worker->hints;
	uint64_t share = (hints->free_blocks >> worker->mb->geometry.cluster_bits) /
	                 (WINDOWS_SHARE * ((uint64_t)hints->open_windows + 1));
	uint64_t window = share < pool->window_clusters ? normalize_power_below(share | 1) : pool->window_clusters;

	return window > least ? (uint32_t)window : least;
}

/* In the group where the search would begin: a whole window, or what is there. EXT2MB_ET_NO_SPACE. */
static errcode_t take_in_group(struct ext2mb_worker *worker, const struct scan_request *scan, struct small_run *window)
{
	struct near_request near = { .position = scan->goal, .count = scan->count, .least = scan->count, .in_group = true };
	errcode_t error = reserve_take_near(worker, &near, &window->position, &window->count);

	if (error != EXT2MB_ET_NO_SPACE || scan->count == scan->asked)
		return error;
	near.least = scan->asked;
	return reserve_take_near(worker, &near, &window->position, &window->count);
}

/* The first run behind the goal that has room for the request: what is short is used up, too. */
static errcode_t take_next(struct ext2mb_worker *worker, const struct scan_request *scan, struct small_run *window)
{
	const struct near_request near = {
		.position = scan->goal,
		.count = (uint32_t)scan->count,
		.least = (uint32_t)scan->asked,
	};

	return reserve_take_near(worker, &near, &window->position, &window->count);
}

/* Windows follow one another where that is possible, and become as long as they may be by and by. */
static errcode_t make_window(struct ext2mb_worker *worker, struct small_pool *pool, const struct small_request *request)
{
	struct scan_request scan = {
		.goal = pool->next ? pool->next : request->goal,
		.has_goal = true,
		.count = next_window(worker, pool, request->most),
		.asked = request->count,
	};
	struct small_run window;
	errcode_t error = small_runs_reserve(&pool->runs);

	if (scan.goal >= worker->mb->geometry.clusters)
		scan.goal = 0;
	if (error)
		return error;
	error = EXT2MB_ET_NO_SPACE;
	if (pool == &worker->pool && worker_goes_in_order(worker))
		error = take_next(worker, &scan, &window);
	else if (request->in_group)
		error = take_in_group(worker, &scan, &window);
	if (error == EXT2MB_ET_NO_SPACE)
		error = reserve_take(worker, &scan, &window.position, &window.count);
	if (error)
		return error;
	pool->next = window.position + window.count;
	if (pool->window_clusters < worker->mb->prealloc.small_window) {
		pool->window_clusters *= WINDOW_GROWTH;
		if (pool->window_clusters > worker->mb->prealloc.small_window)
			pool->window_clusters = worker->mb->prealloc.small_window;
	}
	small_runs_add(&pool->runs, window, worker->mb->geometry.clusters_per_group);
	return 0;
}

errcode_t small_pool_take(struct ext2mb_worker *worker, struct small_pool *pool, const struct small_request *request,
                          struct small_run *taken)
{
	if (request->behind && small_runs_take_at(&pool->runs, request->behind, request->most, &taken->count)) {
		taken->position = request->behind;
		return 0;
	}
	if (!small_runs_take(&pool->runs, request->count, request->most, request->goal, taken)) {
		errcode_t error = make_window(worker, pool, request);
		if (error)
			return error;
		if (!small_runs_take(&pool->runs, request->count, request->most, request->goal, taken) &&
		    !small_runs_take(&pool->runs, 1, request->most, request->goal, taken))
			return EXT2MB_ET_NO_SPACE;
	}
	trim(worker->mb, &worker->stats, pool);
	return 0;
}

void small_pool_return(struct ext2mb_worker *worker, struct small_pool *pool, const struct small_run *run)
{
	lock_wait(&pool->lock);
	errcode_t error = small_runs_reserve(&pool->runs);
	if (error)
		reserve_give_back(worker->mb, &worker->stats, run->position, run->count);
	else
		small_runs_add(&pool->runs, *run, worker->mb->geometry.clusters_per_group);
	trim(worker->mb, &worker->stats, pool);
	lock_release(&pool->lock);
}

static bool overlaps(const struct small_runs *runs, const struct window_range *range)
{
	for (uint32_t index = 0; index < runs->count; index++)
		if (window_overlaps(range, runs->runs[index].position, runs->runs[index].count))
			return true;
	return false;
}

uint64_t small_pool_discard(struct small_pool *pool, struct ext2mb *mb, struct stats *stats,
                            const struct window_range *range)
{
	uint64_t clusters = 0;

	lock_wait(&pool->lock);
	if (range && !overlaps(&pool->runs, range)) {
		lock_release(&pool->lock);
		return 0;
	}
	if (pool->runs.count) {
		reserve_move_begin(stats);
		for (uint32_t index = 0; index < pool->runs.count; index++) {
			reserve_give_back(mb, stats, pool->runs.runs[index].position, pool->runs.runs[index].count);
			clusters += pool->runs.runs[index].count;
		}
		pool->runs.count = 0;
		reserve_move_end(stats);
	}
	small_runs_destroy(&pool->runs);
	lock_release(&pool->lock);
	return clusters;
}

void small_pool_visit(const struct small_pool *pool, window_visit visit, void *context)
{
	for (uint32_t index = 0; index < pool->runs.count; index++)
		visit(context, pool->runs.runs[index].position, pool->runs.runs[index].count);
}

static struct ext2mb_worker *worker_of(const struct window_owner *owner)
{
	return (struct ext2mb_worker *)((char *)owner - offsetof(struct ext2mb_worker, owner));
}

static uint64_t discard(struct window_owner *owner, struct ext2mb *mb, struct stats *stats,
                        const struct window_range *range)
{
	return small_pool_discard(&worker_of(owner)->pool, mb, stats, range);
}

static void visit_all(const struct window_owner *owner, window_visit visit, void *context)
{
	small_pool_visit(&worker_of(owner)->pool, visit, context);
}

const struct window_owner_kind small_pool_owner_kind = { discard, visit_all, NULL };
