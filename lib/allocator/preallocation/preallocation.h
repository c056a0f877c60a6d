/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Allocation of clusters as preallocations (PA), its options, and a worker's own state for the files that it writes.
 *
 * A move transfers clusters between two places: a commit, the discard of a preallocation, a transfer from a locality
 * group to a file or back. Each move is counted when it begins and when it has ended, so that reclaim.h can prove that
 * nothing is free. A new preallocation is not a move, since its owner's lock is held all the time.
 */
#pragma once

#include "allocator/core/allocator.h"
#include "allocator/preallocation/directory_visits.h"
#include "allocator/preallocation/locality_group.h"
#include "allocator/preallocation/normalize.h"
#include "allocator/search/flex_search.h"
#include "allocator/search/scan.h"

/* The options, with defaults filled in. */
struct preallocation_options {
	enum ext2mb_normalization normalization;
	enum ext2mb_locality locality;
	uint32_t small_file_blocks; /* files up to this size are small */
	uint32_t group_clusters;    /* length of a full-sized preallocation for small files */
};

#define BEGUN_DIRECTORIES 64u /* older ones keep what they have */

struct worker_preallocation {
	bool hints_are_due;
	uint64_t hints_at; /* clusters that the worker had reserved when the hints were new */
	struct normalize_hints hints;
	uint32_t begun_groups;      /* files that began a free group and have not gone on */
	bool is_roomy;              /* another hint: most groups are nearly free */
	uint64_t reserved_first;    /* blocks that the last file began with that began by fallocate(2); 0: none */
	uint32_t varied;            /* after so many further ones of that length they count as alike */
	uint64_t after_whole;       /* the position after the last run that was all that its file asked for; 0: none */
	struct locality_group pool; /* for small files, unless they use their directories' locality groups */
	struct directory_visits visits;
	ext2_ino_t begun[BEGUN_DIRECTORIES]; /* a ring: directories for which the worker has made preallocations */
	uint32_t begun_next, begun_count;
	bool goes_in_order; /* overrides visits, for callers that name no directories */
};

/* Fills mb->prealloc; geometry, stripe and policy are already set. EXT2MB_ET_BAD_ARGUMENT. */
MUST_CHECK errcode_t preallocation_options_set(struct ext2mb *mb, const struct ext2mb_options *options);

/* Initialises a worker's zeroed state, and registers its locality group. */
void preallocation_open_worker(struct ext2mb_worker *worker);

/* Discards the locality group's preallocations. It stays where it is until no file refers to it any more. */
void preallocation_close_worker(struct ext2mb_worker *worker);

/* Whether the memory of a closed worker may be used anew. */
static inline bool preallocation_is_left(const struct ext2mb_worker *worker)
{
	return locality_group_is_left(&worker->preallocation->pool);
}

static inline bool preallocation_is_ours(const struct ext2mb *mb)
{
	return mb->prealloc->normalization == EXT2MB_NORMALIZE_EXT2MB;
}

/*
 * Whether our own normalization is used, and the worker writes its small files one directory after the other: by the
 * visits, or because the caller said so.
 */
static inline bool worker_goes_in_order(const struct ext2mb_worker *worker)
{
	return preallocation_is_ours(worker->mb) &&
	       (worker->preallocation->goes_in_order || directory_visits_in_order(&worker->preallocation->visits));
}

/* Whether it writes its small files to and fro among many directories. */
static inline bool worker_is_scattered(const struct ext2mb_worker *worker)
{
	const struct worker_preallocation *own = worker->preallocation;

	return preallocation_is_ours(worker->mb) && !own->goes_in_order && directory_visits_scattered(&own->visits);
}

/* Allocates clusters as a preallocation or a part of one. The owner's lock is held. Errors: scan_alloc()'s. */
MUST_CHECK errcode_t preallocation_alloc(struct ext2mb_worker *worker, const struct scan_request *request,
                                         struct preallocation *taken);

/* Renews the worker's hints, unless they are recent. */
void preallocation_renew_hints(struct ext2mb_worker *worker);
