/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Clusters that are taken from the groups as preallocations (PA), how much is taken, and what a worker has for the
 * files that it writes.
 *
 * What is on its way from one place to another is a move: a commit, a preallocation that is given back, what is handed
 * from a locality group to a file or back. Moves are counted when they begin and when they have ended, so that
 * reclaim.h can prove a refusal. A new preallocation is no move, as it is made with its owner's lock held all the time.
 */
#pragma once

#include "allocator/core/allocator.h"
#include "allocator/preallocation/directory_visits.h"
#include "allocator/preallocation/locality_group.h"
#include "allocator/preallocation/normalize.h"
#include "allocator/search/flex_search.h"
#include "allocator/search/scan.h"

/* The options, with everything that was left open filled in. */
struct preallocation_options {
	enum ext2mb_normalization normalization;
	enum ext2mb_locality locality;
	uint32_t small_file_blocks; /* files up to this size are small */
	uint32_t group_clusters;    /* of a full-sized preallocation for them */
};

struct worker_preallocation {
	bool hints_are_due;
	uint64_t hints_at; /* clusters that it had reserved when the hints were new */
	struct normalize_hints hints;
	struct locality_group pool; /* for small files, unless their directories' are better for them */
	struct directory_visits visits;
	bool goes_in_order; /* whatever the visits say: nothing is known of directories */
};

/* Fills mb->prealloc; geometry, stripe and policy are known. EXT2MB_ET_BAD_ARGUMENT. */
MUST_CHECK errcode_t preallocation_options_set(struct ext2mb *mb, const struct ext2mb_options *options);

/* Prepares a worker's, which is zeroed, and registers its locality group. */
void preallocation_open_worker(struct ext2mb_worker *worker);

/* Gives back what is in the locality group. */
void preallocation_close_worker(struct ext2mb_worker *worker);

static inline bool preallocation_is_ours(const struct ext2mb *mb)
{
	return mb->prealloc->normalization == EXT2MB_NORMALIZE_EXT2MB;
}

/*
 * Whether our own normalization has seen that the worker writes its small files one directory after the other, or was
 * told so.
 */
static inline bool worker_goes_in_order(const struct ext2mb_worker *worker)
{
	return preallocation_is_ours(worker->mb) &&
	       (worker->preallocation->goes_in_order || directory_visits_in_order(&worker->preallocation->visits));
}

/* Takes clusters to be a preallocation, or a part of it, with the lock of its owner held. As scan_alloc(). */
MUST_CHECK errcode_t preallocation_alloc(struct ext2mb_worker *worker, const struct scan_request *request,
                                         struct preallocation *taken);

/* Brings the worker's hints up to date, unless they are as good as new. */
void preallocation_renew_hints(struct ext2mb_worker *worker);
