// SPDX-License-Identifier: LGPL-2.1-or-later
#include "ext2fs/preallocation/normalize_goal.h"

struct normalize_goal normalize_clip(const struct normalize_request *request, uint64_t start, uint64_t end)
{
	uint64_t cluster = normalize_cluster_blocks(request);

	start = max_u64(normalize_round_down(start, cluster), request->hole_start);
	end = min_u64(normalize_round_up(end, cluster),
	                      min_u64(request->hole_end, normalize_round_down(NORMALIZE_END, cluster)));
	return (struct normalize_goal){
		.start = start,
		.count = min_u64(end - start, normalize_group_blocks(request)),
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

	limit = max_u64(normalize_round_down(limit, cluster), cluster);
	return normalize_clip(request, request->start, request->start + min_u64(request->count, limit));
}
