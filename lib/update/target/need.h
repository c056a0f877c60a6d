/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The space and the inodes that an update needs. */
#pragma once

#include "image/volume.h"
#include "update/build/actions.h"
#include "update/build/options.h"

/* A balance of blocks, or of inodes. Freed ones can be taken again after a commit. */
struct update_balance {
	uint64_t taken, freed; /* in all; for blocks, about the most */
	uint64_t peak;         /* the most that are taken at a time, and not freed before */
};

struct update_need {
	struct update_balance blocks, inodes;
	uint64_t held_blocks, held_inodes; /* the most that holders have at a time beside that (holding.h) */
};

/* Reads the inodes that are removed or replaced, and notes each action's blocks in it. Errors of reading. */
MUST_CHECK errcode_t update_need_count(const struct update_options *options, struct update_plan *plan,
                                       const struct volume *volume, struct update_need *need);

/*
 * The number of blocks and inodes that the filesystem lacks for the update, if free_blocks are to stay free afterwards;
 * both are 0 if it lacks none. at_once: freed blocks cannot be used again, since the update is one transaction.
 */
struct update_lack {
	uint64_t blocks, inodes;
};

struct update_lack update_need_lack(const struct update_need *need, uint64_t free_blocks, uint64_t free_inodes,
                                    uint64_t kept_blocks, bool at_once);
