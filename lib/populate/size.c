// SPDX-License-Identifier: GPL-2.0-or-later
#include "populate/size.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "populate/filesystem.h"
#include "populate/mke2fs.h"
#include "populate/quota.h"
#include "support/interrupt.h"
#include "support/units.h"

/* Ten reserved ones, lost+found, the orphan file. */
#define OWN_INODES 12u
#define MOST_ROUNDS 24

struct sizing {
	struct build *build;
	const struct output *output;
	struct needs *needs;
	uint64_t inodes; /* -N for mke2fs, 0: it decides */
	uint32_t block_bytes; /* -b for mke2fs, 0: it decides */
	bool counted; /* needs are those of room */
	bool wants_journal; /* mke2fs gave a large enough filesystem one */
	struct filesystem_room room; /* of the last filesystem made */
};

/* Formats, looks, and counts the needs again if its geometry is another one. */
static errcode_t try_size(struct sizing *sizing, const char *size, struct problem *problem)
{
	const struct build *build = sizing->build;
	const struct populate_options *options = build->options;
	struct mke2fs_run run = {
		.options = options,
		.path = sizing->output->work_path,
		.size = size,
		.inodes = sizing->inodes,
		.block_bytes = sizing->block_bytes,
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
	/* What this attempt says may have to be forgotten. */
	struct problem *kept = sizing->build->problem;

	sizing->build->problem = problem;
	error = needs_count(sizing->build, sizing->room.blocks_per_group, sizing->needs);
	sizing->build->problem = kept;
	return error;
}

static uint64_t needed_blocks(const struct sizing *sizing)
{
	uint64_t blocks = sizing->needs->clusters << sizing->room.format.cluster_bits;

	return blocks + quota_most_blocks(sizing->build->tree, &sizing->room.format, sizing->room.quota_types);
}

static uint64_t missing_inodes(const struct sizing *sizing)
{
	/* The root's is there already. */
	uint64_t wanted = sizing->build->inode_count - 1;

	return wanted > sizing->room.free_inodes ? wanted - sizing->room.free_inodes : 0;
}

/*
 * Formats, and again with more inodes where they were too few: mke2fs chose a number by itself, or rounded the
 * one asked for to what suits its groups, down as well as up.
 */
static errcode_t try_with_inodes(struct sizing *sizing, const char *size, struct problem *problem)
{
	errcode_t error = try_size(sizing, size, problem);

	for (uint64_t extra = 0; !error && missing_inodes(sizing) && !sizing->build->options->inodes_fixed;) {
		extra = 2 * extra + missing_inodes(sizing);
		if (extra > UINT32_MAX / 4)
			break;
		sizing->inodes = sizing->build->inode_count + OWN_INODES + extra;
		error = try_size(sizing, size, problem);
	}
	return error;
}

static errcode_t too_small(const struct sizing *sizing, struct problem *problem)
{
	const char *image = sizing->build->options->image;
	uint64_t block_bytes = sizing->room.format.block_bytes;
	char needed[UNITS_TEXT_BYTES], there[UNITS_TEXT_BYTES], lacking[UNITS_TEXT_BYTES];

	if (missing_inodes(sizing))
		return problem_set_reason(problem, ENOSPC, image, "the source does not fit",
		                          "%" PRIu64 " more inodes are needed; it has %" PRIu32,
		                          missing_inodes(sizing), sizing->room.inodes);
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
	errcode_t error = try_with_inodes(sizing, size, problem);

	/* mke2fs's own number of inodes may leave too little room where the number needed does not. */
	if (!error && !missing_inodes(sizing) && needed_blocks(sizing) > sizing->room.free_blocks &&
	    !sizing->build->options->inodes_given && !sizing->build->options->inodes_fixed) {
		sizing->inodes = sizing->build->inode_count + OWN_INODES;
		error = try_with_inodes(sizing, size, problem);
	}
	if (error)
		return error;
	if (missing_inodes(sizing) || needed_blocks(sizing) > sizing->room.free_blocks)
		return too_small(sizing, problem);
	return 0;
}

/*
 * How a size does: *spare_kib is what would be left over, or, negative, what is lacking. may_refuse: mke2fs
 * saying no means that the size is too small, for it has said yes to a larger one.
 */
static errcode_t judge(struct sizing *sizing, uint64_t kib, bool may_refuse, int64_t *spare_kib)
{
	struct problem attempt = { 0 };
	char size[32];

	snprintf(size, sizeof(size), "%" PRIu64 "K", kib);
	errcode_t error = try_with_inodes(sizing, size, &attempt);
	if (!error && missing_inodes(sizing))
		return too_small(sizing, sizing->build->problem);
	if (error && (!may_refuse || error == EINTR)) {
		problem_move(sizing->build->problem, &attempt);
		return error;
	}
	problem_clear(&attempt);
	int64_t spare_blocks = (int64_t)sizing->room.free_blocks - (int64_t)needed_blocks(sizing);

	*spare_kib = spare_blocks * (int64_t)(sizing->room.format.block_bytes / 1024);
	/* A filesystem that lost its journal for being small is not what was asked for. */
	if (error || (may_refuse && sizing->wants_journal && !sizing->room.has_journal))
		*spare_kib = -(int64_t)(kib / 16 + 64);
	return 0;
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

/* Bounds of the answer, in KiB; 0: not known yet. */
struct bounds {
	uint64_t too_small, enough;
};

/* The next size to look at: where the last one says that the answer is, but between the bounds. */
static uint64_t next_guess_kib(const struct sizing *sizing, const struct bounds *bounds, uint64_t kib,
                               int64_t spare_kib)
{
	uint64_t cluster_kib = (sizing->room.format.block_bytes / 1024ull) << sizing->room.format.cluster_bits;
	int64_t guess = (int64_t)kib - spare_kib;

	if (bounds->enough && (guess <= (int64_t)bounds->too_small || guess >= (int64_t)bounds->enough))
		guess = (int64_t)(bounds->too_small + (bounds->enough - bounds->too_small) / 2);
	return ((uint64_t)guess + cluster_kib - 1) / cluster_kib * cluster_kib;
}

/* Looks for the smallest size that does. Three or four rounds, since the space lost to metadata is nearly linear. */
static errcode_t format_smallest(struct sizing *sizing)
{
	struct bounds bounds = { 0 };
	uint64_t kib = first_guess_kib(sizing), last_kib = 0;
	int64_t spare_kib = 0;

	if (!sizing->build->options->inodes_given && !sizing->build->options->inodes_fixed)
		sizing->inodes = sizing->build->inode_count + OWN_INODES;
	for (int round = 0; round < MOST_ROUNDS; round++) {
		errcode_t error = judge(sizing, kib, bounds.enough, &spare_kib);
		/* A quarter of a percent or 64 KiB more than needed is not worth another round. */
		int64_t tolerance_kib = 64 + (int64_t)(kib / 400);

		if (error)
			return error;
		last_kib = kib;
		if (!bounds.enough)
			sizing->wants_journal = sizing->room.has_journal;
		if (spare_kib < 0)
			bounds.too_small = kib;
		else
			bounds.enough = kib;
		if (spare_kib >= 0 && spare_kib <= tolerance_kib)
			break;
		if (bounds.enough && (int64_t)(bounds.enough - bounds.too_small) <= tolerance_kib)
			break;
		kib = next_guess_kib(sizing, &bounds, kib, spare_kib);
		if (kib == bounds.enough)
			break;
	}
	if (!bounds.enough)
		return too_small(sizing, sizing->build->problem);
	if (last_kib == bounds.enough)
		return 0;
	/* The size that did, once more; more inodes may have been asked for since. */
	errcode_t error = judge(sizing, bounds.enough, false, &spare_kib);

	return !error && spare_kib < 0 ? too_small(sizing, sizing->build->problem) : error;
}

static errcode_t format_output(struct sizing *sizing)
{
	const struct output *output = sizing->output;
	char size[32];

	if (sizing->build->options->size)
		return format_given(sizing, sizing->build->options->size);
	if (output->is_device)
		return format_given(sizing, NULL);
	if (output->existing_bytes >= 1024) {
		snprintf(size, sizeof(size), "%" PRIu64 "K", output->existing_bytes / 1024);
		return format_given(sizing, size);
	}
	return format_smallest(sizing);
}

#define USUAL_BLOCK_BYTES 4096u

errcode_t size_format(struct build *build, const struct output *output, struct needs *needs)
{
	struct sizing sizing = { .build = build, .output = output, .needs = needs };
	errcode_t error = format_output(&sizing);

	/* mke2fs gives small filesystems small blocks, which not every symlink, set of xattrs or sparse file fits. */
	if ((error == ENAMETOOLONG || error == E2BIG || error == EFBIG) && !build->options->block_size_given &&
	    sizing.room.format.block_bytes < USUAL_BLOCK_BYTES) {
		problem_clear(build->problem);
		sizing.block_bytes = USUAL_BLOCK_BYTES;
		sizing.inodes = 0;
		error = format_output(&sizing);
	}
	return error;
}
