/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "simulate/replay/file_runs.h"

#include <string.h>

#include "support/vector.h"

static uint32_t end_of(const struct file_run *run)
{
	return run->logical + run->count;
}

size_t file_runs_find(const struct file_runs *runs, uint32_t logical)
{
	size_t from = 0, to = runs->count;

	/* Most files grow at their ends. */
	if (to && end_of(&runs->list[to - 1]) <= logical)
		return to;
	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (end_of(&runs->list[middle]) <= logical)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

bool file_runs_hole(const struct file_runs *runs, uint32_t logical, uint32_t *start, uint32_t *end)
{
	size_t index = file_runs_find(runs, logical);

	*start = index ? end_of(&runs->list[index - 1]) : 0;
	*end = index < runs->count ? runs->list[index].logical : UINT32_MAX;
	return *end > logical;
}

static bool continues(const struct file_run *left, const struct file_run *right)
{
	return end_of(left) == right->logical && left->physical + left->count == right->physical &&
	       left->is_ahead == right->is_ahead;
}

static void delete (struct file_runs *runs, size_t index)
{
	runs->count--;
	memmove(&runs->list[index], &runs->list[index + 1], (runs->count - index) * sizeof(*runs->list));
}

static errcode_t insert(struct file_runs *runs, size_t index, const struct file_run *run)
{
	errcode_t error = vector_reserve(&runs->list, &runs->capacity, runs->count + 1, sizeof(*runs->list));

	if (error)
		return error;
	memmove(&runs->list[index + 1], &runs->list[index], (runs->count - index) * sizeof(*runs->list));
	runs->list[index] = *run;
	runs->count++;
	return 0;
}

/* Joins a run with the next one, if that continues it. */
static bool join(struct file_runs *runs, size_t index)
{
	if (index + 1 >= runs->count || !continues(&runs->list[index], &runs->list[index + 1]))
		return false;
	runs->list[index].count += runs->list[index + 1].count;
	delete (runs, index + 1);
	return true;
}

errcode_t file_runs_add(struct file_runs *runs, const struct file_run *run)
{
	size_t index = file_runs_find(runs, run->logical);

	if (index && continues(&runs->list[index - 1], run)) {
		runs->list[--index].count += run->count;
	} else {
		errcode_t error = insert(runs, index, run);

		if (error)
			return error;
	}
	runs->blocks += run->is_ahead ? 0 : run->count;
	join(runs, index);
	if (index)
		join(runs, index - 1);
	return 0;
}

/* Cuts a run in two if the block lies in its middle. */
static errcode_t cut_at(struct file_runs *runs, uint32_t logical)
{
	size_t index = file_runs_find(runs, logical);

	if (index == runs->count || runs->list[index].logical >= logical)
		return 0;
	struct file_run *run = &runs->list[index], rest = *run;
	uint32_t before = logical - run->logical;

	rest.logical += before;
	rest.physical += before;
	rest.count -= before;
	errcode_t error = insert(runs, index + 1, &rest);
	if (!error)
		runs->list[index].count = before;
	return error;
}

/* Makes the runs in [logical, end) whole. *index becomes that of the first of them. */
static errcode_t cut_out(struct file_runs *runs, uint32_t logical, uint32_t end, size_t *index)
{
	errcode_t error = cut_at(runs, logical);

	if (!error)
		error = cut_at(runs, end);
	*index = file_runs_find(runs, logical);
	return error;
}

errcode_t file_runs_remove(struct file_runs *runs, uint32_t logical, uint32_t end, struct file_run *run)
{
	size_t index;
	errcode_t error = cut_out(runs, logical, end, &index);

	*run = (struct file_run){ 0 };
	if (error || index == runs->count || runs->list[index].logical >= end)
		return error;
	*run = runs->list[index];
	runs->blocks -= run->is_ahead ? 0 : run->count;
	delete (runs, index);
	return 0;
}

errcode_t file_runs_confirm(struct file_runs *runs, uint32_t logical, uint32_t end)
{
	size_t index = file_runs_find(runs, logical);

	while (index < runs->count && !runs->list[index].is_ahead && end_of(&runs->list[index]) < end)
		index++;
	if (index == runs->count || !runs->list[index].is_ahead)
		return 0;
	errcode_t error = cut_out(runs, logical, end, &index);
	size_t first = index ? index - 1 : 0;

	if (error)
		return error;
	for (; index < runs->count && runs->list[index].logical < end; index++) {
		runs->blocks += runs->list[index].is_ahead ? runs->list[index].count : 0;
		runs->list[index].is_ahead = false;
	}
	while (first < runs->count && runs->list[first].logical < end)
		first += !join(runs, first);
	return 0;
}

uint64_t file_runs_extents(const struct file_runs *runs, uint32_t logical, uint32_t end)
{
	uint64_t extents = 0, next = 0;

	for (size_t index = file_runs_find(runs, logical); index < runs->count; index++) {
		const struct file_run *run = &runs->list[index];

		if (run->logical >= end)
			break;
		extents += !extents || run->physical != next;
		next = run->physical + run->count;
	}
	return extents;
}
