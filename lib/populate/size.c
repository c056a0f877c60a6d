// SPDX-License-Identifier: GPL-2.0-or-later
#include "populate/size.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "populate/filesystem.h"
#include "populate/mke2fs.h"
#include "support/interrupt.h"
#include "support/units.h"

/* Ten reserved ones, lost+found, the orphan file. */
#define OWN_INODES 12u
#define MOST_ROUNDS 24
/* As small as it gets: mke2fs gives a filesystem below 2048 blocks no journal. */
#define LEAST_BLOCKS 2048u

struct sizing {
	struct build *build;
	const struct output *output;
	struct needs *needs;
	uint64_t inodes; /* -N for mke2fs, 0: it decides */
	bool counted;
	struct filesystem_room room; /* of the last filesystem made */
};

/* Formats, looks, and counts the needs again if its geometry is another one. */
static errcode_t try_size(struct sizing *sizing, const char *size, struct problem *problem)
{
	const struct build *build = sizing->build;
	const struct populate_options *options = build->options;
	struct mke2fs_run run = {
		.options = options->mke2fs,
		.extended = options->extended,
		.uuid = options->uuid,
		.inodes = sizing->inodes,
		.path = sizing->output->work_path,
		.size = size,
		.image_path = options->image,
		.has_epoch = options->has_epoch,
		.epoch = options->epoch,
		.verbose = options->verbose,
	};
	struct filesystem_room before = sizing->room;

	if (interrupt_pending())
		return EINTR;
	/* What the last round left must not show through. */
	if (!sizing->output->is_device && ftruncate(sizing->output->descriptor, 0) < 0)
		return problem_set(problem, errno, options->image, "cannot truncate");
	errcode_t error = mke2fs_run(&run, problem);
	if (!error)
		error = filesystem_look(run.path, options->image, &sizing->room, problem);
	if (error)
		return error;
	if (sizing->counted && memcmp(&before.format, &sizing->room.format, sizeof(before.format)) == 0 &&
	    before.blocks_per_group == sizing->room.blocks_per_group)
		return 0;
	needs_free(sizing->needs);
	sizing->build->format = sizing->room.format;
	sizing->counted = true;
	return needs_count(sizing->build, sizing->room.blocks_per_group, sizing->needs);
}

static uint64_t needed_blocks(const struct sizing *sizing)
{
	return sizing->needs->clusters << sizing->room.format.cluster_bits;
}

static bool inodes_missing(const struct sizing *sizing, uint64_t *missing)
{
	/* The root's is there already. */
	uint64_t wanted = sizing->build->inode_count - 1;

	*missing = wanted > sizing->room.free_inodes ? wanted - sizing->room.free_inodes : 0;
	return *missing;
}

static errcode_t too_small(const struct sizing *sizing, struct problem *problem)
{
	const char *image = sizing->build->options->image;
	uint64_t block_bytes = sizing->room.format.block_bytes, missing;
	char needed[UNITS_TEXT_BYTES], there[UNITS_TEXT_BYTES], lacking[UNITS_TEXT_BYTES];

	if (inodes_missing(sizing, &missing))
		return problem_set_reason(problem, ENOSPC, image, "the source does not fit",
		                          "%" PRIu64 " more inodes are needed; it has %" PRIu32, missing,
		                          sizing->room.inodes);
	units_format_bytes(needed_blocks(sizing) * block_bytes, needed);
	units_format_bytes(sizing->room.free_blocks * block_bytes, there);
	units_format_bytes((needed_blocks(sizing) - sizing->room.free_blocks) * block_bytes, lacking);
	return problem_set_reason(problem, ENOSPC, image, "the source does not fit",
	                          "it needs %s, %s are free: %s too few", needed, there, lacking);
}

/* The size that was asked for, or that of the device or existing file. */
static errcode_t format_given(struct sizing *sizing, const char *size)
{
	struct problem *problem = sizing->build->problem;
	uint64_t missing;
	errcode_t error = try_size(sizing, size, problem);

	if (error)
		return error;
	if (inodes_missing(sizing, &missing) && !sizing->build->options->inodes_given) {
		sizing->inodes = sizing->build->inode_count + OWN_INODES;
		error = try_size(sizing, size, problem);
		if (error)
			return error;
	}
	if (inodes_missing(sizing, &missing) || needed_blocks(sizing) > sizing->room.free_blocks)
		return too_small(sizing, problem);
	return 0;
}

static errcode_t try_kib(struct sizing *sizing, uint64_t kib, struct problem *problem)
{
	char size[32];

	snprintf(size, sizeof(size), "%" PRIu64 "K", kib);
	return try_size(sizing, size, problem);
}

/* A first size that is surely large enough, for finding out what this mke2fs does with such a one. */
static uint64_t first_guess_kib(const struct sizing *sizing)
{
	const struct tree *tree = sizing->build->tree;
	uint64_t bytes = 0;

	for (uint32_t node = 0; node < tree->node_count; node++) {
		if (S_ISREG(tree->nodes[node].mode) && !tree->nodes[node].is_sparse &&
		    !tree_node_is_link(tree, node))
			bytes += tree->nodes[node].size_bytes;
	}
	/* A block and an inode each, and half as much again as the journal may get. */
	return (bytes + bytes / 16) / 1024 + 8ull * tree->node_count + 65536;
}

static uint64_t to_kib(const struct sizing *sizing, uint64_t blocks)
{
	return blocks * (sizing->room.format.block_bytes / 1024);
}

/* Looks for the smallest size that does; keeps the bounds in KiB, rounded to whole clusters. */
static errcode_t format_smallest(struct sizing *sizing)
{
	struct problem *problem = sizing->build->problem;
	uint64_t too_small_kib = 0, enough_kib = 0, missing, kib = first_guess_kib(sizing), last_kib = 0;
	bool wants_journal = false;
	errcode_t error;

	if (!sizing->build->options->inodes_given)
		sizing->inodes = sizing->build->inode_count + OWN_INODES;
	for (int round = 0; round < MOST_ROUNDS; round++) {
		struct problem attempt = { 0 };

		error = try_kib(sizing, kib, &attempt);
		last_kib = kib;
		bool refused = error && error != EINTR && enough_kib;
		if (error && !refused)
			return problem_move(problem, &attempt), error;
		problem_clear(&attempt);
		if (!refused && inodes_missing(sizing, &missing)) {
			sizing->inodes = sizing->room.inodes + missing + OWN_INODES;
			continue;
		}
		if (round == 0)
			wants_journal = sizing->room.has_journal;
		uint64_t wanted = needed_blocks(sizing), there = sizing->room.free_blocks;
		uint64_t step_kib = to_kib(sizing, 1u << sizing->room.format.cluster_bits);
		/* A quarter of a percent or 64 KiB more than needed is not worth another round. */
		uint64_t tolerance_kib = 64 + kib / 400;

		if (refused || wanted > there || (wants_journal && !sizing->room.has_journal)) {
			too_small_kib = kib;
			kib += refused || wanted <= there ? tolerance_kib : to_kib(sizing, wanted - there) + step_kib;
		} else {
			enough_kib = kib;
			uint64_t spare_kib = to_kib(sizing, there - wanted);

			if (spare_kib <= tolerance_kib)
				return 0;
			kib -= spare_kib < kib ? spare_kib : kib - 1;
			kib = kib < to_kib(sizing, LEAST_BLOCKS) && wants_journal ? to_kib(sizing, LEAST_BLOCKS) : kib;
		}
		if (enough_kib && (kib <= too_small_kib || kib >= enough_kib))
			kib = too_small_kib + (enough_kib - too_small_kib) / 2;
		kib = (kib + step_kib - 1) / step_kib * step_kib;
		if (enough_kib && (kib >= enough_kib || enough_kib - too_small_kib <= tolerance_kib + step_kib))
			break;
	}
	if (!enough_kib)
		return too_small(sizing, problem);
	return last_kib == enough_kib ? 0 : try_kib(sizing, enough_kib, problem);
}

errcode_t size_format(struct build *build, const struct output *output, struct needs *needs)
{
	const struct populate_options *options = build->options;
	struct sizing sizing = { .build = build, .output = output, .needs = needs };
	char size[32];

	if (options->size)
		return format_given(&sizing, options->size);
	if (output->is_device)
		return format_given(&sizing, NULL);
	if (output->existing_bytes) {
		snprintf(size, sizeof(size), "%" PRIu64 "K", output->existing_bytes / 1024);
		return format_given(&sizing, size);
	}
	return format_smallest(&sizing);
}
