/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "allocator/search/scan.h"

#include <sched.h>

#include "allocator/group/group.h"
#include "allocator/group/group_index.h"
#include "allocator/search/first_fit.h"
#include "allocator/search/stream_goals.h"

#define MOST_OF_FIRST 16       /* groups of the first set, whose averages may be too short */
#define VAIN_SEARCHES 64       /* for which it is believed that nothing is long enough */
#define MOST_TO_MEASURE 256u   /* groups, for the longest run of them all */
#define CLUSTERS_A_MEASURE 16u /* wanted, for each further group that is measured */

static bool goes_by_order(const struct free_search *search)
{
	return search->may_go_by_order && !stripe_divides(&search->mb->stripe, search->wanted);
}

/* Tries this many members of a set in [from, end), but not the start group if it has had its turn with this length. */
static errcode_t sweep_set(struct free_search *search, const struct order_set *set, uint32_t from, uint32_t end,
                           uint32_t most)
{
	bool was_in_start_group = search->criterion != BEST_AVAILABLE;
	errcode_t error = 0;

	while (most-- && search_goes_on(search, error)) {
		uint32_t number = order_set_next(set, from, end);

		if (number == ORDER_SET_NONE)
			break;
		if (number != search->start_group || !was_in_start_group)
			error = search_group(search, number, false);
		from = number + 1;
	}
	return error;
}

static errcode_t sweep_orders(struct free_search *search, const struct order_set *sets, unsigned int first,
                              uint32_t most_of_first, uint32_t from, uint32_t end)
{
	errcode_t error = 0;

	for (unsigned int order = first; order < search->mb->orders && search_goes_on(search, error); order++)
		if (!order_set_is_empty(&sets[order]))
			error = sweep_set(search, &sets[order], from, end, order == first ? most_of_first : UINT32_MAX);
	return error;
}

/* Trims the length order by order, each time looking only where the average fragment just fits. */
static errcode_t sweep_trimmed(struct free_search *search, uint32_t from, uint32_t end)
{
	unsigned int order = last_set(search->wanted) - 1;
	unsigned int least = search_least_order(search);
	uint32_t wanted = search->wanted;
	errcode_t error = 0;

	for (int trimmed = (int)order; trimmed >= (int)least && search_goes_on(search, error); trimmed--) {
		search->wanted = search_trim(search, 1u << trimmed, wanted);
		int set = group_average_order(search->wanted, 1, search->mb->orders);
		error = sweep_set(search, &search->mb->index->sets[INDEX_AVERAGE][set], from, end, UINT32_MAX);
	}
	search->wanted = wanted;
	return error;
}

static errcode_t wait_for_busy(struct free_search *search);

/* Tries up to this many of the set's groups from the start group on, then as many before it. */
static errcode_t sweep_both_ways(struct free_search *search, const struct order_set *set, uint32_t most)
{
	errcode_t error = sweep_set(search, set, search->start_group, search->mb->geometry.groups, most);

	return search_goes_on(search, error) ? sweep_set(search, set, 0, search->start_group, most) : error;
}

/* Tries all groups whose largest buddy has this order, the start group and the groups after it first. */
static errcode_t sweep_order(struct free_search *search, const struct group_look *look, unsigned int order)
{
	const struct order_set *set = &search->mb->index->sets[INDEX_LARGEST][order];
	errcode_t error = 0;

	if (order_set_is_empty(set))
		return 0;
	search->look = look;
	search->order = order;
	error = sweep_both_ways(search, set, UINT32_MAX);
	return search_goes_on(search, error) ? wait_for_busy(search) : error;
}

/*
 * Looks among the groups of the largest order for runs that are long enough without containing a buddy that is. There
 * may be none for a long time: then it looks at all of these groups in vain, by their known longest runs.
 */
static errcode_t sweep_unaligned(struct free_search *search, unsigned int order)
{
	struct vain_search *in_vain = &search->worker->search->in_vain;

	if (search->wanted > buddy_longest_run(order) || !(search->mb->policy.rules & RULE_UNALIGNED))
		return 0;
	if (in_vain->left && search->wanted >= in_vain->clusters) {
		in_vain->left--;
		return 0;
	}
	errcode_t error = sweep_order(search, &look_for_long_enough, order);
	if (search_goes_on(search, error))
		*in_vain = (struct vain_search){ search->wanted, VAIN_SEARCHES };
	return error;
}

/*
 * If nothing is long enough, takes the whole of the longest run that can be found soon. Such a run needs no wait for a
 * better one, leaves nothing over, and gives a large file as few extents as possible. Not for a few clusters, which are
 * requested often: an append of 8 blocks would take 375 ns instead of 275 (bench/aged_bench.c, short runs), in extents
 * of the same length.
 */
static errcode_t sweep_longest(struct free_search *search, unsigned int order)
{
	const struct order_set *largest = search->mb->index->sets[INDEX_LARGEST];
	uint32_t most = 1 + search->wanted / CLUSTERS_A_MEASURE;
	errcode_t error = 0;

	if (!(search->mb->policy.rules & RULE_LONGEST) || search->original < CLUSTERS_A_MEASURE)
		return 0;
	if (most > MOST_TO_MEASURE)
		most = MOST_TO_MEASURE;
	search->look = &look_for_longest;
	search->best.count = 0;
	for (int below = 0; below < 2 && (int)order - below >= 0 && !error; below++) {
		search->order = order - (unsigned int)below;
		error = sweep_both_ways(search, &largest[search->order], most);
	}
	if (search->best.count && search->best.count >= search->least)
		search->status = SEARCH_IS_OVER;
	else
		search->best.count = 0;
	search->busy_count = 0;
	return error;
}

/*
 * Our way if no group's average is long enough: by the largest buddies. First the shortest buddies that are long
 * enough, then runs that are, then the longest buddies with the free clusters around them.
 */
static errcode_t sweep_by_order(struct free_search *search)
{
	unsigned int least = last_set(search->wanted - 1);
	errcode_t error = 0;
	bool is_longest = true;

	for (unsigned int order = least; order < search->mb->orders && search_goes_on(search, error); order++)
		error = sweep_order(search, &look_for_largest, order);
	for (unsigned int order = least < search->mb->orders ? least : search->mb->orders;
	     order-- && search->least < search->wanted && search_goes_on(search, error);) {
		if (order_set_is_empty(&search->mb->index->sets[INDEX_LARGEST][order]))
			continue;
		if (buddy_longest_run(order) < search->least)
			break;
		if (is_longest)
			error = sweep_unaligned(search, order);
		if (is_longest && search_goes_on(search, error))
			error = sweep_longest(search, order);
		if (search_goes_on(search, error))
			error = sweep_order(search, &look_for_largest, order);
		is_longest = false;
	}
	search_begin_criterion(search, BEST_AVAILABLE);
	return error;
}

/* The part of an indexed criterion's sweep that lies in [from, end). */
static errcode_t sweep_range(struct free_search *search, uint32_t from, uint32_t end)
{
	switch (search->criterion) {
	case POWER_OF_TWO:
		return sweep_orders(search, search->mb->index->sets[INDEX_LARGEST],
		                    (unsigned int)__builtin_ctz(search->wanted), UINT32_MAX, from, end);
	case GOAL_LENGTH_FAST:
		return sweep_orders(search, search->mb->index->sets[INDEX_AVERAGE],
		                    (unsigned int)group_average_order(search->wanted, 1, search->mb->orders),
		                    goes_by_order(search) ? MOST_OF_FIRST : UINT32_MAX, from, end);
	case BEST_AVAILABLE:
	case GOAL_LENGTH_SLOW: /* from here on all groups are gone through, by no set */
	case ANY_FREE:
	case CRITERIA:
		break;
	}
	return sweep_trimmed(search, from, end);
}

/*
 * The start group first, whatever set it is in (the kernel lost that between 6.16 and 6.17), then all orders on
 * [start, n), then on [0, start): in one direction, so that threads follow rather than meet one another.
 */
errcode_t scan_sweep(struct free_search *search)
{
	errcode_t error = 0;

	if (search->criterion == BEST_AVAILABLE && goes_by_order(search))
		return sweep_by_order(search);
	if (search->criterion != BEST_AVAILABLE)
		error = search_group(search, search->start_group, false);
	if (search_goes_on(search, error))
		error = sweep_range(search, search->start_group, search->mb->geometry.groups);
	if (search_goes_on(search, error))
		error = sweep_range(search, 0, search->start_group);
	return error;
}

errcode_t search_sweep_all(struct free_search *search, bool waits)
{
	uint32_t groups = search->mb->geometry.groups;
	errcode_t error = 0;

	for (uint32_t number = search->start_group; number < groups && search_goes_on(search, error); number++)
		error = search_group(search, number, waits);
	for (uint32_t number = 0; number < search->start_group && search_goes_on(search, error); number++)
		error = search_group(search, number, waits);
	return error;
}

/* Contention must not look like scarcity: before quality is lowered, wait for groups that were only busy. */
static errcode_t wait_for_busy(struct free_search *search)
{
	errcode_t error = 0;

	for (unsigned int index = 0; index < search->busy_count && search_goes_on(search, error); index++) {
		stats_add(&search->worker->stats, COUNT_BUSY_WAITS, 1);
		error = search_group(search, search->busy[index], true);
	}
	search->busy_count = 0;
	return error;
}

static errcode_t sweep(struct free_search *search)
{
	if (search->criterion >= GOAL_LENGTH_SLOW || !group_index_is_on(search->mb))
		return search->mb->policy.search->sweep_all(search, false);
	return search->mb->policy.search->sweep(search);
}

static errcode_t try_criterion(struct free_search *search, enum criterion criterion)
{
	search_begin_criterion(search, criterion);
	errcode_t error = sweep(search);
	if (search_goes_on(search, error))
		error = wait_for_busy(search);
	if (search_goes_on(search, error))
		stats_add(&search->worker->stats, COUNT_CRITERION_FAILURES + criterion, 1);
	return error;
}

/*
 * The last resort uses no index and waits for every group, so it finds everything that is free. If it finds nothing,
 * that is a proof only if nothing was being released from its beginning to its end.
 */
static errcode_t try_everything(struct free_search *search)
{
	struct ext2mb *mb = search->mb;

	search_begin_criterion(search, search->is_whole ? GOAL_LENGTH_SLOW : ANY_FREE);
	for (;;) {
		uint64_t ended = atomic_load(&mb->releases_ended);
		errcode_t error = mb->policy.search->sweep_all(search, true);

		if (!search_goes_on(search, error) || search->best.count || atomic_load(&mb->releases_begun) == ended)
			return error;
		stats_add(&search->worker->stats, COUNT_REPEATED_SWEEPS, 1);
		sched_yield();
	}
}

/* Goes down the criteria until clusters are taken, or the best of them is known. */
static errcode_t try_criteria(struct free_search *search)
{
	bool is_power_of_two = last_set(search->wanted) >= search->mb->policy.limits.least_power_of_two &&
	                       !(search->wanted & (search->wanted - 1)) &&
	                       last_set(search->wanted) <= search->mb->orders;
	errcode_t error = 0;

	/* The buddy would lie at the wrong place, and the walk that finds the right one follows. */
	if (stripe_divides(&search->mb->stripe, search->wanted) && !search->mb->stripe.fits_buddies)
		is_power_of_two = false;

	/* For a request that takes all or nothing, the last resort is the slow criterion itself. */
	unsigned int end = search->is_whole ? GOAL_LENGTH_SLOW : ANY_FREE;
	for (unsigned int criterion = is_power_of_two ? POWER_OF_TWO : GOAL_LENGTH_FAST;
	     criterion < end && search_goes_on(search, error); criterion++)
		error = try_criterion(search, criterion);
	if (search_goes_on(search, error))
		error = try_everything(search);
	return error;
}

/* A best run that was only remembered may be gone by now. Then the first run that is found will do. */
static errcode_t settle(struct free_search *search)
{
	errcode_t error = 0;

	while (search->status != SEARCH_HAS_TAKEN && search->best.count && !error) {
		error = search_alloc_at(search, search->best.group, search->best.start, search->least);
		if (error || search->status == SEARCH_HAS_TAKEN)
			break;
		stats_add(&search->worker->stats, COUNT_LOST_CHUNKS, 1);
		search->best.count = 0;
		search->takes_first = true;
		search->status = SEARCH_GOES_ON;
		error = try_everything(search);
	}
	return error;
}

static errcode_t try_goal(struct free_search *search, const struct scan_request *request)
{
	uint32_t per_group = search->mb->geometry.clusters_per_group;
	uint32_t group = (uint32_t)(request->goal / per_group);
	uint32_t start = (uint32_t)(request->goal % per_group);
	bool goal_only = request->flags & EXT2MB_ALLOC_GOAL_ONLY;
	const struct stripe *stripe = &search->mb->stripe;

	/* A request for one whole stripe should get one, not the ends of two, even at the price of a gap. */
	if (!goal_only && stripe->clusters && search->wanted == stripe->clusters &&
	    stripe_next(stripe, &search->mb->geometry, group, start) != start)
		return 0;
	errcode_t error = search_alloc_at(search, group, start, goal_only ? search->least : search->wanted);

	if (search->status == SEARCH_HAS_TAKEN)
		stats_add(&search->worker->stats, COUNT_GOAL_HITS, 1);
	return error;
}

static bool goes_on_after_last(const struct free_search *search, const struct scan_request *request)
{
	return !request->has_goal && !search->reserves &&
	       !(request->flags & (EXT2MB_ALLOC_STREAM | EXT2MB_ALLOC_GOAL_ONLY));
}

/*
 * Continues after the worker's last request of this kind, and takes a single cluster where the next one is free: the
 * group is used up in the end anyway. Measuring the group's runs for each cluster took 3 to 5 times as long.
 */
static errcode_t try_after_last(struct free_search *search)
{
	const struct ext2mb *mb = search->mb;
	const struct cluster_place *next = &search->worker->search->goes_on_at;

	if (!next->cluster || next->cluster >= geometry_group_clusters(&mb->geometry, next->group) ||
	    group_free_clusters(&mb->groups[next->group]) < search->wanted || search_looks_busy(search, next->group))
		return 0;
	if (stripe_divides(&mb->stripe, search->wanted) &&
	    stripe_next(&mb->stripe, &mb->geometry, next->group, next->cluster) != next->cluster)
		return 0;
	errcode_t error = search_alloc_after(search, next->group, next->cluster);
	if (search->status == SEARCH_HAS_TAKEN)
		stats_add(&search->worker->stats, COUNT_GOAL_HITS, 1);
	return error;
}

static errcode_t search_all(struct free_search *search, const struct scan_request *request)
{
	struct ext2mb *mb = search->mb;
	bool is_stream = request->flags & EXT2MB_ALLOC_STREAM;
	struct cluster_place goal = { 0 };

	search->start_group = request->has_goal ? (uint32_t)(request->goal / mb->geometry.clusters_per_group) :
	                                          search->worker->search->last_group;
	if (is_stream) {
		goal = mb->policy.goals->load(mb, request->stream);
		search->start_group = goal.group;
	}
	errcode_t error = mb->policy.search->user ? mb->policy.search->user(search) : 0;
	bool is_own = search->status == SEARCH_HAS_TAKEN;

	if (search_goes_on(search, error))
		error = try_criteria(search);
	if (!error)
		error = settle(search);
	if (!error && mb->policy.search->end)
		error = mb->policy.search->end(search);
	if (error || search->status != SEARCH_HAS_TAKEN)
		return error;

	if (!is_own)
		stats_add(&search->worker->stats, COUNT_CRITERION_HITS + search->criterion, 1);
	if (is_stream && search->best.group == goal.group &&
	    (!mb->policy.goals->is_cluster || search->best.start == goal.cluster))
		stats_add(&search->worker->stats, mb->policy.goals->hit_counter, 1);
	return 0;
}

const struct search_operations scan_operations = {
	.sweep = scan_sweep,
	.sweep_all = search_sweep_all,
	.walk = search_walk,
	.meet_busy = search_remember_busy,
	.begin = try_after_last,
	.tries_goals = true,
};

static errcode_t scan(struct ext2mb_worker *worker, const struct scan_request *request, uint64_t *start,
                      uint32_t *taken)
{
	struct ext2mb *mb = worker->mb;
	/*
	 * Members are set one by one. Setting the whole structure would clear it first, by an instruction that takes a
	 * tenth as long as this search.
	 */
	struct free_search search;

	search.worker = worker;
	search.mb = mb;
	search.inode = request->stream;
	search.start_group = 0;
	search.reserves = request->reserves;
	search.falls_back = request->falls_back;
	search.takes_first = false;
	search.order = 0;
	search.status = SEARCH_GOES_ON;
	search.found = 0;
	search.best = (struct group_piece){ .count = 0 };
	search.read_ahead = (struct read_ahead){ .reads = 0 };
	search.busy_count = 0;
	errcode_t error = 0;

	search_begin_criterion(&search, POWER_OF_TWO);
	search.may_go_by_order = !(request->asked && request->as_kernel);
	search.wanted = request->count < mb->geometry.clusters_per_group ? (uint32_t)request->count :
	                                                                   mb->geometry.clusters_per_group;
	search.least = request->flags & EXT2MB_ALLOC_WHOLE ? search.wanted : request->least ? request->least : 1;
	search.is_whole = search.least == search.wanted && (request->flags & EXT2MB_ALLOC_WHOLE || request->least);
	search.original = request->asked && request->asked < search.wanted ? (uint32_t)request->asked : search.wanted;
	if (request->has_goal && (mb->policy.search->tries_goals || request->flags & EXT2MB_ALLOC_GOAL_ONLY))
		error = try_goal(&search, request);
	else if (goes_on_after_last(&search, request))
		error = mb->policy.search->begin(&search);
	if (search_goes_on(&search, error) && !(request->flags & EXT2MB_ALLOC_GOAL_ONLY))
		error = search_all(&search, request);
	if (error)
		return error;
	if (search.status != SEARCH_HAS_TAKEN)
		return EXT2MB_ET_NO_SPACE;
	if (request->flags & EXT2MB_ALLOC_STREAM)
		mb->policy.goals->store(mb, request->stream, search.best.group, search.best.start);
	worker->search->last_group = search.best.group;
	if (goes_on_after_last(&search, request))
		worker->search->goes_on_at =
			(struct cluster_place){ search.best.group, search.best.start + search.best.count };
	*start = (uint64_t)search.best.group * mb->geometry.clusters_per_group + search.best.start;
	*taken = search.best.count;
	return 0;
}

errcode_t scan_alloc(struct ext2mb_worker *worker, const struct scan_request *request, uint64_t *start, uint32_t *taken)
{
	errcode_t error = request->flags & EXT2MB_ALLOC_PACK ? first_fit_alloc(worker, request, start, taken) :
	                                                       scan(worker, request, start, taken);

	if (!error)
		stats_count_taken(&worker->stats, *taken, request->reserves);
	return error;
}
