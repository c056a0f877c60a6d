// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Our own policy. What a preallocation costs is given back when the file is closed, so the question is only how likely
 * the file is to fill it, and whether there is room. doc/NORMALIZE.md has the figures.
 *
 * - A file whose end is known gets exactly what lies before it, and fallocate exactly what it says: rounding
 *   that up cost the kernel half of its long free extents (commit 556b27abf73: 38.8 % of them longer than
 *   8 MiB with it, 69.4 % without).
 * - But fallocate that goes on block by block where the file ended is an append like any other. The kernel
 *   leaves it alone, and 64 streams of it cut files of 1 GiB into 261 967 extents.
 * - Appends get preallocations that grow with the file, to four times its size: a file of 1 GiB has 14 of them, 8 of
 *   which are as long as an extent can be. Doubling takes 19, the proposal of 2014 takes 23.
 * - Writes inside the file that do not go on where others ended may be all that ever comes: aligned chunks of
 *   8 MiB at most. Longer extents gain little (Andreas Dilger, 2014).
 * - Preallocations are powers of two, so that whole buddies are found by their order, and shrink with the free space:
 *   all together may hold a quarter of it, and none is longer than the longest buddy that is left. Asking for
 *   more makes the search go through all groups (Dilger's explanation of the kernel's limit).
 * - Where there are stripes, preallocations of a stripe or more end on one, begin on one, and are congruent with it on
 *   disk: read-modify-write halves a RAID's speed, more extents do not (Dilger again).
 */
#include "ext2fs/preallocation/normalize_goal.h"

#define SMALLEST_BLOCKS 16u /* what the kernel takes for a small file (mb_stream_req) */
#define GROWTH 4u
#define CHUNK_BYTES (UINT64_C(8) << 20)
#define SHARE 4u /* all preallocations together: at most one part in so many of the free space */

static bool continues_left(const struct normalize_request *request)
{
	return request->left_physical && request->start == request->hole_start;
}

static bool appends(const struct normalize_request *request)
{
	return normalize_request_end(request) >= request->file_blocks;
}

/* Nothing is known of what comes next but what the request says. */
static bool is_exact(const struct normalize_request *request)
{
	if (request->unwritten)
		return !appends(request) || !continues_left(request) || request->whole_count > request->count ||
		       request->count > request->start;
	return request->final_size && (appends(request) || (request->start && !continues_left(request)));
}

/* The longest preallocation that the free space permits: a power of two, a whole cluster at least. */
static uint64_t longest_preallocation(const struct normalize_request *request)
{
	const struct geometry *geometry = request->geometry;
	const struct normalize_hints *hints = &request->hints;
	uint64_t cluster = normalize_cluster_blocks(request);
	uint64_t limit = min_u64(normalize_group_blocks(request), NORMALIZE_WRITTEN_MAX);
	int top_order = (int)geometry->block_bits + 1;

	/* A top buddy is all that an order can say; whole groups may be free after it. */
	if (hints->largest_order >= 0 && hints->largest_order < top_order)
		limit = min_u64(limit, cluster << hints->largest_order);
	limit = min_u64(limit, hints->free_blocks / (SHARE * ((uint64_t)hints->open_preallocations + 1)));
	return normalize_power_below(max_u64(limit, cluster));
}

static uint64_t append_blocks(const struct normalize_request *request)
{
	uint64_t blocks = max_u64(normalize_power_above(request->count), SMALLEST_BLOCKS);

	if (continues_left(request) && request->start)
		blocks = max_u64(blocks, GROWTH * normalize_power_below(request->start));
	return blocks;
}

struct range {
	uint64_t start;
	uint64_t end;
};

/* Contains the whole request. */
static struct range choose_range(const struct normalize_request *request, uint64_t longest)
{
	uint64_t start = request->start, end = normalize_request_end(request);
	uint64_t file_end = normalize_assumed_end(request);

	if (request->final_size)
		return (struct range){ start, max_u64(end, min_u64(file_end, start + longest)) };
	if (appends(request) || continues_left(request)) {
		uint64_t blocks = min_u64(append_blocks(request), longest);

		end = max_u64(end, start + blocks);
	} else {
		uint64_t blocks =
			min_u64(CHUNK_BYTES >> request->geometry->block_bits, normalize_power_above(file_end));

		blocks = min_u64(max_u64(blocks, normalize_power_above(request->count)), longest);
		start = normalize_round_down(start, blocks);
		end = max_u64(end, start + blocks);
	}
	if (!appends(request))
		end = min_u64(end, file_end);
	return (struct range){ start, end };
}

/* Whether logical and physical blocks lie at the same places in their stripes, left of the hole. */
static bool is_congruent(const struct normalize_request *request)
{
	uint64_t stripe = request->stripe_blocks;

	return request->left_physical % stripe == request->hole_start % stripe;
}

/*
 * A preallocation of a stripe or more, stretched to stripes. What has a neighbour on the left that lies wrongly is to
 * fill the stripe only, after it: the next preallocation then begins a stripe of its own, wherever it is free.
 */
static struct range align_range(const struct normalize_request *request, struct range range)
{
	uint64_t stripe = request->stripe_blocks, request_end = normalize_request_end(request);
	uint64_t file_end = normalize_assumed_end(request);

	if (!stripe || range.end - range.start < stripe)
		return range;
	range.start = max_u64(normalize_round_down(range.start, stripe), request->hole_start);
	if (continues_left(request) && !is_congruent(request) &&
	    normalize_round_up(range.start, stripe) >= request_end)
		return (struct range){ range.start, normalize_round_up(range.start, stripe) };

	uint64_t up = normalize_round_up(range.end, stripe), down = normalize_round_down(range.end, stripe);
	if (up - range.start <= normalize_group_blocks(request))
		range.end = up;
	else if (down >= request_end)
		range.end = down;
	if (!appends(request))
		range.end = max_u64(request_end, min_u64(range.end, file_end));
	return range;
}

static uint64_t group_remainder(const struct normalize_request *request, uint64_t block)
{
	uint64_t group = normalize_group_blocks(request);

	return group - (block - request->geometry->first_block) % group;
}

/*
 * After the left neighbour only what is left of the group is tried for: all of the goal would never fit there,
 * so that every group would end in a gap. And any part of that is welcome, as it lengthens the neighbour's
 * extent: what follows it would have been an extent of its own anyway.
 */
static void join_neighbour(const struct normalize_request *request, struct normalize_goal *goal)
{
	uint64_t stripe = request->stripe_blocks;

	normalize_adjoin(request, goal);
	if (!goal->try_count)
		return;
	/* Whole clusters only: the filesystem may end within one. */
	uint64_t room = normalize_round_down(min_u64(group_remainder(request, goal->physical),
	                                                     request->geometry->end_block - goal->physical),
	                                     normalize_cluster_blocks(request));
	bool joins_left = goal->start == request->hole_start && goal->physical == request->left_physical;

	/* What joins the right neighbour must reach it. */
	if (room < goal->count && !joins_left)
		room = 0;
	if (stripe && goal->count >= stripe && goal->start % stripe == 0 && goal->physical % stripe)
		room = 0;
	goal->try_count = min_u64(goal->count, room);
	goal->try_least =
		joins_left ? min_u64(goal->try_count, normalize_cluster_blocks(request)) : goal->try_count;
}

struct normalize_goal normalize_ext2mb(const struct normalize_request *request)
{
	uint64_t group = normalize_group_blocks(request), stripe = request->stripe_blocks;
	struct range range = { request->start, normalize_request_end(request) };

	if (!is_exact(request))
		range = align_range(request, choose_range(request, longest_preallocation(request)));
	/* A request that is longer than a group loses its end, and where there are stripes a part of one. */
	if (normalize_request_end(request) - range.start > group) {
		range.start = request->start;
		range.end = min_u64(range.end, range.start + group);
		if (request->count > group && stripe && stripe <= group)
			range.end = normalize_round_down(range.end, stripe);
	}
	struct normalize_goal goal = normalize_clip(request, range.start, range.end);
	join_neighbour(request, &goal);
	return goal;
}
