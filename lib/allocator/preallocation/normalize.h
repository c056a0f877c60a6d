/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How much to reserve when a file asks for blocks, and where: three interchangeable policies. doc/NORMALIZE.md
 * has the reasons and the figures.
 *
 * Pure: no I/O, no locks, no state; equal requests give equal goals, from any thread. Everything is in
 * filesystem blocks; with bigalloc logical and physical numbers and counts are multiples of a cluster (but for
 * NORMALIZE_END). A request that breaks what is said here is the caller's bug.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ext2fs/ext2mb.h"
#include "ondisk/geometry.h"

#define NORMALIZE_END UINT64_C(0xffffffff) /* one past the last logical block that an extent can map */

/* The longest extents. They bound what a caller can record in one piece, not what may be reserved. */
#define NORMALIZE_WRITTEN_MAX 32768u
#define NORMALIZE_UNWRITTEN_MAX 32767u

/* The free space of the whole filesystem, a short time ago. Hints, which only `ext2mb` uses. */
struct normalize_hints {
	uint64_t free_blocks;         /* neither in use nor reserved */
	uint32_t open_preallocations; /* other preallocations that are open for files now */
	int largest_order;            /* of any free buddy, in clusters; -1: none is known */
};

struct normalize_request {
	const struct geometry *geometry;
	uint32_t stripe_blocks; /* 0: no stripes */
	uint64_t start;         /* logical */
	uint64_t count;         /* 1 or more */
	uint64_t whole_count;   /* blocks of the whole write, if this request is a part of it; else 0 or count */
	uint64_t file_blocks;   /* the larger of the file's sizes before and after the request */
	bool unwritten;         /* from fallocate */
	bool final_size;        /* file_blocks is the file's final size */
	bool is_roomy;          /* most groups are nearly free; only `ext2mb` uses it */
	bool is_contended;      /* the kernel would find its groups' locks held too often (ext4_fs_is_busy()) */

	/* The range around the request that is neither mapped nor preallocated: [hole_start, hole_end) */
	uint64_t hole_start;
	uint64_t hole_end;       /* NORMALIZE_END: nothing follows */
	uint64_t left_physical;  /* the block after the one that hole_start - 1 is mapped to; 0: no neighbour */
	uint64_t right_physical; /* the block that hole_end is mapped to; 0: no neighbour */
	struct normalize_hints hints;
};

/*
 * The goal contains the request's start, lies in the hole and is at most a group long. It contains the whole request if
 * that fits in a group, except that `table` cuts at its own chunks, and `table` and `pow2` limit unwritten requests.
 */
struct normalize_goal {
	uint64_t start; /* logical */
	uint64_t count;
	uint64_t physical;  /* the block that joins a neighbour; 0: any */
	uint64_t try_count; /* blocks to try at physical before any search; 0: none (no TRY_GOAL) */
	uint64_t try_least; /* the fewest of them that are worth taking */
};

/*
 * Whether this is the last request of a closed file: `table` and `pow2` do not extend it, and the kernel searches near
 * the file instead of at the stream's goal. (EXT4_MB_HINT_NOPREALLOC; small files use their locality group instead.)
 */
bool normalize_ends_closed(const struct normalize_request *request);

/* Not EXT2MB_NORMALIZE_DEFAULT. */
struct normalize_goal normalize(enum ext2mb_normalization normalization, const struct normalize_request *request);
