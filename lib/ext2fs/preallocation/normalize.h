/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How much to reserve when a file asks for blocks, and where: three interchangeable policies. doc/NORMALIZE.md
 * has the reasons and the figures.
 *
 * Pure: no I/O, no locks, no state; equal requests give equal goals, from any thread. Everything is in
 * filesystem blocks; with bigalloc logical and physical numbers and counts are multiples of a cluster (but for
 * NORMALIZE_END). A request that breaks what is said here is the caller's bug.
 */
#ifndef EXT2FS_NORMALIZE_H
#define EXT2FS_NORMALIZE_H

#include <stdbool.h>
#include <stdint.h>

#include "ext2fs/core/geometry.h"

#define NORMALIZE_END UINT64_C(0xffffffff) /* one past the last logical block that an extent can map */

/* The longest extents. They bound what a caller can record in one piece, not what may be reserved. */
#define NORMALIZE_WRITTEN_MAX 32768u
#define NORMALIZE_UNWRITTEN_MAX 32767u

/* The free space of the whole filesystem, as of some time ago: hints, of which only `ext2mb` makes use. */
struct normalize_hints {
	uint64_t free_blocks;  /* not reserved either */
	uint32_t open_windows; /* other windows that are open for files now */
	int largest_order;     /* of any free buddy, in clusters; -1: none is known */
};

struct normalize_request {
	const struct geometry *geometry;
	uint32_t stripe_blocks; /* 0: no stripes */
	uint64_t start;         /* logical */
	uint64_t count;         /* 1 or more */
	uint64_t whole_count;   /* of all that the file asks for at once, if this is a part of it; else 0 or count */
	uint64_t file_blocks;   /* the file's size when this is done, or before: what is larger counts */
	bool unwritten;         /* from fallocate */
	bool final_size;        /* file_blocks is where the file will end */

	/* What is neither mapped nor reserved around the request in the file: [hole_start, hole_end) */
	uint64_t hole_start;
	uint64_t hole_end;       /* NORMALIZE_END: nothing follows */
	uint64_t left_physical;  /* the block behind the one that hole_start - 1 is mapped to; 0: no neighbour */
	uint64_t right_physical; /* the block that hole_end is mapped to; 0: no neighbour */
	struct normalize_hints hints;
};

/*
 * Contains the request's start, lies in the hole and is at most a group long. It contains the whole request
 * where that fits in a group, except that `table` cuts at its own chunks, and `table` and `pow2` limit
 * unwritten requests.
 */
struct normalize_goal {
	uint64_t start; /* logical */
	uint64_t count;
	uint64_t physical;  /* joins a neighbour; 0: no wish */
	uint64_t try_count; /* blocks to be tried for at physical before any search; 0: none (no TRY_GOAL) */
	uint64_t try_least; /* how many of them are worth having */
};

enum normalize_policy {
	NORMALIZE_TABLE,  /* the kernel's, of today */
	NORMALIZE_POW2,   /* the proposal of 2014 */
	NORMALIZE_EXT2MB, /* ours */
	NORMALIZE_POLICIES
};

struct normalize_goal normalize(enum normalize_policy policy, const struct normalize_request *request);

struct normalize_goal normalize_table(const struct normalize_request *request);
struct normalize_goal normalize_pow2(const struct normalize_request *request);
struct normalize_goal normalize_ext2mb(const struct normalize_request *request);

/* --- What the policies share -------------------------------------------------------------------------------- */

static inline uint64_t normalize_least(uint64_t first, uint64_t second)
{
	return first < second ? first : second;
}

static inline uint64_t normalize_most(uint64_t first, uint64_t second)
{
	return first > second ? first : second;
}

/* Most units are powers of two, for which this need not divide: five of these are on the way of every request. */
static inline uint64_t normalize_round_down(uint64_t value, uint64_t unit)
{
	return unit & (unit - 1) ? value - value % unit : value & ~(unit - 1);
}

static inline uint64_t normalize_round_up(uint64_t value, uint64_t unit)
{
	return normalize_round_down(value + unit - 1, unit);
}

/* The least power of two that is not below value; value is 1 to 2^62. */
static inline uint64_t normalize_power_above(uint64_t value)
{
	return value == 1 ? 1 : UINT64_C(1) << (64 - __builtin_clzll(value - 1));
}

/* The largest power of two that is not above value; value is not 0. */
static inline uint64_t normalize_power_below(uint64_t value)
{
	return UINT64_C(1) << (63 - __builtin_clzll(value));
}

static inline uint64_t normalize_cluster_blocks(const struct normalize_request *request)
{
	return UINT64_C(1) << request->geometry->cluster_bits;
}

static inline uint64_t normalize_group_blocks(const struct normalize_request *request)
{
	return (uint64_t)request->geometry->clusters_per_group << request->geometry->cluster_bits;
}

static inline uint64_t normalize_request_end(const struct normalize_request *request)
{
	return request->start + request->count;
}

/* Where the file ends once the request is done. */
static inline uint64_t normalize_assumed_end(const struct normalize_request *request)
{
	return normalize_most(request->file_blocks, normalize_request_end(request));
}

/*
 * A goal of [start, end), which contain the request's start, widened to whole clusters, then cut to the hole and
 * to a group's length; no wish for a place yet.
 */
struct normalize_goal normalize_clip(const struct normalize_request *request, uint64_t start, uint64_t end);

/* The kernel's wish: a neighbour that the goal touches, the left one first, is to be continued in full length. */
void normalize_adjoin(const struct normalize_request *request, struct normalize_goal *goal);

/* The request itself, with no wish, limited to so many blocks (rounded down to clusters) and a group. */
struct normalize_goal normalize_untouched(const struct normalize_request *request, uint64_t limit);

#endif
