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
	uint32_t most_to_scan;        /* mb_max_to_scan: runs, before what there is must do */
	uint32_t least_to_scan;       /* mb_min_to_scan: runs, before one that is long enough is taken though a better fit
	                                 may follow */
	uint32_t least_power_of_two;  /* mb_order2_req: bits of the shortest length that is looked for as a buddy */
	uint32_t most_trimmed_orders; /* mb_best_avail_max_trim_order */
};

#define SEARCH_LIMITS_DEFAULT { 200, 10, 2, 3 }

struct locality_group;
struct preallocation;
struct small_request;

struct policy {
	const struct index_operations *index;           /* group/group_index.h: which groups to look at */
	const struct pending_operations *pending;       /* group/pending_free.h: what was freed and waits for a commit */
	const struct goal_operations *goals;            /* search/stream_goals.h: where large files go on */
	const struct search_operations *search;         /* search/group_search.h: how groups are gone through */
	const struct inode_operations *inodes;          /* inode/inode_alloc.h: where directories and files go */
	/* preallocation/file.h: where small files begin */
	struct small_goal (*small_file_goal)(const struct ext2mb_file *file);

	/* preallocation/file_search.h: somebody's own answers; NULL: none */
	const struct own_operations *own;
	/* preallocation/locality_group.h: how they get their clusters */
	errcode_t (*small_file_take)(struct ext2mb_worker *worker, struct locality_group *pool,
	                             const struct small_request *request, struct preallocation *taken);

	/* What options stand for that leave it open: */
	enum ext2mb_normalization normalization;
	enum ext2mb_locality locality;
	uint32_t least_groups; /* in filesystems with fewer, mb_optimize_scan is off */
	struct search_limits limits;

	/* search/short_runs.h: longer free runs are kept while files that grow by little can have others; 0: none */
	uint32_t short_run_kib;

	/* A policy's own, freed with the allocator; NULL: it has none. */
	void *state;
	errcode_t (*create)(struct ext2mb *mb); /* once the geometry is known. ENOMEM */
	void (*destroy)(void *state);
};
