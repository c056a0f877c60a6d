/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "compare/kernel_policy.h"

#include "allocator/preallocation/preallocation.h"

/* Searches from the goal's group on, without trying the goal itself. */
static errcode_t search_from(struct ext2mb_worker *worker, const struct small_request *request, uint64_t goal,
                             uint32_t clusters, struct preallocation *found)
{
	const struct scan_request scan = {
		.goal = goal,
		.has_goal = true,
		.count = clusters,
		.asked = request->count,
		.falls_back = true,
	};

	return preallocation_alloc(worker, &scan, found);
}

static uint64_t distance(uint64_t one, uint64_t other)
{
	return one < other ? other - one : one - other;
}

/* From the preallocation that is nearest to the goal, however long it is. */
static bool alloc_nearest(struct preallocation_list *list, uint32_t count, uint64_t goal, struct preallocation *taken)
{
	const struct preallocation *best = NULL;

	for (const struct preallocation *run = list->items; run < list->items + list->count; run++)
		if (run->count >= count && (!best || distance(run->position, goal) < distance(best->position, goal)))
			best = run;
	return best && group_pa_alloc_at(list, best->position, count, taken);
}

errcode_t kernel_small_file_alloc(struct ext2mb_worker *worker, struct locality_group *pool,
                                  const struct small_request *request, struct preallocation *taken)
{
	const struct ext2mb *mb = worker->mb;
	struct preallocation_list *list = &pool->owner.list;
	uint64_t goal = request->left && request->left < mb->geometry.clusters ? request->left : request->goal;

	if (alloc_nearest(list, request->count, goal, taken))
		return 0;
	errcode_t error = preallocation_list_reserve(list, 1);
	if (!error)
		error = search_from(worker, request, goal,
		                    request->is_exact ? request->count : mb->prealloc->group_clusters, taken);
	if (error || taken->count <= request->count)
		return error;
	/* Adjacent preallocations are not merged, as if each began a group: the rest of one serves requests that are
	 * as short. */
	group_pa_add(list,
	             (struct preallocation){ .position = taken->position + request->count,
	                                     .count = taken->count - request->count },
	             1);
	taken->count = request->count;
	locality_group_trim(worker, pool);
	return 0;
}
