/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The kernel's older algorithms, for comparison with ours: whole policies, and single choices that are added to them
 * or dropped. They are not in the installed library; e2allocsim, debugmb, the benches and the tests link them. See
 * doc/POLICIES.md.
 */
#pragma once

#include <stdbool.h>

#include "allocator/core/policy.h"
#include "ext2fs/ext2mb.h"
#include "support/problem.h"

enum policy_name {
	POLICY_EXT2MB, /* the default: the series and our changes to it */
	POLICY_SERIES, /* the kernel with the 17 patches of 2025 */
	POLICY_BASE,   /* the kernel before them */
	POLICY_USER,   /* a library's; if it passes, the series' */
};

#define CHOICE_TRY_LOCK 0x00001u          /* 1: skip busy groups */
#define CHOICE_STREAM_HITS_APART 0x00002u /* 2: count hits of stream goals apart */
#define CHOICE_STREAM_GROUP 0x00004u      /* 3: a stream goal is only a group */
#define CHOICE_STREAM_HINT 0x00008u       /* 4: a stream goal takes no lock */
#define CHOICE_SEVERAL_GOALS 0x00010u     /* 5: several stream goals */
#define CHOICE_PENDING_ATOMIC 0x00020u    /* 8: count waiting clusters without a lock */
#define CHOICE_MERGE_FIRST 0x00040u       /* 9: merge freed runs before they are listed */
#define CHOICE_FULL_UNLISTED 0x00080u     /* 10: full groups are in no set */
#define CHOICE_ALWAYS_LEAVE 0x00100u      /* 11: groups leave their old set when the index is off, too */
#define CHOICE_ORDERED_SETS 0x00200u      /* 15: sets that need no lock to be read, in order */
#define CHOICE_SCAN_IN_PLACE 0x00400u     /* 16: scan a group when it is met instead of choosing it first */
#define CHOICE_ONE_DIRECTION 0x00800u     /* 17: all orders on [start, n) before any on [0, start) */
#define CHOICE_GOAL_FIRST 0x01000u        /* the goal group before any set */
#define CHOICE_WAIT_AT_EQUAL 0x02000u     /* wait for busy groups before quality is lowered */
#define CHOICE_PADDED_GOALS 0x04000u      /* stream goals in separate cache lines and groups, stored on change */
#define CHOICE_OWN_PENDING 0x08000u       /* instead of 8 and 9: pending frees in their groups, no lock */
#define CHOICE_DIRECTORY_SHARES 0x10000u  /* keep room in a group for the files of its directories */
#define CHOICE_BY_LARGEST 0x20000u        /* choose by largest buddies if no average is long enough */
#define CHOICE_GO_ON 0x40000u             /* without a goal: allocate after the worker's last request */
#define CHOICE_RULE_SHIFT 20              /* then RULE_* of core/policy.h, for files with our normalization */
#define CHOICE_RULES (RULES << CHOICE_RULE_SHIFT)

struct choice {
	uint32_t choice;     /* CHOICE_* */
	unsigned int patch;  /* number in the series, 0: ours */
	const char *name;    /* "try-lock" */
	const char *subject; /* the patch's, without "ext4: " */
};

/* Ends with a zero row. */
extern const struct choice all_choices[];

/* "base", "series" or "ext2mb"; EXT2MB_ET_BAD_ARGUMENT. */
MUST_CHECK errcode_t policy_find(const char *name, enum policy_name *policy);

uint32_t policy_choices(enum policy_name policy);

#define POLICY_MOST_TUNABLES 64

/* Which groups' bitmaps have been read at the start, with base and series. Our policy reads them when it needs them. */
enum group_loading {
	GROUPS_WARM, /* all: as some time after a mount */
	GROUPS_COLD, /* none: as right after a mount with no_prefetch_block_bitmaps */
};

#define LINEAR_GROUPS_ROTATIONAL                                                                                       \
	4u /* Linux's mb_max_linear_groups on rotational disks, and loop devices on them; else 0 */

struct policy_options {
	enum policy_name policy;
	uint32_t choices_added;    /* added to the policy's */
	uint32_t choices_dropped;  /* removed from them; none may be in both */
	struct user_library *user; /* of POLICY_USER, see user_library.h; stays loaded as long as the allocator is
	                            * open */
	enum group_loading loading;
	bool ignores_flex_groups; /* place inodes and blocks as in a filesystem without flex_bg, as ext3 does */
	uint32_t linear_groups;   /* mb_max_linear_groups: tried before the index is used; base and series */
	uint32_t read_ahead;      /* mb_prefetch: bitmaps read at a time, if groups are cold; 0: as the kernel */
	uint32_t read_ahead_most; /* mb_prefetch_limit: the most that a cheap criterion reads; 0: as the kernel */
	struct ext2mb_options allocator; /* as for ext2mb_open(); its size need not be set */
	bool has_limits;                 /* else the kernel's limits */
	struct search_limits limits;

	/* Tunables that were set by name: see tunables.h. */
	uint64_t tunables_set; /* a bit for each row */
	uint64_t tunable_values[POLICY_MOST_TUNABLES];
};

/*
 * As ext2mb_open(). Options that are not set have the policy's defaults: base and series have the table, locality
 * groups by thread, and optimize_scan from 16 groups on.
 */
MUST_CHECK errcode_t policy_open(ext2_filsys fs, const struct policy_options *options, struct ext2mb **ret);

/*
 * The first impossible answer of POLICY_USER's library: "ext2mb_policy_goal: ...". After it every search fails with
 * ELIBBAD. NULL: none.
 */
const char *policy_failure(const struct ext2mb *mb);

/*
 * Sets simulated contention, for repeatable runs in which one thread plays many (see search/group_search.h). NULL
 * ends it. Called while no thread allocates; all allocating threads call its functions.
 */
struct contention;
void contention_simulate(struct ext2mb *mb, const struct contention *contention);

/* Told of locks that only older policies have, each time that a search or a free takes one. */
struct lock_observer {
	void (*global)(void *context);              /* s_md_lock; where it is nested, the group's lock is held */
	void (*list)(void *context, uint32_t list); /* the read-write lock of a list of groups */
	void *context;
};

/* Lists of groups: by kind and order. */
#define POLICY_MOST_LISTS 64u

/* NULL ends it; nothing happens with ext2mb's own policy. Called while no thread allocates, kept until it ends. */
void policy_observe_locks(struct ext2mb *mb, const struct lock_observer *observer);

/* Counters of older policies. */
struct policy_stats {
	uint64_t bounces;      /* groups that were chosen and then gave nothing (before patch 16) */
	uint64_t global_locks; /* acquisitions of a lock common to all groups (before patches 4, 8 and 9) */
};

/* Any thread. All 0 for an allocator that ext2mb_open() has opened. */
struct policy_stats policy_read_stats(struct ext2mb *mb);
