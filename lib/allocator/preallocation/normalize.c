/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "allocator/preallocation/normalize.h"

#include <assert.h>

#include "allocator/core/arithmetic.h"

/* --- What all share ----------------------------------------------------------------------------------------- */

static uint64_t cluster_blocks(const struct normalize_request *request)
{
	return geometry_cluster_blocks(request->geometry);
}

static uint64_t group_blocks(const struct normalize_request *request)
{
	return geometry_to_blocks(request->geometry, request->geometry->clusters_per_group);
}

static uint64_t requested_end(const struct normalize_request *request)
{
	return request->start + request->count;
}

/* The size of the file after the request. */
static uint64_t assumed_end(const struct normalize_request *request)
{
	return max_u64(request->file_blocks, requested_end(request));
}

/*
 * Returns the goal [start, end), which contains the request's start, widened to whole clusters and then cut to the hole
 * and to a group's length. It asks for no place yet.
 */
static struct normalize_goal clip(const struct normalize_request *request, uint64_t start, uint64_t end)
{
	uint64_t cluster = cluster_blocks(request);

	start = max_u64(round_down(start, cluster), request->hole_start);
	end = min_u64(round_up(end, cluster), min_u64(request->hole_end, round_down(NORMALIZE_END, cluster)));
	return (struct normalize_goal){
		.start = start,
		.count = min_u64(end - start, group_blocks(request)),
	};
}

/* The kernel's choice of a place: it continues in full length a neighbour that the goal touches, the left one first. */
static void adjoin(const struct normalize_request *request, struct normalize_goal *goal)
{
	const struct geometry *geometry = request->geometry;
	uint64_t left = request->left_physical, right = request->right_physical;

	if (left && goal->start == request->hole_start && left < geometry->end_block) {
		goal->physical = left;
		goal->try_count = goal->count;
	} else if (right && goal->start + goal->count == request->hole_end &&
	           right >= goal->count + geometry->first_block) {
		goal->physical = right - goal->count;
		goal->try_count = goal->physical ? goal->count : 0;
	}
	goal->try_least = goal->try_count;
}

/* Returns the request itself without a place, limited to this many blocks (rounded down to clusters) and to a group. */
static struct normalize_goal untouched(const struct normalize_request *request, uint64_t limit)
{
	uint64_t cluster = cluster_blocks(request);

	limit = max_u64(round_down(limit, cluster), cluster);
	return clip(request, request->start, request->start + min_u64(request->count, limit));
}

/* --- The kernel's ------------------------------------------------------------------------------------------- */

/*
 * Linux today: a table of sizes. The first column of each step was meant to decide, but the second, "a chunk may not
 * be longer than the largest buddy", compares a number of blocks (2 * block size) with one of KiB, so that it decides
 * alone: with 4 KiB blocks the last step is always taken, and anything longer than 8 MiB is cut to 8 MiB, with 2 KiB
 * blocks to 4 MiB, with 1 KiB blocks to 2 MiB. Only larger blocks reach the end of the table, where requests are
 * unchanged. Lukas Czerner found this in 2014, and it is still so.
 */
#define SMALL_BYTES (UINT64_C(1) << 20)
#define SMALLEST_BYTES (UINT64_C(16) << 10)
#define LONG_REQUEST_BYTES (UINT64_C(8) << 20)

static const struct {
	uint64_t file_bytes; /* files up to this size, or blocks so small that ... */
	uint64_t top_blocks; /* ... the largest buddy has at most so many: */
	unsigned int chunk_bits;
} steps[] = {
	{ UINT64_C(4) << 20, 2048, 21 },
	{ UINT64_C(8) << 20, 4096, 22 },
	{ 0, 8192, 23 }, /* here the request's length decides, not the file's */
};

#define STEPS (sizeof(steps) / sizeof(steps[0]))

/* log2 of the bytes of the aligned chunk that the request becomes; 0: the request stays as it is. */
static unsigned int chunk_bits(const struct normalize_request *request, uint64_t count)
{
	unsigned int block_bits = request->geometry->block_bits;
	uint64_t file_bytes = max_u64(request->file_blocks, request->start + count) << block_bits;
	uint64_t top_blocks = UINT64_C(2) << block_bits;

	for (unsigned int step = 0; step < STEPS; step++)
		if (file_bytes <= steps[step].file_bytes || top_blocks <= steps[step].top_blocks)
			return steps[step].chunk_bits;
	/* The kernel compares clusters with blocks: with bigalloc this limit is higher by that factor. */
	if (geometry_to_clusters(request->geometry, count) <= LONG_REQUEST_BYTES >> block_bits)
		return steps[STEPS - 1].chunk_bits;
	return 0;
}

bool normalize_ends_closed(const struct normalize_request *request)
{
	uint64_t count = untouched(request, NORMALIZE_WRITTEN_MAX).count;

	return request->final_size && !request->unwritten && !request->is_contended &&
	       request->start + count == request->file_blocks;
}

static struct normalize_goal normalize_table(const struct normalize_request *request)
{
	unsigned int block_bits = request->geometry->block_bits;
	uint64_t whole_count = max_u64(request->whole_count, request->count);

	/* Since 2011 fallocate of what fits in one extent is not normalised, and tries no goal either. */
	if (request->unwritten && whole_count <= NORMALIZE_UNWRITTEN_MAX)
		return untouched(request, NORMALIZE_UNWRITTEN_MAX);
	if (normalize_ends_closed(request))
		return untouched(request, NORMALIZE_WRITTEN_MAX);

	/* Before normalisation the kernel limits a request to one extent, and to a group. */
	uint64_t count = untouched(request, request->unwritten ? NORMALIZE_UNWRITTEN_MAX : NORMALIZE_WRITTEN_MAX).count;
	uint64_t file_bytes = max_u64(request->file_blocks, request->start + count) << block_bits;
	unsigned int bits = chunk_bits(request, count);
	uint64_t start = request->start, end = start + count;

	if (file_bytes <= SMALL_BYTES) {
		start = 0;
		end = max_u64(power_above(file_bytes), SMALLEST_BYTES) >> block_bits;
	} else if (bits) {
		start = round_down(start << block_bits, UINT64_C(1) << bits) >> block_bits;
		end = start + (UINT64_C(1) << bits >> block_bits);
	}
	/* The chunk may be longer than a small group. It must not end before the request does, so its length stays. */
	uint64_t floor = round_down(request->start, group_blocks(request));
	if (start < floor) {
		end += floor - start;
		start = floor;
	}
	struct normalize_goal goal = clip(request, start, end);
	adjoin(request, &goal);
	return goal;
}

/*
 * Lukas Czerner's proposal of June 2014, whole, with what the discussion added: from the request's own start to
 * the next power of two of the assumed end of the file, in blocks whatever their size, at most a group, the end
 * aligned to the stripe width afterwards. fallocate knows what it needs and is left alone, but for a limit of
 * half an extent: whole unwritten extents are a block too short to lie side by side.
 */
#define UNWRITTEN_LIMIT (NORMALIZE_WRITTEN_MAX / 2)

static struct normalize_goal normalize_pow2(const struct normalize_request *request)
{
	uint64_t start = request->start, group = group_blocks(request);

	if (request->unwritten)
		return untouched(request, UNWRITTEN_LIMIT);
	/* The proposal does not treat requests that must not be normalised. */
	if (normalize_ends_closed(request))
		return untouched(request, NORMALIZE_WRITTEN_MAX);

	uint64_t end = power_above(assumed_end(request));
	if (request->stripe_blocks)
		end = round_up(end, request->stripe_blocks);
	if (end - start > group) {
		end = start + group;
		/* Rounds down to a stripe only if the request keeps as much of the group as it can use. */
		uint64_t used = start + min_u64(request->count, group);
		uint64_t aligned = request->stripe_blocks ? round_down(end, request->stripe_blocks) : end;
		end = aligned >= used ? aligned : end;
	}
	struct normalize_goal goal = clip(request, start, end);
	adjoin(request, &goal);
	return goal;
}

static struct normalize_goal normalize_none(const struct normalize_request *request)
{
	struct normalize_goal goal = untouched(request, request->count);

	adjoin(request, &goal);
	return goal;
}

/* --- Ours --------------------------------------------------------------------------------------------------- */

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
#define SMALLEST_BLOCKS 16u /* what the kernel takes for a small file (mb_stream_req) */
#define GROWTH 4u
#define COARSE_BLOCKS 256u
#define POWERS_OF_FOUR 0x55u /* below COARSE_BLOCKS */
#define CHUNK_BYTES (UINT64_C(8) << 20)
#define SHARE 4u /* all preallocations together: at most one part in so many of the free space */

static bool continues_left(const struct normalize_request *request)
{
	return request->left_physical && request->start == request->hole_start;
}

static bool appends(const struct normalize_request *request)
{
	return requested_end(request) >= request->file_blocks;
}

/*
 * Nothing is known about the next request but what this one says. fallocate is judged by all that it asks for,
 * including the part that it has already: when the rest of an append got exactly its length, its place was that short,
 * and the next request was cut again (200 MiB by 1 MiB on an old disk: 80 extents, now 24).
 */
static bool is_exact(const struct normalize_request *request)
{
	uint64_t whole = max_u64(request->whole_count, request->count);

	if (request->unwritten)
		return !appends(request) || !continues_left(request) || whole > requested_end(request) / 2;
	return request->final_size && (appends(request) || (request->start && !continues_left(request)));
}

/* The part of the free space that each open preallocation may have. */
static uint64_t share(const struct normalize_hints *hints)
{
	return hints->free_blocks / (SHARE * ((uint64_t)hints->open_preallocations + 1));
}

/* The longest preallocation that the free space permits: a power of two, a whole cluster at least. */
static uint64_t longest_preallocation(const struct normalize_request *request)
{
	const struct geometry *geometry = request->geometry;
	const struct normalize_hints *hints = &request->hints;
	uint64_t cluster = cluster_blocks(request);
	uint64_t limit = min_u64(group_blocks(request), NORMALIZE_WRITTEN_MAX);
	int top_order = (int)geometry->block_bits + 1;

	/* An order cannot say more than a top buddy; whole free groups may follow it. */
	if (hints->largest_order >= 0 && hints->largest_order < top_order)
		limit = min_u64(limit, cluster << hints->largest_order);
	limit = min_u64(limit, share(hints));
	return power_below(max_u64(limit, cluster));
}

/*
 * As long as most groups are free, what is left of a file's last preallocation is a hole, and files most often end at
 * powers of two if they grow by equal steps up to a limit: segments of logs, tables of databases. So preallocations end
 * there, at powers of four up to 256 blocks. (64 files of 1 MiB in turns leave 12 to 16 free extents on 6 GiB, with
 * preallocations of powers of two 74.)
 */
static uint64_t blocks_to_power(const struct normalize_request *request)
{
	uint64_t start = request->start, end = power_above(requested_end(request));

	while (end - start < max_u64(SMALLEST_BLOCKS, start) / 2 || (end < COARSE_BLOCKS && !(end & POWERS_OF_FOUR)))
		end *= 2;
	return end - start;
}

static uint64_t append_blocks(const struct normalize_request *request)
{
	uint64_t blocks = max_u64(power_above(request->count), SMALLEST_BLOCKS);

	if (!continues_left(request) || !request->start)
		return blocks;
	if (request->is_roomy)
		return blocks_to_power(request);
	return max_u64(blocks, GROWTH * power_below(request->start));
}

struct range {
	uint64_t start;
	uint64_t end;
};

/* Contains the whole request. */
static struct range choose_range(const struct normalize_request *request, uint64_t longest)
{
	uint64_t start = request->start, end = requested_end(request);
	uint64_t file_end = assumed_end(request);

	if (request->final_size)
		return (struct range){ start, max_u64(end, min_u64(file_end, start + longest)) };
	if (appends(request) || continues_left(request)) {
		uint64_t blocks = min_u64(append_blocks(request), longest);

		end = max_u64(end, start + blocks);
	} else {
		uint64_t blocks = min_u64(CHUNK_BYTES >> request->geometry->block_bits, power_above(file_end));

		blocks = min_u64(max_u64(blocks, power_above(request->count)), longest);
		start = round_down(start, blocks);
		end = max_u64(end, start + blocks);
	}
	if (!appends(request))
		end = min_u64(end, file_end);
	return (struct range){ start, end };
}

/* True if logical and physical blocks left of the hole lie at the same places in their stripes. */
static bool is_congruent(const struct normalize_request *request)
{
	uint64_t stripe = request->stripe_blocks;

	return request->left_physical % stripe == request->hole_start % stripe;
}

/*
 * Stretches a preallocation of a stripe or more to whole stripes. If its left neighbour lies at another place in its
 * stripe, the preallocation only fills that stripe after the neighbour: the next one then begins a stripe of its own,
 * wherever one is free.
 */
static struct range align_range(const struct normalize_request *request, struct range range)
{
	uint64_t stripe = request->stripe_blocks, request_end = requested_end(request);
	uint64_t file_end = assumed_end(request);

	if (!stripe || range.end - range.start < stripe)
		return range;
	range.start = max_u64(round_down(range.start, stripe), request->hole_start);
	if (continues_left(request) && !is_congruent(request) && round_up(range.start, stripe) >= request_end)
		return (struct range){ range.start, round_up(range.start, stripe) };

	uint64_t up = round_up(range.end, stripe), down = round_down(range.end, stripe);
	if (up - range.start <= group_blocks(request))
		range.end = up;
	else if (down >= request_end)
		range.end = down;
	if (!appends(request))
		range.end = max_u64(request_end, min_u64(range.end, file_end));
	return range;
}

static uint64_t group_remainder(const struct normalize_request *request, uint64_t block)
{
	uint64_t group = group_blocks(request);

	return group - (block - request->geometry->first_block) % group;
}

/*
 * After the left neighbour the search tries only for what is left of the group: the whole goal would never fit there,
 * so every group would end in a gap. Any part of it is welcome, since it lengthens the neighbour's extent: the blocks
 * after it would have been an extent of their own anyway.
 */
static void join_neighbour(const struct normalize_request *request, struct normalize_goal *goal)
{
	uint64_t stripe = request->stripe_blocks;

	adjoin(request, goal);
	if (!goal->try_count)
		return;
	/* Whole clusters only: the filesystem may end within one. */
	uint64_t room = round_down(
		min_u64(group_remainder(request, goal->physical), request->geometry->end_block - goal->physical),
		cluster_blocks(request));
	bool joins_left = goal->start == request->hole_start && goal->physical == request->left_physical;

	/* A goal that joins the right neighbour must reach it. */
	if (room < goal->count && !joins_left)
		room = 0;
	if (stripe && goal->count >= stripe && goal->start % stripe == 0 && goal->physical % stripe)
		room = 0;
	goal->try_count = min_u64(goal->count, room);
	goal->try_least = joins_left ? min_u64(goal->try_count, cluster_blocks(request)) : goal->try_count;
}

static struct normalize_goal normalize_ext2mb(const struct normalize_request *request)
{
	uint64_t group = group_blocks(request), stripe = request->stripe_blocks;
	struct range range = { request->start, requested_end(request) };

	if (!is_exact(request))
		range = align_range(request, choose_range(request, longest_preallocation(request)));
	/* A request that is longer than a group loses its end, and where there are stripes a part of one. */
	if (requested_end(request) - range.start > group) {
		range.start = request->start;
		range.end = min_u64(range.end, range.start + group);
		if (request->count > group && stripe && stripe <= group)
			range.end = round_down(range.end, stripe);
	}
	struct normalize_goal goal = clip(request, range.start, range.end);
	join_neighbour(request, &goal);
	return goal;
}

struct normalize_goal normalize(enum ext2mb_normalization normalization, const struct normalize_request *request)
{
	static struct normalize_goal (*const normalizations[])(const struct normalize_request *) = {
		[EXT2MB_NORMALIZE_EXT2MB] = normalize_ext2mb,
		[EXT2MB_NORMALIZE_TABLE] = normalize_table,
		[EXT2MB_NORMALIZE_POW2] = normalize_pow2,
		[EXT2MB_NORMALIZE_NONE] = normalize_none,
	};

	assert(request->count && request->start >= request->hole_start);
	assert(request->hole_end <= NORMALIZE_END && requested_end(request) <= request->hole_end);
	struct normalize_goal goal = normalizations[normalization](request);
	assert(goal.start <= request->start && request->start < goal.start + goal.count);
	assert(goal.start >= request->hole_start && goal.start + goal.count <= request->hole_end);
	return goal;
}
