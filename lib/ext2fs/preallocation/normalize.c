// SPDX-License-Identifier: LGPL-2.1-or-later
#include "ext2fs/preallocation/normalize.h"

#include <assert.h>

struct normalize_goal normalize_clip(const struct normalize_request *request, uint64_t start, uint64_t end)
{
	uint64_t cluster = normalize_cluster_blocks(request);

	start = normalize_most(normalize_round_down(start, cluster), request->hole_start);
	end = normalize_least(normalize_round_up(end, cluster),
	                      normalize_least(request->hole_end, normalize_round_down(NORMALIZE_END, cluster)));
	return (struct normalize_goal){
		.start = start,
		.count = normalize_least(end - start, normalize_group_blocks(request)),
	};
}

void normalize_adjoin(const struct normalize_request *request, struct normalize_goal *goal)
{
	const struct geometry *geometry = request->geometry;
	uint64_t left = request->left_physical, right = request->right_physical;

	if (left && goal->start == request->hole_start && left < geometry->end_block) {
		goal->physical = left;
		goal->try_count = goal->count;
	} else if (right && goal->start + goal->count == request->hole_end &&
	           right >= goal->count + geometry->first_block) {
		goal->physical = right - goal->count;
		goal->try_count = goal->physical ? goal->count : 0;
	}
	goal->try_least = goal->try_count;
}

struct normalize_goal normalize_untouched(const struct normalize_request *request, uint64_t limit)
{
	uint64_t cluster = normalize_cluster_blocks(request);

	limit = normalize_most(normalize_round_down(limit, cluster), cluster);
	return normalize_clip(request, request->start, request->start + normalize_least(request->count, limit));
}

struct normalize_goal normalize(enum normalize_policy policy, const struct normalize_request *request)
{
	static struct normalize_goal (*const policies[NORMALIZE_POLICIES])(const struct normalize_request *) = {
		[NORMALIZE_TABLE] = normalize_table,
		[NORMALIZE_POW2] = normalize_pow2,
		[NORMALIZE_EXT2MB] = normalize_ext2mb,
	};

	assert(request->count && request->start >= request->hole_start);
	assert(request->hole_end <= NORMALIZE_END && normalize_request_end(request) <= request->hole_end);
	struct normalize_goal goal = policies[policy](request);
	assert(goal.start <= request->start && request->start < goal.start + goal.count);
	assert(goal.start >= request->hole_start && goal.start + goal.count <= request->hole_end);
	return goal;
}
