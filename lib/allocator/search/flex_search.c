/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "allocator/search/flex_search.h"

#include "allocator/group/group.h"
#include "allocator/group/group_reserved.h"

#define ONWARD_GROUPS 16u

/* From `from` on; the group is locked. */
static bool alloc_run(struct ext2mb *mb, uint32_t number, uint32_t from, const struct flex_search_request *request,
                      uint32_t *start, uint32_t *taken)
{
	const struct buddy *buddy = mb->groups[number].buddy;
	uint32_t end;

	*start = buddy_next_run(buddy, from, request->least, &end);
	if (*start == buddy->clusters) {
		if (!from)
			group_note_longest(mb, number, end);
		return false;
	}
	*taken = end - *start < request->count ? end - *start : request->count;
	group_alloc(mb, number, *start, *taken);
	group_reserved_set(mb, number, *start, *taken);
	return true;
}

static bool alloc_in_group(struct ext2mb *mb, uint32_t number, uint32_t from, const struct flex_search_request *request,
                           uint64_t *position, uint32_t *taken)
{
	struct group *group = &mb->groups[number];
	uint32_t start;

	if (group_free_clusters(group) < request->least || group_longest(group) < request->least)
		return false;
	if (request->in_group)
		group_lock(group);
	else if (!group_try_lock(group))
		return false;
	if (group_load(mb, number) || group_reserved_prepare(mb, number) ||
	    !alloc_run(mb, number, from, request, &start, taken)) {
		group_leave(mb, number);
		return false;
	}
	group_leave_changed(mb, number);
	*position = (uint64_t)number * mb->geometry.clusters_per_group + start;
	return true;
}

errcode_t flex_search_alloc(struct ext2mb_worker *worker, const struct flex_search_request *request, uint64_t *position,
                            uint32_t *taken)
{
	struct ext2mb *mb = worker->mb;
	uint32_t here = (uint32_t)(request->position / mb->geometry.clusters_per_group);
	uint32_t groups = request->in_group ? 1 : mb->geometry.flex_groups;
	uint32_t first = here - here % groups;
	uint32_t end = mb->geometry.groups - first < groups ? mb->geometry.groups : first + groups;
	uint32_t from = (uint32_t)(request->position % mb->geometry.clusters_per_group);

	if (request->goes_on) {
		first = here;
		end = mb->geometry.groups - here < ONWARD_GROUPS ? mb->geometry.groups : here + ONWARD_GROUPS;
	}
	if (here >= mb->geometry.groups)
		return EXT2MB_ET_NO_SPACE;
	bool found = false;
	for (uint32_t number = here; number < end && !found; number++, from = 0)
		found = alloc_in_group(mb, number, from, request, position, taken);
	for (uint32_t number = first; !request->goes_on && number <= here && number < end && !found; number++)
		found = alloc_in_group(mb, number, 0, request, position, taken);
	if (!found)
		return EXT2MB_ET_NO_SPACE;
	stats_count_taken(&worker->stats, *taken, true);
	return 0;
}
