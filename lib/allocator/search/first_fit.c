/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "allocator/search/first_fit.h"

#include "allocator/group/group.h"

/* The first run of at least `least` clusters in [from, end) of a locked group, at most `most` of it. */
static bool find_in_group(const struct buddy *buddy, uint32_t from, uint32_t end, uint32_t least, uint64_t most,
                          struct group_piece *run)
{
	for (uint32_t start = buddy_next_free(buddy, from, end); start < end;
	     start = buddy_next_free(buddy, from, end)) {
		from = buddy_next_used(buddy, start, most < end - start ? start + (uint32_t)most : end);
		if (from - start >= least) {
			run->start = start;
			run->count = from - start;
			return true;
		}
	}
	return false;
}

/* Finds the first run of at least `least` in [goal, limit), at most `most` of it, and leaves its group locked. */
static errcode_t enter_first_run(struct ext2mb *mb, uint64_t goal, uint64_t limit, uint32_t least, uint64_t most,
                                 struct group_piece *run)
{
	uint32_t per_group = mb->geometry.clusters_per_group;

	if (limit > mb->geometry.clusters)
		limit = mb->geometry.clusters;
	while (goal < limit) {
		uint32_t number = (uint32_t)(goal / per_group);
		uint64_t base = (uint64_t)number * per_group;
		uint32_t from = (uint32_t)(goal - base);
		uint32_t end = geometry_group_clusters(&mb->geometry, number);

		goal = base + per_group;
		if (limit - base < end)
			end = (uint32_t)(limit - base);
		/* A summary of too little free was true when it was published, and only a commit can change that. */
		if (group_free_clusters(&mb->groups[number]) < least)
			continue;

		errcode_t error = group_enter(mb, number);
		if (error == EXT2MB_ET_CORRUPT_GROUP)
			continue;
		if (error)
			return error;
		run->group = number;
		if (find_in_group(mb->groups[number].buddy, from, end, least, most, run))
			return 0;
		group_leave(mb, number);
	}
	return EXT2MB_ET_NO_SPACE;
}

errcode_t first_fit_alloc(struct ext2mb_worker *worker, const struct scan_request *request, uint64_t *start,
                          uint32_t *taken)
{
	struct ext2mb *mb = worker->mb;
	struct group_piece run;
	errcode_t error = enter_first_run(mb, request->goal, request->limit, request->least ? request->least : 1,
	                                  request->count, &run);

	if (error)
		return error;
	group_alloc(mb, run.group, run.start, run.count);
	group_leave_changed(mb, run.group);
	*start = (uint64_t)run.group * mb->geometry.clusters_per_group + run.start;
	*taken = run.count;
	stats_add(&worker->stats, COUNT_PACKED, 1);
	return 0;
}

errcode_t first_fit_find(struct ext2mb *mb, uint64_t goal, uint64_t limit, uint64_t *start, uint32_t *count)
{
	struct group_piece run;
	errcode_t error = enter_first_run(mb, goal, limit, 1, UINT64_MAX, &run);

	if (error)
		return error;
	group_leave(mb, run.group);
	*start = (uint64_t)run.group * mb->geometry.clusters_per_group + run.start;
	*count = run.count;
	return 0;
}
