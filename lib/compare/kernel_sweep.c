/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "compare/kernel_policy.h"

#include "allocator/group/group.h"
#include "allocator/search/scan.h"

static bool chooses(const struct free_search *search, uint32_t choice)
{
	return kernel_chooses(search->mb, choice);
}

/* The members of one set within [from, end), and the length that is looked for in them. */
struct place {
	enum index_kind kind;
	unsigned int order;
	uint32_t wanted;
	uint32_t from;
	uint32_t end;
};

/* The sets that an indexed criterion scans, one after the other, and the parts of each. */
struct route {
	struct place first;
	unsigned int sets;
	uint32_t most; /* the longest trimmed length */
	unsigned int parts;
	bool is_in_one_direction; /* scans one part of all sets, then the next part; else all parts of a set, then the
	                           * next set */
};

static struct route plan(const struct free_search *search)
{
	const struct ext2mb *mb = search->mb;
	struct route route = { .most = search->wanted,
		               .is_in_one_direction = chooses(search, CHOICE_ONE_DIRECTION),
		               .first = {
				       .kind = INDEX_AVERAGE, .wanted = search->wanted, .end = mb->geometry.groups } };

	/* Before patch 17 a list was scanned from its head, wherever that lay. */
	route.parts = kernel_policy_of(mb)->lists[INDEX_LARGEST] && !route.is_in_one_direction ? 1 : 2;
	if (search->criterion == POWER_OF_TWO) {
		route.first.kind = INDEX_LARGEST;
		route.first.order = (unsigned int)__builtin_ctz(search->wanted);
		route.sets = mb->orders - route.first.order;
	} else if (search->criterion == GOAL_LENGTH_FAST) {
		route.first.order = (unsigned int)group_average_order(search->wanted, 1, mb->orders);
		route.sets = mb->orders - route.first.order;
	} else {
		unsigned int order = 31 - (unsigned int)__builtin_clz(search->wanted);
		unsigned int least = search_least_order(search);

		route.first.wanted = 1u << order;
		route.sets = order >= least ? order - least + 1 : 0;
	}
	return route;
}

/* The position of a sweep: its next place. */
struct step {
	unsigned int set;
	unsigned int part;
};

static void advance(const struct route *route, struct step *step)
{
	if (route->is_in_one_direction && ++step->set == route->sets)
		*step = (struct step){ .part = step->part + 1 };
	else if (!route->is_in_one_direction && ++step->part == route->parts)
		*step = (struct step){ .set = step->set + 1 };
}

static struct place place_at(const struct free_search *search, const struct route *route, const struct step *step)
{
	struct place place = route->first;

	if (search->criterion == BEST_AVAILABLE) {
		place.wanted = search_trim(search, route->first.wanted >> step->set, route->most);
		place.order = (unsigned int)group_average_order(place.wanted, 1, search->mb->orders);
	} else {
		place.order += step->set;
	}
	if (route->parts == 2 && step->part == 0)
		place.from = search->start_group;
	else if (route->parts == 2)
		place.end = search->start_group;
	return place;
}

/*
 * Skips sets without members in any part. There are many: a request for one cluster scans 14 sets, of which on a
 * young filesystem only the last has members.
 */
static void skip_empty(const struct free_search *search, const struct route *route, struct step *step)
{
	unsigned int first = route->first.order;

	if (search->criterion == BEST_AVAILABLE || (step->part && !route->is_in_one_direction))
		return;
	step->set = kernel_index_next_order(search->mb, route->first.kind, first + step->set) - first;
	if (step->set < route->sets || !route->is_in_one_direction || step->part)
		return;
	step->set = kernel_index_next_order(search->mb, route->first.kind, first) - first;
	step->part++;
}

/* Moves to the next place; false: there is none. */
static bool next_place(const struct free_search *search, const struct route *route, struct step *step,
                       struct place *place)
{
	if (step->set < route->sets && step->part < route->parts)
		skip_empty(search, route, step);
	if (step->set >= route->sets || step->part >= route->parts)
		return false;
	*place = place_at(search, route, step);
	advance(route, step);
	return true;
}

static uint32_t next_in(const struct free_search *search, const struct place *place, uint32_t after)
{
	return kernel_index.next(search->mb, place->kind, place->order, after, place->from, place->end);
}

static errcode_t scan_place(struct free_search *search, const struct place *place)
{
	errcode_t error = 0;

	for (uint32_t number = ORDER_SET_NONE; !error && search->status == SEARCH_GOES_ON;) {
		number = next_in(search, place, number);
		if (number == ORDER_SET_NONE)
			break;
		error = kernel_visit(search, number, false);
	}
	return error;
}

/* Chooses a group that suits and, since patch 1, is not busy. That may change before it is searched. */
static uint32_t choose_in(struct free_search *search, const struct place *place)
{
	struct stats *stats = &search->worker->stats;

	kernel_note_list(kernel_policy_of(search->mb), place->kind, place->order);
	for (uint32_t number = next_in(search, place, ORDER_SET_NONE); number != ORDER_SET_NONE;
	     number = next_in(search, place, number)) {
		stats_add(stats, COUNT_CRITERION_GROUPS + search->criterion, 1);
		if (!search_suits(search, number))
			continue;
		if (!chooses(search, CHOICE_TRY_LOCK) || !search_looks_busy(search, number))
			return number;
		stats_add(stats, COUNT_BUSY_SKIPS, 1);
	}
	return ORDER_SET_NONE;
}

static uint32_t choose(struct free_search *search, const struct route *route)
{
	uint32_t number = ORDER_SET_NONE;
	struct step step = { 0 };
	struct place place;

	while (number == ORDER_SET_NONE && next_place(search, route, &step, &place)) {
		search->wanted = place.wanted;
		number = choose_in(search, &place);
	}
	return number;
}

/*
 * Before patch 16: a group is chosen, then searched. If that finds nothing, the choice begins again from the first
 * set, and may return the same group ("bouncing"). At most as many attempts as there are groups.
 */
static errcode_t choose_then_scan(struct free_search *search, const struct route *route)
{
	errcode_t error = 0;

	for (uint32_t tries = 0; tries < search->mb->geometry.groups && !error; tries++) {
		uint32_t number = choose(search, route);

		if (number == ORDER_SET_NONE)
			break;
		error = kernel_visit(search, number, false);
		if (search->status != SEARCH_GOES_ON)
			break;
		atomic_fetch_add_explicit(&kernel_policy_of(search->mb)->bounces, 1, memory_order_relaxed);
	}
	return error;
}

/* Since patch 16: groups are tried in the order in which they are met. */
static errcode_t scan_in_place(struct free_search *search, const struct route *route)
{
	struct step step = { 0 };
	struct place place;
	errcode_t error = 0;

	while (!error && search->status == SEARCH_GOES_ON && next_place(search, route, &step, &place)) {
		search->wanted = place.wanted;
		error = scan_place(search, &place);
	}
	return error;
}

bool kernel_meet_busy(struct free_search *search, uint32_t number)
{
	if (!chooses(search, CHOICE_TRY_LOCK)) {
		group_lock(&search->mb->groups[number]);
		return true;
	}
	search_remember_busy(search, number);
	if (!chooses(search, CHOICE_WAIT_AT_EQUAL))
		search->busy_count = 0;
	return false;
}

/*
 * The kernel stores a request's length before it extends it to a locality group's preallocation, and falls back to
 * that length when no trimmed length has been found.
 */
static void fall_back(struct free_search *search)
{
	if (search->falls_back && search->criterion == BEST_AVAILABLE && search->status == SEARCH_GOES_ON)
		search->wanted = search->original;
}

/* Scans `count` groups from the start group on; *next becomes the group after them. */
static errcode_t sweep_linear(struct free_search *search, uint32_t count, bool waits, uint32_t *next)
{
	uint32_t groups = search->mb->geometry.groups, number = search->start_group;
	errcode_t error = 0;

	for (uint32_t step = 0; step < count && step < groups && search_goes_on(search, error); step++) {
		error = kernel_visit(search, number, waits);
		number = number + 1 < groups ? number + 1 : 0;
	}
	*next = number;
	return error;
}

errcode_t kernel_sweep_all(struct free_search *search, bool waits)
{
	uint32_t next;

	kernel_begin_criterion(search);
	errcode_t error = sweep_linear(search, search->mb->geometry.groups, waits, &next);
	/* Since patch 16 only if there is an index. */
	if (!kernel_chooses(search->mb, CHOICE_SCAN_IN_PLACE))
		fall_back(search);
	return error;
}

static errcode_t sweep(struct free_search *search)
{
	uint32_t wanted = search->wanted, start = search->start_group, after_linear = start;
	errcode_t error = 0;

	kernel_begin_criterion(search);
	if (chooses(search, CHOICE_GOAL_FIRST) && search->criterion != BEST_AVAILABLE)
		error = kernel_visit(search, search->start_group, false);
	if (search_goes_on(search, error))
		error = sweep_linear(search, kernel_policy_of(search->mb)->linear_groups, false, &after_linear);
	if (!search_goes_on(search, error))
		return error;

	search->start_group = after_linear;
	struct route route = plan(search);
	if (chooses(search, CHOICE_SCAN_IN_PLACE))
		error = scan_in_place(search, &route);
	else
		error = choose_then_scan(search, &route);
	search->start_group = start;
	search->wanted = wanted;
	fall_back(search);
	return error;
}

errcode_t kernel_sweep(struct free_search *search)
{
	const uint32_t ours = CHOICE_ORDERED_SETS | CHOICE_SCAN_IN_PLACE | CHOICE_ONE_DIRECTION | CHOICE_GOAL_FIRST;

	if (!chooses(search, CHOICE_BY_LARGEST))
		search->may_go_by_order = false;
	return (kernel_policy_of(search->mb)->choices & ours) == ours ? scan_sweep(search) : sweep(search);
}
