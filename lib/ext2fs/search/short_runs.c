// SPDX-License-Identifier: LGPL-2.1-or-later
#include "ext2fs/search/short_runs.h"

#include "ext2fs/core/arithmetic.h"
#include "ext2fs/group/group.h"
#include "ext2fs/group/group_index.h"
#include "ext2fs/group/group_reserved.h"
#include "ext2fs/search/stream_goals.h"

#define MOST_LOOKS 256u    /* at groups, in one pass of one search; the next one goes on where it ended */
#define MOST_IN_VAIN 16u   /* groups that are entered for nothing, or busy, in one pass of one search */
#define GROUP_SHARE 7u     /* a run of a seventh of a group is long: no run is longer than a group */
#define SPARED_SEARCHES 64 /* by a pass that has found nothing in any group */

/* What may be taken of a group. A pass goes through all groups before the next one has its turn. */
enum pass {
	SHORT_RUNS,
	ALL_BUT_LONGEST,
	ANY_RUN, /* goes by the index */
};

struct short_run_search {
	struct ext2mb_worker *worker;
	struct ext2mb *mb;
	const struct short_run_request *request;
	uint32_t longest_short; /* clusters */
	uint32_t left;          /* groups that may still be entered in vain */
	bool was_busy;          /* one of them was only that */
	struct group_piece found;
};

/* What is only known from its descriptor counts as one free run, which is true of a group that is free as a whole. */
static bool must_be_loaded(const struct ext2mb *mb, uint32_t number)
{
	struct group_summary summary = group_summary_read(&mb->groups[number]);

	return summary.state == GROUP_UNTOUCHED &&
	       summary.free_clusters < geometry_group_clusters(&mb->geometry, number);
}

/* Whether the set has a group that is known for sure to be in it. */
static bool has_any(struct ext2mb *mb, const struct order_set *set)
{
	while (!order_set_is_empty(set)) {
		uint32_t number = order_set_next(set, 0, mb->geometry.groups);

		if (number == ORDER_SET_NONE || !must_be_loaded(mb, number) || group_enter(mb, number))
			return true;
		group_leave(mb, number);
	}
	return false;
}

bool short_runs_are_first(struct ext2mb *mb)
{
	uint32_t half = (uint32_t)min_u64(mb->geometry.clusters_per_group, mb->geometry.clusters) / 2;

	if (!mb->policy.short_run_kib || !group_index_is_on(mb))
		return false;
	for (unsigned int order = (unsigned int)group_average_order(half, 1, mb->orders); order < mb->orders; order++)
		if (has_any(mb, &mb->index->sets[INDEX_AVERAGE][order]))
			return false;
	return true;
}

static uint32_t longest_short_run(const struct ext2mb *mb)
{
	uint64_t clusters = ((uint64_t)mb->policy.short_run_kib << 10) >>
	                    (mb->geometry.block_bits + mb->geometry.cluster_bits);

	return (uint32_t)min_u64(clusters, mb->geometry.clusters_per_group / GROUP_SHARE);
}

/*
 * The first run from a cluster on that has [least, most] clusters and does not begin at `kept`; the group is locked and
 * loaded.
 */
static bool find_run(struct ext2mb *mb, const struct cluster_place *from, uint32_t least, uint32_t most, uint32_t kept,
                     struct group_piece *run)
{
	const struct buddy *buddy = mb->groups[from->group].buddy;
	uint32_t end, start = buddy_next_run(buddy, from->cluster, least, &end);

	/* So that the next search for as many passes it over. */
	if (start == buddy->clusters && !from->cluster)
		group_note_longest(mb, from->group, end);
	while (start != buddy->clusters && (end - start > most || start == kept))
		start = buddy_next_run(buddy, end, least, &end);
	*run = (struct group_piece){ from->group, start, end - start };
	return start != buddy->clusters;
}

/* Where the longest run begins. */
static uint32_t find_longest(const struct buddy *buddy)
{
	uint32_t longest = buddy->clusters, end = 0, count = 0, start;

	while ((start = buddy_next_run(buddy, end, count + 1, &end)) != buddy->clusters) {
		longest = start;
		count = end - start;
	}
	return longest;
}

static bool take_run(struct short_run_search *search, const struct cluster_place *from, enum pass pass)
{
	struct ext2mb *mb = search->mb;
	const struct short_run_request *request = search->request;
	const struct buddy *buddy = mb->groups[from->group].buddy;
	uint32_t most = pass == SHORT_RUNS ? search->longest_short : buddy->clusters;
	uint32_t kept = pass == ALL_BUT_LONGEST ? find_longest(buddy) : buddy->clusters;
	struct group_piece run;

	if (!find_run(mb, from, request->least, most, kept, &run))
		return false;
	if (run.count > request->most)
		run.count = request->most;
	group_take(mb, run.group, run.start, run.count);
	group_reserved_set(mb, run.group, run.start, run.count);
	search->found = run;
	return true;
}

static bool take_in_group(struct short_run_search *search, const struct cluster_place *from, enum pass pass)
{
	struct ext2mb *mb = search->mb;
	uint32_t number = from->group;
	struct group *group = &mb->groups[number];

	if (group_longest(group) < search->request->least)
		return false;
	search->left--;
	if (!group_try_lock(group)) {
		search->was_busy = true;
		return false;
	}
	if (group_load(mb, number) || group_reserved_prepare(mb, number) || !take_run(search, from, pass)) {
		group_leave(mb, number);
		return false;
	}
	group_leave_changed(mb, number);
	return true;
}

/* The first group from `from` on that has anything; ORDER_SET_NONE: there is none. */
static uint32_t next_group(const struct ext2mb *mb, uint32_t from)
{
	const struct order_set *sets = mb->index->sets[INDEX_AVERAGE];
	uint32_t first = ORDER_SET_NONE, end = mb->geometry.groups;

	if (from < end && group_free_clusters(&mb->groups[from]))
		return from;
	for (unsigned int order = 0; order < mb->orders && first != from; order++) {
		if (order_set_is_empty(&sets[order]))
			continue;
		uint32_t number = order_set_next(&sets[order], from, first < end ? first : end);

		if (number != ORDER_SET_NONE)
			first = number;
	}
	return first;
}

/* What is not loaded yet may have anything. */
static bool may_have(const struct short_run_search *search, uint32_t number, enum pass pass)
{
	struct group_summary summary = group_summary_read(&search->mb->groups[number]);

	if (summary.state == GROUP_UNTOUCHED)
		return true;
	return pass == SHORT_RUNS ? summary.free_clusters <= (uint64_t)summary.fragments * search->longest_short :
	                            summary.fragments > 1;
}

/*
 * A worker goes on where it found something last, so that no search looks at all groups again, or at all runs of one.
 * What has become free before that is found when nothing is left after it.
 */
static bool take_first(struct short_run_search *search, enum pass pass)
{
	struct group_pass *memory = &search->worker->search->short_runs[pass];
	struct cluster_place place = memory->from;

	if (memory->spared) {
		memory->spared--;
		return false;
	}
	search->left = MOST_IN_VAIN;
	search->was_busy = false;
	for (unsigned int looks = 0; looks < MOST_LOOKS && search->left; looks++) {
		uint32_t number = next_group(search->mb, place.group);

		if (number == ORDER_SET_NONE) {
			bool was_all = !memory->from.group && !memory->from.cluster;

			*memory = (struct group_pass){ .spared = was_all ? SPARED_SEARCHES : 0 };
			return false;
		}
		if (number != place.group)
			place = (struct cluster_place){ number, 0 };
		if (may_have(search, number, pass) && take_in_group(search, &place, pass)) {
			if (!search->was_busy)
				memory->from = (struct cluster_place){ number, search->found.start + search->found.count };
			return true;
		}
		place = (struct cluster_place){ number + 1, 0 };
	}
	if (!search->was_busy)
		memory->from = place;
	return false;
}

static bool take_of_set(struct short_run_search *search, const struct order_set *set, uint32_t from, uint32_t end)
{
	uint32_t number;

	while (search->left && (number = order_set_next(set, from, end)) != ORDER_SET_NONE) {
		if (take_in_group(search, &(struct cluster_place){ number, 0 }, ANY_RUN))
			return true;
		from = number + 1;
	}
	return false;
}

/* Where the longest run is the shortest of all. */
static bool take_shortest(struct short_run_search *search)
{
	struct ext2mb *mb = search->mb;
	uint32_t from = mb->policy.goals->load(mb, search->request->stream).group;

	search->left = MOST_IN_VAIN;
	for (unsigned int order = 0; order < mb->orders && search->left; order++) {
		const struct order_set *set = &mb->index->sets[INDEX_LARGEST][order];

		if (buddy_longest_run(order) < search->request->least || order_set_is_empty(set))
			continue;
		if (take_of_set(search, set, from, mb->geometry.groups) || take_of_set(search, set, 0, from))
			return true;
	}
	return false;
}

errcode_t short_runs_take(struct ext2mb_worker *worker, const struct short_run_request *request, uint64_t *position,
                          uint32_t *taken)
{
	struct ext2mb *mb = worker->mb;
	struct short_run_search search = {
		.worker = worker,
		.mb = mb,
		.request = request,
		.longest_short = longest_short_run(mb),
	};

	if (!take_first(&search, SHORT_RUNS) && !take_first(&search, ALL_BUT_LONGEST) && !take_shortest(&search))
		return EXT2MB_ET_NO_SPACE;
	*position = (uint64_t)search.found.group * mb->geometry.clusters_per_group + search.found.start;
	*taken = search.found.count;
	stats_count_taken(&worker->stats, *taken, true);
	return 0;
}
