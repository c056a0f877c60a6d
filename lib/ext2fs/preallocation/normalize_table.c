// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * What Linux does today: a table of sizes. The first column of each step was meant to decide, but the second,
 * "a chunk may not be longer than the largest buddy", compares a number of blocks (2 * block size) with one of
 * KiB, so that it decides alone: with 4 KiB blocks the last step is always taken and whatever is longer than
 * 8 MiB is cut to 8 MiB, with 2 KiB blocks to 4 MiB, with 1 KiB blocks to 2 MiB. Only larger blocks reach the
 * end of the table, where requests are left as they are. Found by Lukas Czerner in 2014, and still so.
 */
#include "ext2fs/preallocation/normalize_goal.h"

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

/* log2 of the aligned chunk's bytes that the request is to become; 0: it is left as it is. */
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

struct normalize_goal normalize_table(const struct normalize_request *request)
{
	unsigned int block_bits = request->geometry->block_bits;
	uint64_t whole_count = max_u64(request->whole_count, request->count);

	/* fallocate of what fits in one extent has asked not to be normalised since 2011; it tries no goal either. */
	if (request->unwritten && whole_count <= NORMALIZE_UNWRITTEN_MAX)
		return normalize_untouched(request, NORMALIZE_UNWRITTEN_MAX);

	/* Before normalisation the kernel limits a request to one extent, and to a group. */
	uint64_t count =
		normalize_untouched(request, request->unwritten ? NORMALIZE_UNWRITTEN_MAX : NORMALIZE_WRITTEN_MAX)
			.count;
	uint64_t file_bytes = max_u64(request->file_blocks, request->start + count) << block_bits;
	unsigned int bits = chunk_bits(request, count);
	uint64_t start = request->start, end = start + count;

	if (file_bytes <= SMALL_BYTES) {
		start = 0;
		end = max_u64(normalize_power_above(file_bytes), SMALLEST_BYTES) >> block_bits;
	} else if (bits) {
		start = normalize_round_down(start << block_bits, UINT64_C(1) << bits) >> block_bits;
		end = start + (UINT64_C(1) << bits >> block_bits);
	}
	/* So that a chunk longer than a small group does not end before the request: its length does not shrink. */
	uint64_t floor = normalize_round_down(request->start, normalize_group_blocks(request));
	if (start < floor) {
		end += floor - start;
		start = floor;
	}
	struct normalize_goal goal = normalize_clip(request, start, end);
	normalize_adjoin(request, &goal);
	return goal;
}
