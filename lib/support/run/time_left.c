/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "support/run/time_left.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/*
 * Files and bytes have one pace. A least-squares fit of the cost of each was a little nearer for trees in memory, and
 * worse if small files of a slow source follow large ones: doc/results/populate.md, "The time left".
 */

/* This many seconds of the table count as having been measured at its own speed before the work began. */
#define TRUST_SECONDS 0.02
/* This part of a stage's expected time counts as having been measured at the pace of the stages before it. */
#define TRUST_PART 0.05

/* A stage that reports no progress and takes longer than expected is assumed to need this part of the expected time
 * more. */
#define OVERDUE_PART 0.1

/* Each level below the next one is expected to have at most this part of the folders of the level above it. */
#define MOST_GROWTH 0.5
/* It also has fewer than the level that is being read has found, since trees become narrower in the end. */
#define GROWTH_SHRINKS 0.8

struct work survey_expect(const struct survey *survey)
{
	const struct found *now = &survey->now, *before = &survey->at_level;
	double listed = (double)(now->listed - before->listed), names = (double)(now->names - before->names);
	double unlisted = (double)(before->folders - before->listed) - listed;
	struct work work = { .files = (double)now->names };

	if (!now->listed)
		return (struct work){ 0 };
	/* A level of which nothing is known yet is expected to be like those before it. */
	double names_each = listed > 0 ? names / listed : (double)now->names / (double)now->listed;
	double folders_each = listed > 0 ? (double)(now->folders - before->folders) / listed : 0;
	double growth = fmin(folders_each * GROWTH_SHRINKS, MOST_GROWTH);
	double below = (double)(now->folders - before->folders) + fmax(unlisted, 0) * folders_each;

	work.files += names_each * (fmax(unlisted, 0) + below / (1 - growth));
	if (survey->examined)
		work.bytes = (double)now->bytes / (double)survey->examined * work.files;
	return work;
}

void time_left_init(struct time_left *left, const struct stage_cost *costs, size_t count)
{
	*left = (struct time_left){
		.costs = costs, .count = count, .stage = count, .all = { TRUST_SECONDS, TRUST_SECONDS }
	};
}

static double speed(const struct pace *pace)
{
	return pace->seconds / pace->expected;
}

void time_left_begin(struct time_left *left, const char *stage)
{
	size_t number = 0;

	while (number < left->count && strcmp(left->costs[number].stage, stage))
		number++;
	left->stage = number;
	if (number < left->count)
		left->next = number + 1;
	left->before = speed(&left->all);
	left->own = (struct pace){ 0 };
	left->seconds = 0;
	left->done = (struct work){ 0 };
}

static double share_of(struct work done, struct work total)
{
	if (total.bytes > 0)
		return fmin(done.bytes / total.bytes, 1);
	return total.files > 0 ? fmin(done.files / total.files, 1) : -1;
}

/* Estimates a stage that is not in the table, or whose bytes are not contents, only by its share. */
static double left_by_share(double seconds, struct work done, struct work total)
{
	double share = share_of(done, total);

	return share > 0 ? seconds * (1 - share) / share : share < 0 ? 0 : -1;
}

static double expected_of(const struct stage_cost *cost, struct work work)
{
	return cost->per_file * work.files + cost->per_byte * work.bytes;
}

static void measure(struct time_left *left, double seconds, struct work done, double whole)
{
	const struct stage_cost *cost = &left->costs[left->stage];
	double period = seconds - left->seconds, expected = expected_of(cost, done) - expected_of(cost, left->done);
	/* With equal weights the time before a change of pace would hide the change for most of the stage. */
	double part = left->seconds / seconds, kept = part * part * part * part;

	if (left->seconds > 0)
		left->own = (struct pace){ left->own.seconds * kept, left->own.expected * kept };
	else
		left->own = (struct pace){ left->before * whole * TRUST_PART, whole * TRUST_PART };
	left->own.seconds += period;
	left->own.expected += expected;
	/* The time of a stage that counts nothing tells nothing about the others. */
	if (expected_of(cost, done) > 0) {
		left->all.seconds += period;
		left->all.expected += expected;
	}
	left->seconds = seconds;
	left->done = done;
}

static double left_of_stage(struct time_left *left, double seconds, struct work done, struct work total)
{
	const struct stage_cost *cost = &left->costs[left->stage];
	const struct work rest = { fmax(total.files - done.files, 0), fmax(total.bytes - done.bytes, 0) };
	double whole = expected_of(cost, total), all = (cost->once + whole) * left->before;

	measure(left, seconds, done, whole);
	/* The stage counts nothing. */
	if (!expected_of(cost, done))
		return fmax(all - seconds, all * OVERDUE_PART);
	return expected_of(cost, rest) * speed(&left->own);
}

double time_left_update(struct time_left *left, double seconds, struct work done, struct work total, struct work whole)
{
	bool has_row = left->stage < left->count;
	double sum;

	if (has_row && (!total.bytes || left->costs[left->stage].per_byte))
		sum = left_of_stage(left, seconds, done,
		                    (struct work){ total.files > 0 ? total.files : whole.files,
		                                   total.bytes > 0 ? total.bytes : whole.bytes });
	else
		sum = left_by_share(seconds, done, total);
	if (sum < 0 || (!left->count && share_of(done, total) < 0))
		return -1;
	for (size_t number = left->next; number < left->count; number++)
		sum += speed(&left->all) * (left->costs[number].once + expected_of(&left->costs[number], whole));
	return sum;
}
