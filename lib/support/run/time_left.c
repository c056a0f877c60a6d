/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "support/run/time_left.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* So many of the table's seconds count as having been measured at its own speed before anything was. */
#define TRUST_SECONDS 0.02
/* The part of what a stage is expected to take that counts as having been measured at the speed of those before it. */
#define TRUST_PART 0.02
/* Periods differ by this part of their length though the same was done; the more there are, the less that says. */
#define NOISE_PART 0.2
/* Nothing is free: of what was known before, each speed is at least this part. */
#define LEAST_SPEED 1e-3

/* A stage that tells nothing of itself, and takes longer than was expected, has this part of that still to go. */
#define OVERDUE_PART 0.1

/* Levels below the next one are expected to have this part of the folders that the level above has, at most. */
#define MOST_GROWTH 0.5
/* And less than the level that is being read has found, since trees become narrower in the end. */
#define GROWTH_SHRINKS 0.8

struct speeds {
	double files, bytes;
};

struct work survey_expect(const struct survey *survey)
{
	const struct found *now = &survey->now, *before = &survey->at_level;
	double listed = (double)(now->listed - before->listed), names = (double)(now->names - before->names);
	double unlisted = (double)(before->folders - before->listed) - listed;
	struct work work = { .files = (double)now->names };

	if (!now->listed)
		return (struct work){ 0 };
	/* Of a level of which nothing is known yet it is expected to be like those before it. */
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
		.costs = costs, .count = count, .stage = count, .files_speed = 1, .bytes_speed = 1
	};
}

static void fit_add(struct time_fit *fit, double seconds, double files, double bytes)
{
	fit->periods++;
	fit->seconds += seconds;
	fit->seconds_seconds += seconds * seconds;
	fit->files += files;
	fit->bytes += bytes;
	fit->files_files += files * files;
	fit->files_bytes += files * bytes;
	fit->bytes_bytes += bytes * bytes;
	fit->files_seconds += files * seconds;
	fit->bytes_seconds += bytes * seconds;
}

/*
 * The variance of a period's length, by what least squares leave over. Where files and bytes have always come in the
 * same proportion there is nothing to solve.
 */
static double noise(const struct time_fit *fit)
{
	double determinant = fit->files_files * fit->bytes_bytes - fit->files_bytes * fit->files_bytes;
	double part = NOISE_PART * NOISE_PART * fit->seconds_seconds, left = part;

	if (determinant > 1e-9 * fit->files_files * fit->bytes_bytes) {
		double files = fit->files_seconds * fit->bytes_bytes - fit->bytes_seconds * fit->files_bytes;
		double bytes = fit->bytes_seconds * fit->files_files - fit->files_seconds * fit->files_bytes;

		left = fmax(fit->seconds_seconds -
		                    (files * fit->files_seconds + bytes * fit->bytes_seconds) / determinant,
		            0);
	}
	return (left + 3 * part / fit->periods) / fit->periods;
}

/*
 * Least squares over the periods between updates, held near what was known before as far as the noise covers them: a
 * few large files tell nothing about the cost of a file. That leaves out the time of periods in which nothing was
 * counted, so both speeds are scaled in the end until the sum is what has gone by.
 */
static struct speeds fit_speeds(const struct time_fit *fit, struct speeds before, double trust_seconds)
{
	double expected = fit->files * before.files + fit->bytes * before.bytes;

	if (expected <= 0 || fit->seconds <= 0)
		return before;
	/* What was known before says how the two compare; how fast both are, this stage shows by itself. */
	double scale = fit->seconds / expected, variance = noise(fit);
	struct speeds known = { before.files * scale, before.bytes * scale };
	double files_ridge = variance / (known.files * known.files),
	       bytes_ridge = variance / (known.bytes * known.bytes);
	double files_files = fit->files_files + files_ridge, bytes_bytes = fit->bytes_bytes + bytes_ridge;
	double files_seconds = fit->files_seconds + files_ridge * known.files;
	double bytes_seconds = fit->bytes_seconds + bytes_ridge * known.bytes;
	double determinant = files_files * bytes_bytes - fit->files_bytes * fit->files_bytes;

	if (!(determinant > 0))
		return known;
	struct speeds speeds = {
		fmax((files_seconds * bytes_bytes - bytes_seconds * fit->files_bytes) / determinant,
		     LEAST_SPEED * known.files),
		fmax((bytes_seconds * files_files - files_seconds * fit->files_bytes) / determinant,
		     LEAST_SPEED * known.bytes),
	};
	double trust = trust_seconds / (trust_seconds + fit->files + fit->bytes);

	scale = fit->seconds / (fit->files * speeds.files + fit->bytes * speeds.bytes);
	speeds.files = before.files * trust + speeds.files * scale * (1 - trust);
	speeds.bytes = before.bytes * trust + speeds.bytes * scale * (1 - trust);
	return speeds;
}

static struct speeds speeds_of_all(const struct time_left *left)
{
	return fit_speeds(&left->all, (struct speeds){ 1, 1 }, TRUST_SECONDS);
}

void time_left_begin(struct time_left *left, const char *stage)
{
	const struct speeds speeds = speeds_of_all(left);
	size_t number = 0;

	while (number < left->count && strcmp(left->costs[number].stage, stage))
		number++;
	left->stage = number;
	if (number < left->count)
		left->next = number + 1;
	left->files_speed = speeds.files;
	left->bytes_speed = speeds.bytes;
	left->own = (struct time_fit){ 0 };
	left->seconds = 0;
	left->done = (struct work){ 0 };
}

static double share_of(struct work done, struct work total)
{
	if (total.bytes > 0)
		return fmin(done.bytes / total.bytes, 1);
	return total.files > 0 ? fmin(done.files / total.files, 1) : -1;
}

/* A stage that is not in the table, or whose bytes are no contents: by its share alone. */
static double left_by_share(double seconds, struct work done, struct work total)
{
	double share = share_of(done, total);

	return share > 0 ? seconds * (1 - share) / share : share < 0 ? 0 : -1;
}

static double left_of_stage(struct time_left *left, double seconds, struct work done, struct work total,
                            struct work whole)
{
	const struct stage_cost *cost = &left->costs[left->stage];
	const struct speeds before = { left->files_speed, left->bytes_speed };
	double files = cost->per_file * (total.files > 0 ? total.files : whole.files);
	double bytes = cost->per_byte * (total.bytes > 0 ? total.bytes : whole.bytes);
	double once = cost->once * before.files;
	struct speeds speeds = fit_speeds(&left->own, before, TRUST_PART * (files + bytes));

	/* It counts nothing. */
	if (!left->own.files && !left->own.bytes) {
		double expected = once + files * before.files + bytes * before.bytes;

		return fmax(expected - seconds, expected * OVERDUE_PART);
	}
	return fmax(files - cost->per_file * done.files, 0) * speeds.files +
	       fmax(bytes - cost->per_byte * done.bytes, 0) * speeds.bytes;
}

static void measure(struct time_left *left, double seconds, struct work done)
{
	const struct stage_cost *cost = &left->costs[left->stage];
	double files = cost->per_file * (done.files - left->done.files);
	double bytes = cost->per_byte * (done.bytes - left->done.bytes);

	fit_add(&left->own, seconds - left->seconds, files, bytes);
	/* What a stage takes that counts nothing tells nothing about the others. */
	if (left->own.files || left->own.bytes)
		fit_add(&left->all, seconds - left->seconds, files, bytes);
	left->seconds = seconds;
	left->done = done;
}

double time_left_update(struct time_left *left, double seconds, struct work done, struct work total, struct work whole)
{
	bool has_row = left->stage < left->count;
	const struct stage_cost *cost = has_row ? &left->costs[left->stage] : NULL;
	bool by_share = !has_row || (total.bytes > 0 && !cost->per_byte);
	double sum;

	if (has_row && !by_share)
		measure(left, seconds, done);
	if (by_share)
		sum = left_by_share(seconds, done, total);
	else
		sum = left_of_stage(left, seconds, done, total, whole);
	if (sum < 0 || (!left->count && share_of(done, total) < 0))
		return -1;
	const struct speeds speeds = speeds_of_all(left);

	for (size_t number = left->next; number < left->count; number++)
		sum += left->costs[number].once * speeds.files +
		       left->costs[number].per_file * whole.files * speeds.files +
		       left->costs[number].per_byte * whole.bytes * speeds.bytes;
	return sum;
}
