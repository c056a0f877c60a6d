// SPDX-License-Identifier: LGPL-2.1-or-later
#include "ext2fs/preallocation/small_runs.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

void small_runs_destroy(struct small_runs *runs)
{
	free(runs->runs);
	*runs = (struct small_runs){ 0 };
}

errcode_t small_runs_reserve(struct small_runs *runs)
{
	if (runs->count < runs->capacity)
		return 0;

	uint32_t capacity = 2 * runs->capacity + 2;
	struct small_run *grown = realloc(runs->runs, capacity * sizeof(*grown));
	if (!grown)
		return ENOMEM;
	runs->runs = grown;
	runs->capacity = capacity;
	return 0;
}

static unsigned int order_of(uint32_t count)
{
	unsigned int order = 31 - (unsigned int)__builtin_clz(count);

	return order < SMALL_RUNS_ORDERS ? order : SMALL_RUNS_ORDERS - 1;
}

static void erase(struct small_runs *runs, uint32_t index)
{
	struct small_run *place = runs->runs + index;

	memmove(place, place + 1, (--runs->count - index) * sizeof(*place));
}

/* Whether they touch within a group: one ends where the other begins. */
static bool is_joined(const struct small_run *left, const struct small_run *right, uint32_t group_clusters)
{
	return left->position + left->count == right->position && right->position % group_clusters;
}

void small_runs_add(struct small_runs *runs, struct small_run run, uint32_t group_clusters)
{
	for (uint32_t index = 0; index < runs->count;) {
		struct small_run other = runs->runs[index];

		if (!is_joined(&other, &run, group_clusters) && !is_joined(&run, &other, group_clusters)) {
			index++;
			continue;
		}
		run.position = other.position < run.position ? other.position : run.position;
		run.count += other.count;
		erase(runs, index);
	}
	assert(runs->count < runs->capacity);
	runs->runs[runs->count++] = run;
}

static uint64_t distance(uint64_t one, uint64_t other)
{
	return one < other ? other - one : one - other;
}

bool small_runs_take(struct small_runs *runs, uint32_t least, uint32_t most, uint64_t goal, struct small_run *taken)
{
	struct small_run *best = NULL;

	for (struct small_run *run = runs->runs; run < runs->runs + runs->count; run++) {
		if (run->count < least)
			continue;
		if (!best || order_of(run->count) < order_of(best->count) ||
		    (order_of(run->count) == order_of(best->count) &&
		     distance(run->position, goal) < distance(best->position, goal)))
			best = run;
	}
	if (!best)
		return false;
	*taken = (struct small_run){ best->position, most < best->count ? most : best->count };
	best->position += taken->count;
	best->count -= taken->count;
	if (!best->count)
		erase(runs, (uint32_t)(best - runs->runs));
	return true;
}

bool small_runs_take_at(struct small_runs *runs, uint64_t position, uint32_t most, uint32_t *taken)
{
	for (uint32_t index = 0; index < runs->count; index++) {
		struct small_run *run = &runs->runs[index];

		if (run->position != position)
			continue;
		*taken = most < run->count ? most : run->count;
		run->position += *taken;
		run->count -= *taken;
		if (!run->count)
			erase(runs, index);
		return true;
	}
	return false;
}

void small_runs_trim(struct small_runs *runs, small_runs_visit visit, void *context)
{
	uint32_t in_bucket[SMALL_RUNS_ORDERS] = { 0 };
	uint32_t surplus[SMALL_RUNS_ORDERS];
	uint32_t kept = 0;

	if (runs->count <= SMALL_RUNS_MOST)
		return;
	for (uint32_t index = 0; index < runs->count; index++)
		in_bucket[order_of(runs->runs[index].count)]++;
	for (unsigned int order = 0; order < SMALL_RUNS_ORDERS; order++)
		surplus[order] = in_bucket[order] > SMALL_RUNS_MOST ? in_bucket[order] - SMALL_RUNS_KEPT : 0;
	for (uint32_t index = 0; index < runs->count; index++) {
		struct small_run run = runs->runs[index];

		if (!surplus[order_of(run.count)]) {
			runs->runs[kept++] = run;
			continue;
		}
		surplus[order_of(run.count)]--;
		visit(context, run.position, run.count);
	}
	runs->count = kept;
}
