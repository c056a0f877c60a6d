/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How a filesystem ages: sizes, ages and depths of the files that live on it, as weights, and how they come and go. A
 * text with a line for each:
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
 * "#" begins a comment. Without ages any file may go. The figures of the profiles that are built in are those that
 * Kadekodi, Nagarajan and Ganger published (Geriatrix, USENIX ATC 2018).
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
	uint64_t weight, sum; /* sum: of this one and those before */
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
 * Of a name that is built in, else of a file. EINVAL: a line or the whole says nothing that makes sense; errors of
 * reading.
 */
MUST_CHECK errcode_t profile_read(const char *name, struct profile *profile, struct problem *problem);

/* The index of one of them, at random, each as likely as its weight says. */
size_t profile_choose(const struct weights *weights, uint64_t *random);

/* Bytes of a file, of which there is at least one. */
uint64_t profile_choose_size(const struct profile *profile, uint64_t *random);

/* Which of the profile's sizes such a file belongs to: the first that is not smaller, else the last one. */
size_t profile_size_index(const struct profile *profile, uint64_t bytes);

/*
 * How far counts, one for each of the weights, are from them: the largest difference between the shares of all up to
 * one of them (Kolmogorov and Smirnov's distance, at the bounds that the profile names). 0 to 1; 0 if all counts are 0.
 */
double profile_distance(const struct weights *weights, const uint64_t *counts);

/* Bytes of the average file. */
double profile_mean_size(const struct profile *profile);
