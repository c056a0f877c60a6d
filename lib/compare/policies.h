/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The kernel's older ways, to compare with ours: whole policies, and single choices that are added to them or dropped.
 * Not in the installed library: e2allocsim, debugmb, the benches and the tests link it. See doc/POLICIES.md.
 */
#pragma once

#include <stdbool.h>

#include "allocator/core/policy.h"
#include "ext2fs/ext2mb.h"
#include "support/problem.h"

enum policy_name {
	POLICY_EXT2MB, /* the default: the series and what goes beyond it */
	POLICY_SERIES, /* the kernel with the 17 patches of 2025 */
	POLICY_BASE,   /* the kernel before them */
	POLICY_USER,   /* a library's; where it passes, the series */
};

#define CHOICE_TRY_LOCK 0x00001u          /* 1: skip busy groups */
#define CHOICE_STREAM_HITS_APART 0x00002u /* 2: count hits of stream goals apart */
#define CHOICE_STREAM_GROUP 0x00004u      /* 3: a stream goal is a group only */
#define CHOICE_STREAM_HINT 0x00008u       /* 4: and takes no lock */
#define CHOICE_SEVERAL_GOALS 0x00010u     /* 5: more than one */
#define CHOICE_PENDING_ATOMIC 0x00020u    /* 8: count what is to be freed without a lock */
#define CHOICE_MERGE_FIRST 0x00040u       /* 9: merge what is freed before it is listed */
#define CHOICE_FULL_UNLISTED 0x00080u     /* 10: full groups are in no set */
#define CHOICE_ALWAYS_LEAVE 0x00100u      /* 11: groups leave their old set when the index is off, too */
#define CHOICE_ORDERED_SETS 0x00200u      /* 15: sets that need no lock to be read, in order */
#define CHOICE_SCAN_IN_PLACE 0x00400u     /* 16: scan a group when it is met instead of choosing it first */
#define CHOICE_ONE_DIRECTION 0x00800u     /* 17: all orders on [start, n) before any on [0, start) */
#define CHOICE_GOAL_FIRST 0x01000u        /* the goal group before any set */
#define CHOICE_WAIT_AT_EQUAL 0x02000u     /* wait for busy groups before quality is lowered */
#define CHOICE_PADDED_GOALS 0x04000u      /* stream goals apart in memory and on disk, stored on change */
#define CHOICE_OWN_PENDING 0x08000u       /* 8 and 9 overtaken: pending frees in their groups, no lock */
#define CHOICE_DIRECTORY_SHARES 0x10000u  /* a group has room for what its directories will hold */
#define CHOICE_BY_LARGEST 0x20000u        /* by the largest buddies where no average is long enough */
#define CHOICE_GO_ON 0x40000u             /* without a goal: after the worker's last request */
#define CHOICE_RULE_SHIFT 20 /* from here on: RULE_* of core/policy.h, with any policy's files of our normalization */
#define CHOICE_RULES (RULES << CHOICE_RULE_SHIFT)

struct choice {
	uint32_t choice;     /* CHOICE_* */
	unsigned int patch;  /* of the series, 0: ours */
	const char *name;    /* "try-lock" */
	const char *subject; /* the patch's, without "ext4: " */
};

/* For good; NULL after the last one. */
const struct choice *choice_get(unsigned int index);

/* "base", "series" or "ext2mb"; EXT2MB_ET_BAD_ARGUMENT. */
MUST_CHECK errcode_t policy_find(const char *name, enum policy_name *policy);

uint32_t policy_choices(enum policy_name policy);

#define POLICY_MOST_TUNABLES 64

/* What of the groups' bitmaps has been read, with base and series. Ours reads them when it comes to them. */
enum group_loading {
	GROUPS_WARM, /* all: as some time after a mount */
	GROUPS_COLD, /* none: as right after a mount with no_prefetch_block_bitmaps */
};

#define LINEAR_GROUPS_ROTATIONAL                                                                                       \
	4u /* Linux's mb_max_linear_groups on disks that turn, and loop devices on them; else 0 */

struct policy_options {
	enum policy_name policy;
	uint32_t choices_added;    /* to those of the policy */
	uint32_t choices_dropped;  /* from them; none may be in both */
	struct user_library *user; /* user_library.h, of POLICY_USER; stays loaded as long as the allocator is open */
	enum group_loading loading;
	bool ignores_flex_groups; /* inodes and blocks are placed as in a filesystem without flex_bg: ext3's way */
	uint32_t linear_groups; /* mb_max_linear_groups: so many are tried before the index is asked; base and series */
	uint32_t read_ahead;    /* mb_prefetch: so many groups' bitmaps at a time, if they are cold; 0: as the kernel */
	uint32_t read_ahead_most;        /* mb_prefetch_limit: no cheap criterion reads more; 0: as the kernel */
	struct ext2mb_options allocator; /* as for ext2mb_open(); its size need not be set */
	bool has_limits;                 /* else those of the kernel */
	struct search_limits limits;

	/* What was set by name: see tunables.h. */
	uint64_t tunables_set; /* a bit for each row */
	uint64_t tunable_values[POLICY_MOST_TUNABLES];
};

/*
 * As ext2mb_open(). What is left open is the policy's: base and series have the table and preallocations by thread,
 * and optimize_scan from 16 groups on.
 */
MUST_CHECK errcode_t policy_open(ext2_filsys fs, const struct policy_options *options, struct ext2mb **ret);

/*
 * What the library of POLICY_USER has answered that cannot be, from when on every search fails with ELIBBAD:
 * "ext2mb_policy_goal: ...". NULL: nothing.
 */
const char *policy_failure(const struct ext2mb *mb);

/*
 * Contention that is simulated, for runs that must be repeatable: one thread takes turns for many (see
 * search/group_search.h). NULL: none any more. While no thread allocates; its functions are called by all that do.
 */
struct contention;
void contention_simulate(struct ext2mb *mb, const struct contention *contention);

/* What only older policies do. */
struct policy_stats {
	uint64_t bounces;      /* a group was chosen and then not to be had (before patch 16) */
	uint64_t global_locks; /* taken, a lock common to all groups (before patches 4, 8 and 9) */
};

/* Any thread. All 0 for an allocator that ext2mb_open() has opened. */
struct policy_stats policy_read_stats(struct ext2mb *mb);
