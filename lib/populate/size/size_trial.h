/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One size tried: mke2fs makes an empty filesystem of it, whose room is compared with what the tree needs. */
#pragma once

#include "populate/build/build.h"
#include "populate/format/filesystem.h"

struct sizing {
	struct build *build;
	const char *path; /* where mke2fs works */
	bool is_device;
	uint64_t offset_bytes; /* of the filesystem in it */
	int descriptor; /* a file, cut at the offset before each trial; -1: one that keeps its size, or a device */

	uint64_t extra_blocks; /* to be left beyond those that were counted */
	uint64_t base_inodes; /* -N for mke2fs in the first attempt at a size, 0: it decides */
	uint32_t block_bytes; /* -b for mke2fs, 0: it decides */

	uint64_t inodes;      /* -N of the last filesystem made */
	struct filesystem_room room; /* of the last filesystem made */
};

/*
 * Formats, and again with more inodes where they were too few, unless -N fixes them, and has the tree counted for
 * each geometry that it meets. Errors are those of mke2fs and of what cannot be stored at all.
 */
MUST_CHECK errcode_t size_try(struct sizing *sizing, const char *size, struct problem *problem);

/* Of the last filesystem made: what is lacking, 0 if nothing is. */
uint64_t size_missing_inodes(const struct sizing *sizing);

/* Of the last filesystem made: blocks that are left when all is stored; negative: so many are lacking. */
int64_t size_left_blocks(const struct sizing *sizing);

/* The same beyond extra_blocks and what --free wants to be left. */
int64_t size_spare_blocks(const struct sizing *sizing);

/* The inodes to ask mke2fs for, its own included, so that the tree and --free-inodes have theirs. */
uint64_t size_exact_inodes(const struct sizing *sizing);

/* mke2fs's -i, -T or -N does not say how many inodes there are. */
static inline bool size_chooses_inodes(const struct sizing *sizing)
{
	return !sizing->build->options->inodes_given && !sizing->build->options->inodes_fixed;
}
