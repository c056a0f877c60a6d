/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How a filesystem ages: weights of sizes, ages and depths of its files, and how files come and go. It is a text with
 * a line for each:
 *
 *   size BYTES WEIGHT           files of up to so many bytes, and more than the line before says
 *   age AGE WEIGHT              files of up to this age; only the ages' ratios to the last one matter
 *   depth DEPTH WEIGHT COUNT    files in one of so many directories at this depth, 0 being the top
 *   step PARTS WEIGHT           files that are written in so many parts
 *   fallocate PERCENT           so many files are reserved at once
 *   fallocate-parts PERCENT     so many of the others are reserved part by part
 *   streams N                   so many files grow side by side
 *   delete PERCENT              so much of what there is goes before the filesystem is filled again
 *
 * "#" begins a comment. Without ages any file may be deleted. The built-in profiles have the figures that Kadekodi,
 * Nagarajan and Ganger published (Geriatrix, USENIX ATC 2018).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "support/problem.h"

#define PROFILE_MOST_WEIGHTS 64
#define PROFILE_MOST_DEPTH 64
#define PROFILE_MOST_DIRECTORIES 100000

struct weight {
	double value;
	uint32_t count;       /* of directories */
	uint64_t weight, sum; /* sum: of this weight and those before */
};

struct weights {
	struct weight list[PROFILE_MOST_WEIGHTS];
	size_t count;
};

struct profile {
	struct weights sizes, ages, depths, steps; /* values ascend; ages may be empty */
	uint32_t fallocate_percent, fallocate_parts_percent, streams, delete_percent;
};

/*
 * Reads a built-in profile, or else a file. EINVAL: a line or the whole makes no sense; errors of reading.
 */
MUST_CHECK errcode_t profile_read(const char *name, struct profile *profile, struct problem *problem);

/* Chooses an index at random, in proportion to the weights. */
size_t profile_choose(const struct weights *weights, uint64_t *random);

/* Chooses a file's size in bytes, at least 1. */
uint64_t profile_choose_size(const struct profile *profile, uint64_t *random);

/* Returns the index of a file's size: the first size of the profile that is not smaller, else the last one. */
size_t profile_size_index(const struct profile *profile, uint64_t bytes);

/*
 * Returns the distance of counts, one for each weight, from the weights: the largest difference of cumulative shares
 * (Kolmogorov-Smirnov, at the profile's bounds). 0 to 1; 0 if all counts are 0.
 */
double profile_distance(const struct weights *weights, const uint64_t *counts);

/* The mean file size in bytes. */
double profile_mean_size(const struct profile *profile);
