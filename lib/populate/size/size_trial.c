/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "populate/size/size_trial.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "populate/format/likeness.h"
#include "populate/plan/space_estimate.h"
#include "support/run/interrupt.h"

/* The inodes that mke2fs adds, before it has been asked: ten reserved ones, lost+found, the orphan file. */
#define OWN_INODES 12u
/*
 * mke2fs makes a multiple of 8 inodes, and rounds down as well as up. It fails with 8, since its own inodes do not fit.
 */
#define LEAST_INODES 16u

/*
 * The part that the kernel keeps for itself on a mounted filesystem with extents, and that statfs(2) does not call
 * available.
 */
#define KERNEL_RESERVE_PART 50
#define KERNEL_RESERVE_CLUSTERS 4096u

static errcode_t format(struct sizing *sizing, const char *size, struct problem *problem)
{
	struct plan *plan = sizing->plan;
	struct mke2fs_run *run = &sizing->run;
	struct filesystem_room room;

	run->options = plan->options;
	run->identity = &plan->source->identity;
	run->size = size;
	if (plan->source->like.is_wanted)
		likeness_words(&plan->source->like, plan->options, run->block_bytes, &run->words);
	if (interrupt_pending())
		return EINTR;
	/* The file must keep nothing of the last trial. */
	if (sizing->descriptor >= 0 && ftruncate(sizing->descriptor, (off_t)run->offset_bytes) < 0)
		return problem_set(problem, errno, plan->options->image, "cannot truncate");
	errcode_t error = mke2fs_run(run, problem);
	if (!error && plan->source->like.is_wanted)
		error = filesystem_make_like(run->path, run->offset_bytes, &plan->source->like, plan->options, problem);
	if (!error)
		error = filesystem_look(run->path, run->offset_bytes, plan->options->image, &room, problem);
	if (error)
		return error;
	sizing->room = room;
	return space_estimate_count(plan, sizing->work->pool, &room.format, room.blocks_per_group, problem);
}

/*
 * Returns the number of the tree's inodes, and of those that must stay free in so large a filesystem. The root's inode
 * exists already.
 */
static uint64_t wanted_inodes(const struct sizing *sizing, uint64_t filesystem_bytes)
{
	const struct populate_options *options = sizing->plan->options;
	uint64_t free_bytes =
		options->free_percent ? filesystem_bytes / 100 * options->free_percent : options->free_bytes;
	uint64_t of_space = sizing->bytes_per_inode ? free_bytes / sizing->bytes_per_inode : 0;

	return plan_items(sizing->plan) - 1 + (of_space > options->free_inodes ? of_space : options->free_inodes);
}

errcode_t size_learn_inodes(struct sizing *sizing, const char *size, struct problem *problem)
{
	struct problem refusal = { 0 };

	sizing->bytes_per_inode = 0;
	sizing->run.inodes = 0;
	errcode_t error = format(sizing, size, &refusal);

	if (!error)
		sizing->bytes_per_inode = size_made_bytes(sizing) / sizing->room.inodes;
	if (!error || size_is_refused(error)) {
		problem_clear(&refusal);
		return 0;
	}
	problem_move(problem, &refusal);
	return error;
}

uint64_t size_missing_inodes(const struct sizing *sizing)
{
	uint64_t wanted = wanted_inodes(sizing, size_made_bytes(sizing)),
		 highest = sizing->plan->source->encrypted.highest_number;
	uint64_t missing = wanted > sizing->room.free_inodes ? wanted - sizing->room.free_inodes : 0;
	uint64_t beyond = highest > sizing->room.inodes ? highest - sizing->room.inodes : 0;

	return missing > beyond ? missing : beyond;
}

uint64_t size_exact_inodes(const struct sizing *sizing, uint64_t filesystem_bytes)
{
	uint64_t own = sizing->room.inodes ? sizing->room.inodes - sizing->room.free_inodes : OWN_INODES;
	uint64_t inodes = wanted_inodes(sizing, filesystem_bytes) + own,
		 highest = sizing->plan->source->encrypted.highest_number;

	if (inodes < highest)
		inodes = highest;
	return inodes < LEAST_INODES ? LEAST_INODES : inodes;
}

/*
 * mke2fs has chosen the number of inodes by itself, or has rounded our number to one that suits its groups, down as
 * well as up.
 */
errcode_t size_try(struct sizing *sizing, const char *size, struct problem *problem)
{
	sizing->run.inodes = sizing->base_inodes;
	errcode_t error = format(sizing, size, problem);

	for (uint64_t extra = 0; !error && size_missing_inodes(sizing) && !sizing->plan->options->inodes_fixed;) {
		/* A number that mke2fs chose by itself does not show how it rounds a number that we ask for. */
		if (sizing->run.inodes)
			extra = 2 * extra + size_missing_inodes(sizing);
		if (extra > UINT32_MAX / 4)
			break;
		sizing->run.inodes = size_exact_inodes(sizing, size_made_bytes(sizing)) + extra;
		error = format(sizing, size, problem);
	}
	return error;
}

/* --free counts blocks that any user may take, so neither the superuser's nor the kernel's. */
static uint64_t free_blocks_wanted(const struct sizing *sizing)
{
	const struct populate_options *options = sizing->plan->options;
	const struct filesystem_room *room = &sizing->room;
	uint64_t kernel_clusters = (room->blocks >> room->format.cluster_bits) / KERNEL_RESERVE_PART;
	uint64_t wanted = (options->free_bytes + room->format.block_bytes - 1) >> room->format.block_bits;

	if (!options->free_bytes && !options->free_percent)
		return 0;
	if (kernel_clusters > KERNEL_RESERVE_CLUSTERS)
		kernel_clusters = KERNEL_RESERVE_CLUSTERS;
	if (!room->format.extents)
		kernel_clusters = 0;
	if (options->free_percent)
		wanted = (room->blocks * options->free_percent + 99) / 100;
	return wanted + room->reserved_blocks + (kernel_clusters << room->format.cluster_bits);
}

int64_t size_left_blocks(const struct sizing *sizing)
{
	const struct filesystem_room *room = &sizing->room;
	const struct plan *plan = sizing->plan;

	assert(plan->space.is_counted);
	uint64_t needed = (plan->space.clusters << room->format.cluster_bits) + plan->space.quota_blocks;
	uint64_t there = room->free_blocks + (plan->source->has_lost_found ? room->lost_found_blocks : 0);

	return (int64_t)there - (int64_t)needed;
}

int64_t size_spare_blocks(const struct sizing *sizing)
{
	return size_left_blocks(sizing) - (int64_t)(free_blocks_wanted(sizing) + sizing->extra_blocks);
}

static errcode_t open_named(struct trial_file *scratch, struct problem *problem)
{
	const char *folder = getenv("TMPDIR");

	scratch->is_named = true;
	if (asprintf(&scratch->path, "%s/e2populate.XXXXXX", folder && *folder ? folder : "/tmp") < 0) {
		scratch->path = NULL;
		return problem_set(problem, ENOMEM, NULL, "cannot make a temporary file");
	}
	scratch->descriptor = mkostemp(scratch->path, O_CLOEXEC);
	if (scratch->descriptor >= 0) {
		interrupt_removes(scratch->path);
		return 0;
	}
	int error = errno;

	scratch->is_named = false;
	return problem_set(problem, error, scratch->path, "cannot make a temporary file");
}

errcode_t trial_file_open(struct trial_file *scratch, struct problem *problem)
{
	*scratch = (struct trial_file){ .descriptor = memfd_create("e2populate", 0) };
	if (scratch->descriptor < 0)
		return open_named(scratch, problem);
	/* Children inherit the descriptor, so one name serves all. */
	if (asprintf(&scratch->path, "/proc/self/fd/%d", scratch->descriptor) < 0) {
		scratch->path = NULL;
		return problem_set(problem, ENOMEM, NULL, "cannot make a temporary file");
	}
	if (access(scratch->path, R_OK | W_OK) == 0)
		return 0;
	trial_file_close(scratch);
	return open_named(scratch, problem);
}

void trial_file_close(struct trial_file *scratch)
{
	if (scratch->descriptor >= 0)
		close(scratch->descriptor);
	scratch->descriptor = -1;
	if (scratch->is_named)
		unlink(scratch->path);
	interrupt_keeps(scratch->path);
	free(TAKE(scratch->path));
}
