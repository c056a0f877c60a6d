/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One size tried: mke2fs makes an empty filesystem of it, whose room is compared with what the tree needs. */
#pragma once

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "populate/build/plan.h"
#include "populate/build/workplace.h"
#include "populate/format/filesystem.h"
#include "populate/format/mke2fs.h"
#include "populate/size/trials.h"

struct sizing {
	struct plan *plan; /* of which the space estimate is made */
	const struct workplace *work;
	struct mke2fs_run run; /* what mke2fs is told; -N, of the last filesystem made, is set here */
	struct trials *trials; /* NULL: mke2fs makes the filesystem in the image, which run.path names: */
	int descriptor;        /* a file, cut at the offset before that; -1: one that keeps its size, or a device */

	uint64_t extra_blocks;     /* to be left beyond those that were counted */
	bool wants_default_blocks; /* see populate/size/default_blocks.h */
	uint64_t base_inodes;      /* -N for mke2fs in the first attempt at a size, 0: it decides */

	struct filesystem_room room; /* of the last filesystem made */
};

/*
 * Formats, and again with more inodes where they were too few, unless -N fixes them, and has the tree counted for
 * each geometry that it meets. Errors are those of mke2fs and of what cannot be stored at all.
 */
MUST_CHECK errcode_t size_try(struct sizing *sizing, const char *size, struct problem *problem);

/*
 * Makes the filesystems that size_try() will want for `count` sizes, at most TRIALS_KEPT, at the same time. Does
 * nothing where that would not be faster: without threads, or where the words of the last mke2fs are asked for.
 */
MUST_CHECK errcode_t size_try_ahead(struct sizing *sizing, const uint64_t *kib, size_t count, struct problem *problem);

/* A size in KiB as mke2fs gets it. */
static inline void size_text(uint64_t kib, char text[32])
{
	snprintf(text, 32, "%" PRIu64 "K", kib);
}

/*
 * Does size_try() fail since mke2fs makes no filesystem of that size, or one whose blocks or inodes something does not
 * fit? Any other failure says nothing of the size, and ends the search: a search that went on would take what the host
 * refuses once for a size that is too small, and make a larger image.
 */
static inline bool size_is_refused(errcode_t error)
{
	return error == EINVAL || error == ENAMETOOLONG || error == E2BIG || error == EFBIG;
}

/* The inodes that the last filesystem lacks; 0: none. */
uint64_t size_missing_inodes(const struct sizing *sizing);

/* The free blocks of the last filesystem when everything is stored; negative: it lacks this many. */
int64_t size_left_blocks(const struct sizing *sizing);

/* The same beyond extra_blocks and what --free wants to be left. */
int64_t size_spare_blocks(const struct sizing *sizing);

/* The inodes to ask mke2fs for, its own included, so that the tree and --free-inodes have theirs. */
uint64_t size_exact_inodes(const struct sizing *sizing);

/* mke2fs's -i, -T or -N does not say how many inodes there are. */
static inline bool size_chooses_inodes(const struct sizing *sizing)
{
	return !sizing->plan->options->inodes_given && !sizing->plan->options->inodes_fixed;
}
