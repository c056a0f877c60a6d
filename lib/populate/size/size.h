/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How large the filesystem becomes. mke2fs itself is asked: how much of a size is left for content depends on
 * its options, features and configuration, and an empty filesystem in a file in memory costs it 2 ms.
 */
#pragma once

#include "output/output.h"
#include "populate/build/plan.h"
#include "populate/build/report.h"
#include "populate/build/workplace.h"
#include "populate/format/filesystem.h"

/* How mke2fs is to be called, and what it makes then. */
struct size_choice {
	uint64_t extra_blocks;                           /* given: to be left beyond those that were counted */
	bool knows_default_blocks, wants_default_blocks; /* given: what an earlier choice has found out, see
	                                                    populate/size/default_blocks.h */
	char size[32];
	uint64_t inodes;      /* -N, 0: mke2fs decides */
	uint32_t block_bytes; /* -b, 0: mke2fs decides */
	struct filesystem_room room;
	uint64_t free_blocks; /* what the tree leaves of that, at least */
};

/*
 * Chooses, without touching the image: the size that was asked for, that of the device or file that is written in
 * place, or the smallest that is large enough; for that one the tree has been counted then. A size that is too small
 * is EXT2MB_ET_NO_SPACE, and the problem says which one is large enough.
 */
MUST_CHECK errcode_t size_choose(struct plan *plan, const struct workplace *work, const struct output *output,
                                 struct size_choice *choice);

/* Warns if the free space that the user wants has less than an inode for each MiB. ENOMEM. */
MUST_CHECK errcode_t size_warn_few_inodes(const struct populate_options *options, struct populate_report *report);

/* Makes the empty filesystem in the output, which must turn out as chosen. */
MUST_CHECK errcode_t size_format(struct plan *plan, const struct workplace *work, const struct output *output,
                                 const struct size_choice *choice);
