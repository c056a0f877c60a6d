/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "populate/verify/verify_protection.h"

#include <errno.h>
#include <string.h>

#include "unpack/spool_directory.h"
#include "contents/protection.h"

#define PIECE_BYTES ((size_t)64 << 10) /* at least a block of the largest size */
#define LARGE_BYTES (UINT64_C(64) << 20)

struct comparison {
	const struct plan *plan;
	const struct image *image;
	const struct protect_worker *own;
	const struct verity_place *place;
	uint8_t *found, *wanted; /* PIECE_BYTES each */
};

/*
 * Makes the bytes that blocks [block, block + count) of the file should have. The blocks are all of the tree, or none
 * is.
 */
static void make_wanted(const struct comparison *comparison, uint64_t block, uint32_t count)
{
	const struct protect_worker *own = comparison->own;
	const struct verity_place *place = comparison->place;
	unsigned int block_bits = comparison->plan->format.block_bits;
	bool is_tree = block < place->first_block + place->tree_blocks;
	const uint8_t *from = is_tree ? own->current_memory : own->tail;
	uint64_t first = place->first_block + (is_tree ? 0 : place->tree_blocks);
	uint64_t start = (block - first) << block_bits, bytes = (uint64_t)count << block_bits;
	uint64_t all = is_tree ? hash_tree_bytes(own->current) : (place->blocks - place->tree_blocks) << block_bits;
	uint64_t filled = all > start ? all - start : 0;

	filled = filled < bytes ? filled : bytes;
	memset(comparison->wanted, 0, bytes);
	memcpy(comparison->wanted, from + start, filled);
}

static errcode_t compare_run(const struct comparison *comparison, const struct file_extent *run, const char **what)
{
	const struct verity_place *place = comparison->place;
	unsigned int block_bits = comparison->plan->format.block_bits;
	uint64_t next = run->logical > place->first_block ? run->logical : place->first_block;
	uint64_t end = (uint64_t)run->logical + run->count, tail = place->first_block + place->tree_blocks;

	for (uint32_t count; next < end; next += count) {
		uint64_t most = (next < tail && tail < end ? tail : end) - next;
		uint64_t physical = run->physical + (next - run->logical);

		count = most < PIECE_BYTES >> block_bits ? (uint32_t)most : (uint32_t)(PIECE_BYTES >> block_bits);
		if (next + count > place->first_block + place->blocks) {
			*what = "it has blocks after fs-verity's descriptor";
			return 0;
		}
		errcode_t error = image_read(comparison->image, comparison->found, (size_t)count << block_bits,
		                             physical << block_bits);

		if (error)
			return error;
		make_wanted(comparison, next, count);
		if (memcmp(comparison->found, comparison->wanted, (size_t)count << block_bits)) {
			*what = next < tail ? "its hashes for fs-verity" : "its descriptor for fs-verity";
			return 0;
		}
	}
	return 0;
}

/* Blocks between data and tree, which only large clusters have, do not matter. */
static errcode_t compare_runs(const struct comparison *comparison, const struct extent_list *extents, const char **what)
{
	uint64_t start = comparison->place->first_block, blocks = 0;
	errcode_t error = 0;

	for (size_t number = 0; !error && !*what && number < extents->count; number++) {
		const struct file_extent *run = &extents->extents[number];
		uint64_t end = (uint64_t)run->logical + run->count, from = run->logical > start ? run->logical : start;

		blocks += end > from ? end - from : 0;
		error = compare_run(comparison, run, what);
	}
	if (!error && !*what && blocks != comparison->place->blocks)
		*what = "it lacks blocks of fs-verity";
	return error;
}

/* Holes of the image have already been compared, and are not read again. */
static errcode_t read_data(const struct plan *plan, struct protect_worker *own, struct content_reader *reader,
                           uint32_t node, struct problem *problem)
{
	uint64_t bytes = plan_node(plan, node)->size_bytes;
	struct file_extent single;
	uint32_t count;
	const struct file_extent *extents = placement_extents(&plan->placements[node], &single, &count);

	for (uint32_t number = 0; number < count; number++) {
		uint64_t start = (uint64_t)extents[number].logical << plan->format.block_bits;
		uint64_t end = start + ((uint64_t)extents[number].count << plan->format.block_bits);

		end = end < bytes ? end : bytes;
		errcode_t error = start < end ? protect_read(own, reader, start, end - start, problem) : 0;

		if (error)
			return error;
	}
	return 0;
}

static errcode_t hash_again(const struct plan *plan, struct protect_worker *own, struct content_reader *reader,
                            uint32_t node, struct problem *problem)
{
	uint64_t bytes = plan_node(plan, node)->size_bytes;
	SCOPE_FREE char *directory = spool_directory(plan->options->image);
	/* The tree of a large file goes into a file, so that a huge one does not take memory. */
	errcode_t error =
		directory ? protect_begin(&plan->protection, own, node, bytes > LARGE_BYTES, directory) : ENOMEM;

	if (!error)
		error = read_data(plan, own, reader, node, problem);
	if (error)
		return error;
	struct file_extent single;
	uint32_t count;
	const struct file_extent *extents = placement_extents(&plan->placements[node], &single, &count);

	return protect_finish(&plan->protection, own, extents, count, problem);
}

errcode_t verify_protection(const struct plan *plan, const struct image *image, struct protect_worker *own,
                            struct content_reader *reader, uint32_t node, const struct extent_list *extents,
                            const char **what, struct problem *problem)
{
	SCOPE_FREE uint8_t *buffers = malloc(2 * PIECE_BYTES);
	const struct verity_place place = protection_place(&plan->protection, node);
	const struct comparison comparison = { plan, image, own, &place, buffers, buffers + PIECE_BYTES };

	*what = NULL;
	if (!buffers)
		return ENOMEM;
	errcode_t error = hash_again(plan, own, reader, node, problem);

	if (!error)
		error = compare_runs(&comparison, extents, what);
	protect_drop(own);
	return error;
}
