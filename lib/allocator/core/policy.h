/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Tables of functions for the parts of the allocator that kernel versions do differently. ext2mb_open() binds them. The
 * library has one table of each kind, ours (allocator_policy in allocator.c); lib/compare has those of kernel versions,
 * and doc/POLICIES.md describes the differences.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ext2fs/ext2mb.h"

/* When a search stops; the comments give the kernel's names. */
struct search_limits {
	uint32_t most_to_scan; /* mb_max_to_scan: free extents to look at before the best so far is taken */
	/*
	 * mb_min_to_scan: free extents to look at before one that is long enough is taken although a better fit may
	 * follow
	 */
	uint32_t least_to_scan;
	uint32_t least_power_of_two;  /* mb_order2_req: the order of the shortest length that is searched as a buddy */
	uint32_t most_trimmed_orders; /* mb_best_avail_max_trim_order */
};

#define SEARCH_LIMITS_DEFAULT                                                                                          \
	{                                                                                                              \
		200, 10, 2, 3                                                                                          \
	}

/*
 * Rules of our own normalization that the kernel's does not have. A comparison can leave each out, to measure its
 * effect (compare/policies.h; bench/ablation).
 */
#define RULE_END_AT_EXTENT 0x001u /* preallocations end at multiples of the longest possible extent */
/* a file that outgrows small_file_blocks continues in the preallocation that holds it */
#define RULE_FROM_SMALL 0x002u
#define RULE_WHOLE_EXTENT 0x004u /* where a new extent begins anyway, prefer a whole one in a free group */
#define RULE_FREE_GROUPS 0x008u  /* more than a group is placed in a series of free groups */
#define RULE_FREE_GROUP 0x010u   /* a file whose first request is large begins in a free group */
#define RULE_NEAR 0x020u         /* prefer half the wanted length in the flex group to all of it elsewhere */
/* if directories are written one after the other, a complete file is placed after the small files */
#define RULE_AFTER_SMALL 0x040u
#define RULE_UNALIGNED 0x080u   /* find runs that are long enough although no buddy in them is */
#define RULE_LONGEST 0x100u     /* if no run is long enough, take the longest of many */
#define RULE_LARGE_APART 0x200u /* a file that may grow does not begin between small files */
#define RULE_SLICES 0x400u      /* a small file that grows gets the remaining blocks of small_file_blocks */
#define RULE_TOGETHER 0x800u    /* while most groups are nearly free, what asks for all that it needs lies together */
#define RULES 0xfffu

struct locality_group;
struct preallocation;
struct small_request;

struct policy {
	const struct index_operations *index;     /* group/group_index.h: which groups to search */
	const struct pending_operations *pending; /* group/pending_free.h: freed clusters that wait for a commit */
	const struct goal_operations *goals;      /* search/stream_goals.h: where large files continue */
	const struct search_operations *search;   /* search/group_search.h: how groups are searched */
	const struct inode_operations *inodes;    /* inode/inode_alloc.h: where directories and files go */
	/* preallocation/file.h: where small files begin */
	struct small_goal (*small_file_goal)(const struct ext2mb_file *file);

	/* preallocation/file_search.h: the user's own policy; NULL: none */
	const struct user_operations *user;
	/* preallocation/locality_group.h: how small files get their clusters */
	errcode_t (*small_file_alloc)(struct ext2mb_worker *worker, struct locality_group *pool,
	                              const struct small_request *request, struct preallocation *taken);

	/* A request of a large file continues no neighbour, and its goal may cover mapped blocks, as in Linux where
	 * files have indirect maps. */
	bool ignores_neighbours;

	/* Defaults for options that the caller leaves open: */
	enum ext2mb_normalization normalization;
	enum ext2mb_locality locality;
	uint32_t least_groups; /* in filesystems with fewer, mb_optimize_scan is off */
	struct search_limits limits;

	uint32_t rules; /* RULE_* */

	/* The policy's own state, freed with the allocator; NULL: it has none. */
	void *state;
	errcode_t (*create)(struct ext2mb *mb); /* called once the geometry is known; ENOMEM */
	void (*destroy)(void *state);
};
