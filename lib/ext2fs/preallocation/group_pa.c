// SPDX-License-Identifier: LGPL-2.1-or-later
#include "ext2fs/preallocation/group_pa.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

void group_pa_destroy(struct group_pas *runs)
{
	free(runs->runs);
	*runs = (struct group_pas){ 0 };
}

errcode_t group_pa_reserve(struct group_pas *runs)
{
	if (runs->count < runs->capacity)
		return 0;

	uint32_t capacity = 2 * runs->capacity + 2;
	struct group_pa *grown = realloc(runs->runs, capacity * sizeof(*grown));
	if (!grown)
		return ENOMEM;
	runs->runs = grown;
	runs->capacity = capacity;
	return 0;
}

static unsigned int order_of(uint32_t count)
{
	unsigned int order = 31 - (unsigned int)__builtin_clz(count);

	return order < GROUP_PA_ORDERS ? order : GROUP_PA_ORDERS - 1;
}

static void erase(struct group_pas *runs, uint32_t index)
{
	struct group_pa *place = runs->runs + index;

	memmove(place, place + 1, (--runs->count - index) * sizeof(*place));
}

/* Whether they touch within a group: one ends where the other begins. */
static bool is_joined(const struct group_pa *left, const struct group_pa *right, uint32_t group_clusters)
{
	return left->position + left->count == right->position && right->position % group_clusters;
}

void group_pa_add(struct group_pas *runs, struct group_pa run, uint32_t group_clusters)
{
	for (uint32_t index = 0; index < runs->count;) {
		struct group_pa other = runs->runs[index];

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

bool group_pa_take(struct group_pas *runs, uint32_t least, uint32_t most, uint64_t goal, struct group_pa *taken)
{
	struct group_pa *best = NULL;

	for (struct group_pa *run = runs->runs; run < runs->runs + runs->count; run++) {
		if (run->count < least)
			continue;
		if (!best || order_of(run->count) < order_of(best->count) ||
		    (order_of(run->count) == order_of(best->count) &&
		     distance(run->position, goal) < distance(best->position, goal)))
			best = run;
	}
	if (!best)
		return false;
	*taken = (struct group_pa){ best->position, most < best->count ? most : best->count };
	best->position += taken->count;
	best->count -= taken->count;
	if (!best->count)
		erase(runs, (uint32_t)(best - runs->runs));
	return true;
}

bool group_pa_take_at(struct group_pas *runs, uint64_t position, uint32_t most, uint32_t *taken)
{
	for (uint32_t index = 0; index < runs->count; index++) {
		struct group_pa *run = &runs->runs[index];

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

void group_pa_trim(struct group_pas *runs, group_pa_visit visit, void *context)
{
	uint32_t in_bucket[GROUP_PA_ORDERS] = { 0 };
	uint32_t surplus[GROUP_PA_ORDERS];
	uint32_t kept = 0;

	if (runs->count <= GROUP_PA_MOST)
		return;
	for (uint32_t index = 0; index < runs->count; index++)
		in_bucket[order_of(runs->runs[index].count)]++;
	for (unsigned int order = 0; order < GROUP_PA_ORDERS; order++)
		surplus[order] = in_bucket[order] > GROUP_PA_MOST ? in_bucket[order] - GROUP_PA_KEPT : 0;
	for (uint32_t index = 0; index < runs->count; index++) {
		struct group_pa run = runs->runs[index];

		if (!surplus[order_of(run.count)]) {
			runs->runs[kept++] = run;
			continue;
		}
		surplus[order_of(run.count)]--;
		visit(context, run.position, run.count);
	}
	runs->count = kept;
}
