/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One size tried: mke2fs makes an empty filesystem of it, whose room is compared with what the tree needs. */
#pragma once

#include <errno.h>

#include "populate/build/plan.h"
#include "populate/build/workplace.h"
#include "populate/format/filesystem.h"
#include "populate/format/mke2fs.h"

struct sizing {
	struct plan *plan; /* of which the space estimate is made */
	const struct workplace *work;
	struct mke2fs_run run; /* what mke2fs is told; -N, of the last filesystem made, is set here */
	int descriptor; /* a file, cut at the offset before each trial; -1: one that keeps its size, or a device */

	uint64_t extra_blocks;     /* to be left beyond those that were counted */
	bool wants_default_blocks; /* see populate/size/default_blocks.h */
	uint64_t base_inodes;      /* -N for mke2fs in the first attempt at a size, 0: it decides */
	uint64_t bytes_per_inode;  /* of the space that --free leaves; 0: it needs no inodes */

	struct filesystem_room room; /* of the last filesystem made */
};

/*
 * Formats, and again with more inodes where they were too few, unless -N fixes them, and has the tree counted for
 * each geometry that it meets. Errors are those of mke2fs and of what cannot be stored at all.
 */
MUST_CHECK errcode_t size_try(struct sizing *sizing, const char *size, struct problem *problem);

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

/*
 * The inodes to ask mke2fs for, its own included, so that the tree and what is left free in so large a filesystem have
 * theirs.
 */
uint64_t size_exact_inodes(const struct sizing *sizing, uint64_t filesystem_bytes);

/* The size of the last filesystem. */
static inline uint64_t size_made_bytes(const struct sizing *sizing)
{
	return sizing->room.blocks << sizing->room.format.block_bits;
}

/* mke2fs's -i, -T or -N does not say how many inodes there are. */
static inline bool size_chooses_inodes(const struct sizing *sizing)
{
	return !sizing->plan->options->inodes_given && !sizing->plan->options->inodes_fixed;
}

/*
 * Is the space that --free leaves to have as many inodes as mke2fs would make for it? size_learn_inodes() asks it how
 * many bytes there are to each in a filesystem of that size. If it refuses that size, there are none. Errors as of
 * size_try().
 */
static inline bool size_frees_inodes(const struct sizing *sizing)
{
	const struct populate_options *options = sizing->plan->options;

	return (options->free_bytes || options->free_percent) && !options->free_inodes_given &&
	       size_chooses_inodes(sizing);
}

MUST_CHECK errcode_t size_learn_inodes(struct sizing *sizing, const char *size, struct problem *problem);

/* A file in memory, without a name in any directory, in which mke2fs tries a size. */
struct trial_file {
	int descriptor;
	char *path;    /* valid for this process and its children; owned */
	bool is_named; /* where /proc is missing: a file below TMPDIR, removed at the end */
};

/* Main thread only. To be closed even where opening it failed. */
MUST_CHECK errcode_t trial_file_open(struct trial_file *scratch, struct problem *problem);
void trial_file_close(struct trial_file *scratch);
