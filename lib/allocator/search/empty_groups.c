/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "allocator/search/empty_groups.h"

#include "allocator/group/group.h"

#define LONG_NUMERATOR 3u /* series of at least 3/4 of the longest one's groups are long, too */
#define LONG_DENOMINATOR 4u

#define SAMPLED 64u
#define NEARLY_NUMERATOR 7u /* a group with at least 7/8 of its clusters is nearly free */
#define NEARLY_DENOMINATOR 8u

struct series {
	uint32_t first;
	uint32_t groups; /* 0: none */
};

struct choice {
	struct ext2mb *mb;
	const struct empty_groups_request *request;
	uint32_t longest; /* groups; 0: not known yet */
	struct series best;
};

static bool is_free(const struct ext2mb *mb, uint32_t number)
{
	return group_free_clusters(&mb->groups[number]) == mb->geometry.clusters_per_group;
}

/*
 * The first group of a flex group holds metadata, whose length is hardly ever a whole number of stripes: beginning with
 * a stripe after it would leave a short free extent each time. So the group is kept for directories and small files.
 */
static bool may_begin_in(const struct choice *choice, uint32_t number)
{
	return !choice->request->begins_with_stripe || !choice->mb->stripe.blocks ||
	       number % choice->mb->geometry.flex_groups != 0;
}

/* The length together with what the group before it seems to add. */
static uint64_t clusters_of(const struct choice *choice, const struct series *series)
{
	uint64_t clusters = (uint64_t)series->groups * choice->mb->geometry.clusters_per_group;

	if (!series->first || !may_begin_in(choice, series->first - 1))
		return clusters;
	struct group_summary before = group_summary_read(&choice->mb->groups[series->first - 1]);
	return before.fragments == 1 ? clusters + before.free_clusters : clusters;
}

static uint64_t extents_of(const struct choice *choice, uint64_t clusters)
{
	uint64_t blocks = geometry_to_blocks(&choice->mb->geometry, clusters);

	return (blocks + choice->request->extent_blocks - 1) / choice->request->extent_blocks;
}

static bool is_better(const struct choice *choice, const struct series *series)
{
	uint64_t clusters = clusters_of(choice, series), best = clusters_of(choice, &choice->best);
	uint64_t needed = choice->request->clusters;

	if (!choice->best.groups)
		return true;
	if (clusters >= needed || best >= needed)
		return clusters >= needed && (best < needed || clusters < best);
	uint64_t value = clusters * extents_of(choice, best), best_value = best * extents_of(choice, clusters);
	return value > best_value || (value == best_value && clusters > best);
}

/* Only series of groups that pass every test are compared; a first pass only measures them. */
static void weigh(struct choice *choice, const struct series *series, uint32_t *longest)
{
	if (!series->groups)
		return;
	if (series->groups > *longest)
		*longest = series->groups;
	if (choice->longest && series->groups >= choice->longest * LONG_NUMERATOR / LONG_DENOMINATOR &&
	    is_better(choice, series))
		choice->best = *series;
}

/*
 * Searches [from, end); series that cross its ends are cut there. Returns the number of groups of the longest series.
 */
static uint32_t look(struct choice *choice, uint32_t from, uint32_t end, uint32_t longest)
{
	struct series series = { 0 };

	for (uint32_t number = from; number < end; number++) {
		if (!is_free(choice->mb, number)) {
			weigh(choice, &series, &longest);
			series.groups = 0;
		} else if (!series.groups++) {
			series.first = number;
		}
	}
	weigh(choice, &series, &longest);
	return longest;
}

static uint32_t look_around(struct choice *choice)
{
	uint32_t from = choice->request->from, groups = choice->mb->geometry.groups;
	uint32_t behind = groups - from < EMPTY_GROUPS_MOST ? groups - from : EMPTY_GROUPS_MOST;
	uint32_t before = from < EMPTY_GROUPS_MOST - behind ? from : EMPTY_GROUPS_MOST - behind;

	return look(choice, 0, before, look(choice, from, from + behind, 0));
}

/* How many clusters are free at the group's end. */
static uint32_t free_at_end(struct ext2mb *mb, uint32_t number)
{
	if (!group_free_clusters(&mb->groups[number]) || group_enter(mb, number))
		return 0;
	const struct buddy *buddy = mb->groups[number].buddy;
	uint32_t count = buddy->clusters - bits_after_last_one(buddy->bitmap, 0, buddy->clusters);
	group_leave(mb, number);
	return count;
}

bool empty_groups_find(struct ext2mb *mb, const struct empty_groups_request *request, uint64_t *position)
{
	struct choice choice = { .mb = mb, .request = request };
	uint32_t per_group = mb->geometry.clusters_per_group, before = 0;

	choice.longest = look_around(&choice);
	look_around(&choice);
	if (!choice.best.groups)
		return false;
	if (choice.best.first && may_begin_in(&choice, choice.best.first - 1))
		before = free_at_end(mb, choice.best.first - 1);
	uint32_t group = before ? choice.best.first - 1 : choice.best.first;
	uint32_t cluster = before ? per_group - before : 0;
	if (request->begins_with_stripe && mb->stripe.blocks)
		cluster = stripe_next(&mb->stripe, &mb->geometry, group, cluster);
	*position = (uint64_t)group * per_group + cluster;
	return true;
}

bool empty_groups_first(const struct ext2mb *mb, uint32_t from, uint64_t *position)
{
	uint32_t groups = mb->geometry.groups, most = groups < EMPTY_GROUPS_MOST ? groups : EMPTY_GROUPS_MOST;

	for (uint32_t step = 0; step < most; step++) {
		uint32_t number = (uint32_t)(((uint64_t)from + step) % groups);

		if (!is_free(mb, number))
			continue;
		*position = (uint64_t)number * mb->geometry.clusters_per_group;
		return true;
	}
	return false;
}

bool empty_groups_are_most(const struct ext2mb *mb)
{
	/* An odd distance: the first groups of flex groups hold the metadata of all. */
	uint32_t distance = (mb->geometry.groups / SAMPLED) | 1, seen = 0, nearly_free = 0;

	for (uint64_t number = 0; number < mb->geometry.groups; number += distance, seen++) {
		uint64_t clusters = geometry_group_clusters(&mb->geometry, (uint32_t)number);

		nearly_free += group_free_clusters(&mb->groups[number]) * (uint64_t)NEARLY_DENOMINATOR >=
		               clusters * NEARLY_NUMERATOR;
	}
	return 2 * nearly_free > seen;
}
