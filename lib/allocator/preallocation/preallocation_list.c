/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "allocator/preallocation/preallocation_list.h"

#include <assert.h>
#include <string.h>

#include "support/bisect.h"

void preallocation_list_destroy(struct preallocation_list *list)
{
	free(list->items);
	*list = (struct preallocation_list){ 0 };
}

errcode_t preallocation_list_reserve(struct preallocation_list *list, uint32_t more)
{
	return vector_reserve(&list->items, &list->capacity, (size_t)list->count + more, sizeof(*list->items));
}

static void insert(struct preallocation_list *list, uint32_t index, const struct preallocation *added)
{
	struct preallocation *place = list->items + index;

	assert(list->count < list->capacity);
	memmove(place + 1, place, (list->count++ - index) * sizeof(*place));
	*place = *added;
}

static void erase(struct preallocation_list *list, uint32_t index)
{
	struct preallocation *place = list->items + index;

	memmove(place, place + 1, (--list->count - index) * sizeof(*place));
}

static uint64_t end_of(const struct preallocation *item)
{
	return (uint64_t)item->logical + item->count;
}

/* The first preallocation that ends after the logical cluster. */
static uint32_t find(const struct preallocation_list *list, uint32_t logical)
{
	return (uint32_t)BISECT(list->count, item, end_of(&list->items[item]) > logical);
}

bool inode_pa_alloc_served(struct preallocation_list *list, uint64_t *position, uint32_t *count)
{
	if (!list->served)
		return false;
	*count = list->served;
	*position = list->items[list->cursor].position - list->served;
	list->served = 0;
	return true;
}

void inode_pa_add(struct preallocation_list *list, const struct preallocation *added)
{
	uint32_t index = find(list, added->logical);

	assert(!list->served);
	assert(index == list->count || list->items[index].logical >= end_of(added));
	insert(list, index, added);
	list->cursor = index;
}

errcode_t inode_pa_alloc_any(struct preallocation_list *list, uint32_t logical, uint32_t most,
                             struct preallocation *taken)
{
	uint32_t index = find(list, logical);

	assert(!list->served);
	taken->count = 0;
	if (index == list->count || list->items[index].logical > logical)
		return 0;

	struct preallocation *from = &list->items[index];
	uint32_t before = logical - from->logical;
	uint32_t after = from->count - before > most ? from->count - before - most : 0;
	if (before && after) {
		errcode_t error = preallocation_list_reserve(list, 1);
		if (error)
			return error;
		from = &list->items[index];
	}
	taken->position = from->position + before;
	taken->count = from->count - before - after;

	struct preallocation rest = { taken->position + taken->count, logical + taken->count, after };
	from->count = before;
	if (before && after)
		insert(list, ++index, &rest);
	else if (after)
		*from = rest;
	else if (!before)
		erase(list, index);
	list->cursor = index;
	return 0;
}

void inode_pa_clip_hole(const struct preallocation_list *list, uint32_t logical, uint64_t *start, uint64_t *end)
{
	uint32_t next = find(list, logical);

	if (next < list->count && list->items[next].logical < *end)
		*end = list->items[next].logical;
	if (next && end_of(&list->items[next - 1]) > *start)
		*start = end_of(&list->items[next - 1]);
}

uint32_t inode_pa_place(uint32_t goal, uint32_t goal_count, uint32_t request, uint32_t request_count, uint32_t found)
{
	uint32_t at_end = goal + goal_count - found;

	if (at_end <= request)
		return at_end;
	return (uint64_t)request + request_count <= (uint64_t)goal + found ? goal : request;
}

static unsigned int order_of(uint32_t count)
{
	unsigned int order = 31 - (unsigned int)__builtin_clz(count);

	return order < GROUP_PA_ORDERS ? order : GROUP_PA_ORDERS - 1;
}

/* True if one ends where the other begins, in the same group. */
static bool is_joined(const struct preallocation *left, const struct preallocation *right, uint32_t group_clusters)
{
	return left->position + left->count == right->position && right->position % group_clusters;
}

void group_pa_add(struct preallocation_list *list, struct preallocation run, uint32_t group_clusters)
{
	for (uint32_t index = 0; index < list->count;) {
		struct preallocation other = list->items[index];

		if (!is_joined(&other, &run, group_clusters) && !is_joined(&run, &other, group_clusters)) {
			index++;
			continue;
		}
		run.position = other.position < run.position ? other.position : run.position;
		run.count += other.count;
		erase(list, index);
	}
	insert(list, list->count, &run);
}

static uint64_t distance(uint64_t one, uint64_t other)
{
	return one < other ? other - one : one - other;
}

/* From its front. False if there is no such run. */
static bool alloc_front(struct preallocation_list *list, struct preallocation *run, uint32_t most,
                        struct preallocation *taken)
{
	if (!run)
		return false;
	taken->position = run->position;
	taken->count = most < run->count ? most : run->count;
	run->position += taken->count;
	run->count -= taken->count;
	if (!run->count)
		erase(list, (uint32_t)(run - list->items));
	return true;
}

bool group_pa_alloc(struct preallocation_list *list, uint32_t least, uint32_t most, uint64_t goal,
                    struct preallocation *taken)
{
	struct preallocation *best = NULL;

	for (struct preallocation *run = list->items; run < list->items + list->count; run++) {
		if (run->count < least)
			continue;
		if (!best || order_of(run->count) < order_of(best->count) ||
		    (order_of(run->count) == order_of(best->count) &&
		     distance(run->position, goal) < distance(best->position, goal)))
			best = run;
	}
	return alloc_front(list, best, most, taken);
}

bool group_pa_alloc_at(struct preallocation_list *list, uint64_t position, uint32_t most, struct preallocation *taken)
{
	for (uint32_t index = 0; index < list->count; index++)
		if (list->items[index].position == position)
			return alloc_front(list, &list->items[index], most, taken);
	return false;
}

void group_pa_trim(struct preallocation_list *list, group_pa_visit visit, void *context)
{
	uint32_t in_bucket[GROUP_PA_ORDERS] = { 0 };
	uint32_t surplus[GROUP_PA_ORDERS];
	uint32_t kept = 0;

	if (list->count <= GROUP_PA_MOST)
		return;
	for (uint32_t index = 0; index < list->count; index++)
		in_bucket[order_of(list->items[index].count)]++;
	for (unsigned int order = 0; order < GROUP_PA_ORDERS; order++)
		surplus[order] = in_bucket[order] > GROUP_PA_MOST ? in_bucket[order] - GROUP_PA_KEPT : 0;
	for (uint32_t index = 0; index < list->count; index++) {
		struct preallocation run = list->items[index];

		if (!surplus[order_of(run.count)]) {
			list->items[kept++] = run;
			continue;
		}
		surplus[order_of(run.count)]--;
		visit(context, run.position, run.count);
	}
	list->count = kept;
}
