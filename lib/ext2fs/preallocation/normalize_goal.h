/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the normalizations share. */
#pragma once

#include "ext2fs/core/minmax.h"
#include "ext2fs/preallocation/normalize.h"

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
	return geometry_cluster_blocks(request->geometry);
}

static inline uint64_t normalize_group_blocks(const struct normalize_request *request)
{
	return geometry_to_blocks(request->geometry, request->geometry->clusters_per_group);
}

static inline uint64_t normalize_request_end(const struct normalize_request *request)
{
	return request->start + request->count;
}

/* Where the file ends once the request is done. */
static inline uint64_t normalize_assumed_end(const struct normalize_request *request)
{
	return max_u64(request->file_blocks, normalize_request_end(request));
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
