/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What there is more than one way to do, since the kernel has changed its own: tables of functions, bound when an
 * allocator is opened. The library has one of each, ours (allocator_policy in allocator.c); the kernel's
 * older ways are in compare/, and doc/POLICIES.md tells them apart.
 */
#pragma once

#include <stdint.h>

#include "ext2fs/ext2mb.h"

/* How long a search goes on, by the kernel's names. */
struct search_limits {
	uint32_t most_to_scan;  /* mb_max_to_scan: runs, before what there is must do */
	uint32_t least_to_scan; /* mb_min_to_scan: runs, before one that is long enough is taken though a better fit
	                                 may follow */
	uint32_t least_power_of_two;  /* mb_order2_req: bits of the shortest length that is looked for as a buddy */
	uint32_t most_trimmed_orders; /* mb_best_avail_max_trim_order */
};

#define SEARCH_LIMITS_DEFAULT                                                                                          \
	{                                                                                                              \
		200, 10, 2, 3                                                                                          \
	}

/*
 * Rules of our own normalization for files beyond the kernel's. A comparison can leave each out, to measure its
 * effect (compare/policies.h; bench/ablation).
 */
#define RULE_END_AT_EXTENT 0x001u /* preallocations end where the longest extents do */
#define RULE_FROM_SMALL 0x002u    /* a file that outgrows the small ones goes on in the preallocation where it lies */
#define RULE_WHOLE_EXTENT 0x004u  /* an extent that begins in any case is rather whole in a free group */
#define RULE_FREE_GROUPS 0x008u   /* more than a group goes where several groups are free */
#define RULE_FREE_GROUP 0x010u    /* a file that begins with much begins a free group */
#define RULE_NEAR 0x020u          /* rather half of what is wanted in the flex group than all of it elsewhere */
#define RULE_AFTER_SMALL 0x040u   /* in order of directories, a whole file joins the small ones */
#define RULE_UNALIGNED 0x080u     /* runs that are long enough without a buddy that is */
#define RULE_LONGEST 0x100u       /* where nothing is long enough, the longest of many runs */
#define RULE_LARGE_APART 0x200u   /* a file that may grow does not begin among small ones */
#define RULE_SLICES 0x400u        /* a small file that goes on gets the rest of a small file's blocks */
#define RULES 0x7ffu

struct locality_group;
struct preallocation;
struct small_request;

struct policy {
	const struct index_operations *index;     /* group/group_index.h: which groups to look at */
	const struct pending_operations *pending; /* group/pending_free.h: what was freed and waits for a commit */
	const struct goal_operations *goals;      /* search/stream_goals.h: where large files go on */
	const struct search_operations *search;   /* search/group_search.h: how groups are gone through */
	const struct inode_operations *inodes;    /* inode/inode_alloc.h: where directories and files go */
	/* preallocation/file.h: where small files begin */
	struct small_goal (*small_file_goal)(const struct ext2mb_file *file);

	/* preallocation/file_search.h: somebody's own answers; NULL: none */
	const struct user_operations *user;
	/* preallocation/locality_group.h: how they get their clusters */
	errcode_t (*small_file_alloc)(struct ext2mb_worker *worker, struct locality_group *pool,
	                              const struct small_request *request, struct preallocation *taken);

	/* What options stand for that leave it open: */
	enum ext2mb_normalization normalization;
	enum ext2mb_locality locality;
	uint32_t least_groups; /* in filesystems with fewer, mb_optimize_scan is off */
	struct search_limits limits;

	uint32_t rules; /* RULE_* */

	/* A policy's own, freed with the allocator; NULL: it has none. */
	void *state;
	errcode_t (*create)(struct ext2mb *mb); /* once the geometry is known. ENOMEM */
	void (*destroy)(void *state);
};
