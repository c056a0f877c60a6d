/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The space and the inodes that an update needs. */
#pragma once

#include "image/volume.h"
#include "update/build/actions.h"

/* A balance of blocks, or of inodes. Those that are freed can be taken again after a commit. */
struct update_balance {
	uint64_t taken, freed; /* altogether, blocks at most about */
	uint64_t peak;         /* the most that is taken at a time, and not freed before */
};

struct update_need {
	struct update_balance blocks, inodes;
};

/* Reads the inodes of what goes, and notes each action's blocks in it. Errors of reading. */
MUST_CHECK errcode_t update_need_count(struct update_plan *plan, const struct volume *volume, struct update_need *need);

/*
 * How many blocks and inodes the filesystem lacks for it, with free_blocks that are to be free afterwards; both 0:
 * none. at_once: what is freed cannot be used again, since all of it is one transaction.
 */
struct update_lack {
	uint64_t blocks, inodes;
};

struct update_lack update_need_lack(const struct update_need *need, uint64_t free_blocks, uint64_t free_inodes,
                                    uint64_t kept_blocks, bool at_once);
