/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "compare/kernel_policy.h"

#include "allocator/group/group.h"

/* A maximal run of free clusters, as a sequence of buddies. */
struct free_run {
	uint32_t start;
	uint32_t end;
	unsigned int top_order;
};

/* The end of the free buddy that has the cluster: the largest that is aligned and within the run. */
static uint32_t buddy_end(const struct free_run *run, uint32_t cluster)
{
	unsigned int order = 0;

	for (unsigned int next = 1; next <= run->top_order; next++) {
		uint32_t start = cluster >> next << next;

		if (start < run->start || start + (1u << next) > run->end)
			break;
		order = next;
	}
	return ((cluster >> order) + 1) << order;
}

/* Extends from start, buddy by buddy, until the wanted length is reached or the run ends. */
static uint32_t extent_end(const struct free_run *run, uint32_t start, uint32_t wanted)
{
	uint32_t end = buddy_end(run, start);

	while (end - start < wanted && end < run->end)
		end = buddy_end(run, end);
	return end;
}

/* Checks whether enough extents have been seen: in any case, or with one that is long enough. */
static void check_limits(struct free_search *search, bool group_is_over)
{
	const struct search_limits *limits = &search->mb->policy.limits;

	if (search->status != SEARCH_GOES_ON)
		return;
	if (search->found > limits->most_to_scan && !search->takes_first) {
		search->status = SEARCH_IS_OVER;
		stats_add(&search->worker->stats, COUNT_BREAKS, 1);
	} else if (search->best.count >= search->wanted && (group_is_over || search->found > limits->least_to_scan)) {
		search_alloc_best(search);
	}
}

static void measure(struct free_search *search, const struct group_piece *extent)
{
	struct group_piece *best = &search->best;
	bool is_first = !best->count;

	search->found++;
	if (extent->count == search->wanted || search->takes_first) {
		if (extent->count == search->wanted)
			stats_add(&search->worker->stats, COUNT_LENGTH_HITS, 1);
		*best = *extent;
		search_alloc_best(search);
		return;
	}
	if (best->count < search->wanted ? extent->count > best->count :
	                                   extent->count > search->wanted && extent->count < best->count)
		*best = *extent;
	if (!is_first)
		check_limits(search, false);
}

void kernel_walk(struct free_search *search, uint32_t number)
{
	const struct buddy *buddy = search->mb->groups[number].buddy;
	uint32_t shortest = search->criterion < GOAL_LENGTH_SLOW ? search->wanted : 1;
	uint32_t left = buddy->free_clusters, found_before = search->found;
	struct free_run run = { .top_order = buddy->orders - 1 };

	/* A request with a least length (EXT2MB_ALLOC_WHOLE), which the kernel does not have. */
	if (search->least > 1) {
		search_walk(search, number);
		return;
	}
	while (left && search->status == SEARCH_GOES_ON) {
		run.start = buddy_next_free(buddy, run.end, buddy->clusters);
		run.end = buddy_run_end(buddy, run.start);
		left -= run.end - run.start;
		for (uint32_t start = run.start, end; start < run.end && search->status == SEARCH_GOES_ON;
		     start = end) {
			if (run.end - start < shortest)
				break;
			end = extent_end(&run, start, search->wanted);
			measure(search, &(struct group_piece){ number, start, end - start });
		}
	}
	search_count_extents(search, search->found - found_before);
	/* The best extent of another group is not taken here: the search returns to it at the end. */
	if (search->best.group == number)
		check_limits(search, true);
}
