/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "allocator/search/group_search.h"

#include "allocator/group/group.h"
#include "allocator/group/group_reserved.h"

/* The unit test includes this file and here does what another thread might. */
#ifndef SEARCH_MEANWHILE
#define SEARCH_MEANWHILE(search, number, waits)
#endif

static bool seems_busy(const struct ext2mb *mb, uint32_t number)
{
	return mb->contention && mb->contention->is_busy(mb->contention->context, number);
}

static void note_lock(const struct ext2mb *mb, uint32_t number)
{
	if (mb->contention && mb->contention->has_locked)
		mb->contention->has_locked(mb->contention->context, number);
}

bool search_looks_busy(const struct free_search *search, uint32_t number)
{
	return lock_looks_held(&search->mb->groups[number].lock) || seems_busy(search->mb, number);
}

/* For requests with a minimum; for others every run is long enough. */
static bool may_have_least(const struct free_search *search, uint32_t number, const struct group_summary *summary)
{
	return search->least == 1 || (group_summary_may_have(summary, search->least) &&
	                              group_longest(&search->mb->groups[number]) >= search->least);
}

static struct group_summary summary_of(const struct free_search *search, uint32_t number)
{
	return group_summary_read(&search->mb->groups[number]);
}

static bool has_buddy(const struct free_search *search, uint32_t number)
{
	struct group_summary summary = summary_of(search, number);

	return !geometry_is_kept_for_directories(&search->mb->geometry, number) && summary.largest_order >= 0 &&
	       search->wanted <= 1u << summary.largest_order;
}

static bool has_average(const struct free_search *search, uint32_t number)
{
	struct group_summary summary = summary_of(search, number);

	return summary.free_clusters && summary.free_clusters >= (uint64_t)search->wanted * summary.fragments;
}

static bool has_enough(const struct free_search *search, uint32_t number)
{
	struct group_summary summary = summary_of(search, number);

	return summary.free_clusters >= search->wanted && may_have_least(search, number, &summary);
}

static bool has_any(const struct free_search *search, uint32_t number)
{
	struct group_summary summary = summary_of(search, number);

	return summary.free_clusters > 0 && may_have_least(search, number, &summary);
}

static bool has_order(const struct free_search *search, uint32_t number)
{
	return summary_of(search, number).largest_order >= (int)search->order;
}

static bool has_order_and_wanted(const struct free_search *search, uint32_t number)
{
	return has_order(search, number) && group_longest(&search->mb->groups[number]) >= search->wanted;
}

static bool has_longer(const struct free_search *search, uint32_t number)
{
	return group_longest(&search->mb->groups[number]) > search->best.count;
}

static void alloc_run(struct free_search *search, uint32_t number, uint32_t start, uint32_t count)
{
	search->best = (struct group_piece){ number, start, count };
	search->status = SEARCH_HAS_TAKEN;
	group_alloc(search->mb, number, start, count);
	if (search->reserves)
		group_reserved_set(search->mb, number, start, count);
	if (search->mb->contention)
		search->mb->contention->has_taken(search->mb->contention->context, number);
}

void search_alloc_best(struct free_search *search)
{
	const struct group_piece best = search->best;

	alloc_run(search, best.group, best.start, best.count < search->wanted ? best.count : search->wanted);
}

void search_count_extents(struct free_search *search, uint32_t count)
{
	stats_add(&search->worker->stats, COUNT_EXTENTS_SCANNED, count);
	stats_add(&search->worker->stats, COUNT_CRITERION_EXTENTS + search->criterion, count);
}

/* Compares a run of the group with the best one. True: no further run of this group needs to be looked at. */
static bool weigh(struct free_search *search, const struct group_piece *run)
{
	struct group_piece *best = &search->best;

	search->found++;
	if (run->count == search->wanted || search->takes_first) {
		*best = *run;
		if (run->count == search->wanted)
			stats_add(&search->worker->stats, COUNT_LENGTH_HITS, 1);
		return true;
	}
	if (best->count < search->wanted ? run->count > best->count :
	                                   run->count >= search->wanted && run->count < best->count)
		*best = *run;
	if (search->found > search->mb->policy.limits.most_to_scan) {
		search->status = SEARCH_IS_OVER;
		stats_add(&search->worker->stats, COUNT_BREAKS, 1);
		return true;
	}
	return best->count >= search->wanted && search->found > search->mb->policy.limits.least_to_scan;
}

/* Measures the group's runs from its first free cluster on. */
void search_walk(struct free_search *search, uint32_t number)
{
	const struct buddy *buddy = search->mb->groups[number].buddy;
	uint32_t shortest = search->criterion < GOAL_LENGTH_SLOW ? search->wanted : search->least;
	uint32_t left = buddy->free_clusters;
	uint32_t end = 0;
	uint32_t found_before = search->found;

	for (uint32_t fragments = buddy->fragments; fragments; fragments--) {
		uint32_t start = buddy_next_free(buddy, end, buddy->clusters);
		end = fragments == 1 ? start + left : buddy_run_end(buddy, start); /* the last is all that is left */
		left -= end - start;
		if (end - start < shortest)
			continue;
		if (weigh(search, &(struct group_piece){ number, start, end - start }))
			break;
	}
	search_count_extents(search, search->found - found_before);

	const struct group_piece *best = &search->best;
	if (best->count && best->group == number && (best->count >= search->wanted || search->takes_first))
		search_alloc_best(search);
}

/*
 * The first place where a stripe begins and the whole length is free. (The kernel takes one stripe there, however many
 * were asked for. If more were asked for, a file on the RAID would have more extents than necessary.)
 */
static void walk_stripes(struct free_search *search, uint32_t number)
{
	const struct stripe *stripe = &search->mb->stripe;
	const struct geometry *geometry = &search->mb->geometry;
	const struct buddy *buddy = search->mb->groups[number].buddy;
	uint32_t start = stripe_next(stripe, geometry, number, buddy_next_free(buddy, 0, buddy->clusters));

	while (start < buddy->clusters && search->wanted <= buddy->clusters - start) {
		uint32_t end = start + search->wanted;
		uint32_t used = buddy_next_used(buddy, start, end);

		if (used == end) {
			search->found++;
			search_count_extents(search, 1);
			alloc_run(search, number, start, search->wanted);
			return;
		}
		start = stripe_next(stripe, geometry, number, buddy_next_free(buddy, used, buddy->clusters));
	}
}

static void walk(struct free_search *search, uint32_t number)
{
	search->mb->policy.search->walk(search, number);
}

static void walk_by_length(struct free_search *search, uint32_t number)
{
	if (stripe_divides(&search->mb->stripe, search->wanted))
		walk_stripes(search, number);
	else
		walk(search, number);
}

/* Takes a run that had to be measured only once. */
static void alloc_measured(struct free_search *search, uint32_t number, uint32_t start, uint32_t count)
{
	search->found++;
	search_count_extents(search, 1);
	alloc_run(search, number, start, count);
}

/* The first buddy of the lowest order whose buddies are long enough, if there is one. */
static void alloc_buddy(struct free_search *search, uint32_t number)
{
	unsigned int order = (unsigned int)__builtin_ctz(search->wanted);
	uint32_t start;

	if (buddy_find_order(search->mb->groups[number].buddy, order, &start))
		alloc_measured(search, number, start, search->wanted);
}

/* The first run that holds the whole goal, or nothing. */
static void alloc_long_enough(struct free_search *search, uint32_t number)
{
	const struct buddy *buddy = search->mb->groups[number].buddy;
	uint32_t end, start = buddy_next_run(buddy, 0, search->wanted, &end);

	if (start == buddy->clusters)
		group_note_longest(search->mb, number, end);
	else
		alloc_measured(search, number, start, search->wanted);
}

/* Remembers the longest run, if it is longer than the best one so far. */
static void measure_longest(struct free_search *search, uint32_t number)
{
	const struct buddy *buddy = search->mb->groups[number].buddy;
	struct group_piece *best = &search->best;
	uint32_t end = 0, start, longest = 0;

	for (start = buddy_next_run(buddy, 0, best->count + 1, &end); start != buddy->clusters;
	     start = buddy_next_run(buddy, end, longest + 1, &end)) {
		longest = end - start;
		*best = (struct group_piece){ number, start, longest };
	}
	group_note_longest(search->mb, number, longest > end ? longest : end);
	search_count_extents(search, 1);
}

/* The first buddy of the order. If that is shorter than the goal, the run that it lies in, if that is long enough. */
static void alloc_largest(struct free_search *search, uint32_t number)
{
	const struct buddy *buddy = search->mb->groups[number].buddy;
	uint32_t start, end;

	if (!buddy_find_order(buddy, search->order, &start))
		return;
	end = start + search->wanted;
	if (search->wanted > 1u << search->order) {
		start = bits_after_last_one(buddy->bitmap, 0, start);
		end = buddy_run_end(buddy, start);
	}
	if (end - start < search->least)
		return;
	alloc_measured(search, number, start, end - start < search->wanted ? end - start : search->wanted);
}

const struct group_look look_for_largest = { has_order, alloc_largest };
const struct group_look look_for_long_enough = { has_order_and_wanted, alloc_long_enough };
const struct group_look look_for_longest = { has_longer, measure_longest };

void search_begin_criterion(struct free_search *search, enum criterion criterion)
{
	static const struct group_look looks[CRITERIA] = {
		[POWER_OF_TWO] = { has_buddy, alloc_buddy },
		[GOAL_LENGTH_FAST] = { has_average, walk_by_length },
		[BEST_AVAILABLE] = { has_average, walk_by_length },
		[GOAL_LENGTH_SLOW] = { has_enough, walk },
		[ANY_FREE] = { has_any, walk },
	};

	search->criterion = criterion;
	search->look = &looks[criterion];
}

bool search_remember_busy(struct free_search *search, uint32_t number)
{
	stats_add(&search->worker->stats, COUNT_BUSY_SKIPS, 1);
	if (search->busy_count < SEARCH_REMEMBERED)
		search->busy[search->busy_count++] = number;
	return false;
}

errcode_t search_group(struct free_search *search, uint32_t number, bool waits)
{
	struct ext2mb *mb = search->mb;
	struct group *group = &mb->groups[number];

	SEARCH_MEANWHILE(search, number, waits);
	stats_add(&search->worker->stats, COUNT_CRITERION_GROUPS + search->criterion, 1);
	if (mb->contention && mb->contention->considers)
		mb->contention->considers(mb->contention->context, search, number);
	if (!search_suits(search, number))
		return 0;
	if (waits)
		group_lock(group);
	else if ((seems_busy(mb, number) || !group_try_lock(group)) && !mb->policy.search->meet_busy(search, number))
		return 0;
	note_lock(mb, number);
	errcode_t error = group_load(mb, number);
	if (!error && search->reserves)
		error = group_reserved_prepare(mb, number);
	if (error || !search_suits(search, number)) {
		group_leave(mb, number);
		return error == EXT2MB_ET_CORRUPT_GROUP ? 0 : error;
	}
	stats_add(&search->worker->stats, COUNT_GROUPS_SCANNED, 1);
	search->look->look(search, number);
	if (search->status == SEARCH_HAS_TAKEN)
		group_leave_changed(mb, number);
	else
		group_leave(mb, number);
	return 0;
}

errcode_t search_alloc_at(struct free_search *search, uint32_t number, uint32_t start, uint32_t least)
{
	struct ext2mb *mb = search->mb;
	errcode_t error = group_enter(mb, number);

	if (error)
		return error == EXT2MB_ET_CORRUPT_GROUP ? 0 : error;
	note_lock(mb, number);
	error = search->reserves ? group_reserved_prepare(mb, number) : 0;
	if (error) {
		group_leave(mb, number);
		return error;
	}

	const struct buddy *buddy = mb->groups[number].buddy;
	uint32_t end = search->wanted < buddy->clusters - start ? start + search->wanted : buddy->clusters;
	uint32_t count = buddy_next_used(buddy, start, end) - start;
	if (count < least || !count) {
		group_leave(mb, number);
		return 0;
	}
	alloc_run(search, number, start, count);
	group_leave_changed(mb, number);
	return 0;
}

errcode_t search_alloc_after(struct free_search *search, uint32_t number, uint32_t start)
{
	if (search->wanted > 1)
		return search_alloc_at(search, number, start, search->wanted);

	struct ext2mb *mb = search->mb;
	errcode_t error = group_enter(mb, number);
	if (error)
		return error == EXT2MB_ET_CORRUPT_GROUP ? 0 : error;

	const struct buddy *buddy = mb->groups[number].buddy;
	start = buddy_next_free(buddy, start, buddy->clusters);
	if (start == buddy->clusters) {
		group_leave(mb, number);
		return 0;
	}
	alloc_run(search, number, start, 1);
	group_leave_changed(mb, number);
	return 0;
}
