/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "update/carry_out.h"

#include <errno.h>
#include <inttypes.h>

#include "update/apply/apply.h"
#include "update/holes.h"
#include "update/target/against.h"
#include "update/target/filesystem.h"
#include "update/target/free_space.h"
#include "update/target/growth.h"
#include "update/target/need.h"
#include "update/target/orphans.h"
#include "update/target/working_copy.h"

/* Each growth is looked at: how much of it bitmaps and inode tables take is resize2fs's matter. */
#define MOST_GROWTHS 6

struct carrying {
	struct update_options options; /* the user's, and what follows from the image */
	struct update_plan *plan;
	struct update_target *target;
	struct delta_old *old;
	struct update_need need;
	struct pool *pool;
	struct update_report *report;
	struct problem *problem;
};

static void read_counts(const struct update_filesystem *filesystem, struct update_report *report)
{
	struct ext2mb_transaction_info info = { .struct_bytes = sizeof(info) };

	if (!filesystem->fs || ext2mb_transaction_read_info(filesystem->fs, &info))
		return;
	report->commits = info.commits;
	report->logged_blocks = info.logged_blocks;
	report->direct_blocks = info.direct_blocks;
}

/*
 * Until here nothing of the image has been written but the replay, which target_replay() has made, and the block of the
 * feature mmp. There libext2fs has put e2fsck's mark, which keeps others out until the filesystem is closed, without
 * being renewed.
 */
static errcode_t check_again(const struct carrying *carrying, const struct update_filesystem *filesystem)
{
	bool has_mmp = carrying->target->volume.superblock.s_feature_incompat & EXT4_FEATURE_INCOMPAT_MMP;
	errcode_t error = has_mmp ? 0 : target_check(&carrying->options, carrying->target, carrying->problem);

	return error ? error :
	               target_check_mounts(&carrying->options, carrying->target, &filesystem->volume.superblock,
	                                   carrying->problem);
}

static errcode_t open_path(const struct carrying *carrying, const char *path, int flags,
                           struct update_filesystem *filesystem)
{
	const struct update_options *options = &carrying->options;
	errcode_t error = update_filesystem_open(options, path, flags, filesystem, carrying->problem);

	if (!error && !options->makes_new_file)
		error = check_again(carrying, filesystem);
	return error ? error : orphans_release_old(filesystem, options->image, carrying->problem);
}

/*
 * Contents are written before the metadata that lead to them, and the size of a transaction is known after these: so
 * all but the contents is tried in memory first, and a refusal leaves the image as it was.
 */
static errcode_t rehearse(const struct carrying *carrying, const char *path)
{
	const struct update_options *options = &carrying->options;
	struct update_filesystem filesystem;
	/* Orphans are released before, which is written. */
	int flags = carrying->target->volume.has_orphans ? 0 : EXT2_FLAG_SKIP_MMP;
	errcode_t error = open_path(carrying, path, flags, &filesystem);

	if (!error)
		error = apply_rehearse(options, carrying->plan, &filesystem, carrying->pool, carrying->problem);
	/* What is in memory is dropped in any case. */
	errcode_t close_error = update_filesystem_close(&filesystem, EXT2MB_ET_TRANSACTION_OVER);

	(void)close_error;
	/* The release of orphans, and the end of its log. */
	if (!error)
		error = target_note_change(carrying->target);
	return error ? problem_set(carrying->problem, error, options->image, "cannot update") : 0;
}

static errcode_t change(const struct carrying *carrying, const char *path)
{
	const struct update_options *options = &carrying->options;
	struct update_filesystem filesystem;
	errcode_t error = open_path(carrying, path, 0, &filesystem);

	if (!error)
		error = apply_plan(options, carrying->plan, &filesystem, carrying->pool, carrying->report,
		                   carrying->problem);
	read_counts(&filesystem, carrying->report);
	errcode_t close_error = update_filesystem_close(&filesystem, error);

	error = error ? error : close_error;
	return error ? problem_set(carrying->problem, error, options->image, "cannot update") : 0;
}

static errcode_t compare(const struct carrying *carrying, const char *path)
{
	return against_compare(&carrying->options, path, carrying->pool, carrying->old, &carrying->report->delta,
	                       carrying->problem);
}

static errcode_t change_in_place(const struct carrying *carrying)
{
	errcode_t error = target_check(&carrying->options, carrying->target, carrying->problem);

	if (!error)
		error = target_replay(&carrying->options, carrying->target, carrying->problem);
	if (error)
		return error;
	target_unlock(carrying->target);
	if (carrying->options.is_atomic)
		error = rehearse(carrying, carrying->options.image);
	if (!error)
		error = change(carrying, carrying->options.image);
	return error ? error : compare(carrying, carrying->options.image);
}

/* --- Growing ------------------------------------------------------------------------------------------------------ */

static errcode_t find_lack(const struct carrying *carrying, const struct volume *volume, struct update_lack *lack)
{
	struct free_space space;
	errcode_t error = free_space_count(volume, &space);

	if (error)
		return problem_set(carrying->problem, error, carrying->options.image, "cannot update");
	*lack = update_need_lack(&carrying->need, space.blocks, space.inodes,
	                         growth_kept_blocks(&carrying->options, volume), carrying->options.is_atomic);
	return 0;
}

static bool is_lacking(struct update_lack lack)
{
	return lack.blocks || lack.inodes;
}

/* resize2fs makes nothing larger that needs recovery or has a torn superblock, and does not see orphans. */
static errcode_t replay(const struct carrying *carrying, const struct working_copy *copy)
{
	struct update_filesystem filesystem;
	errcode_t error = update_filesystem_open(&carrying->options, copy->path, 0, &filesystem, carrying->problem);

	if (!error)
		error = orphans_release_old(&filesystem, carrying->options.image, carrying->problem);
	errcode_t close_error = update_filesystem_close(&filesystem, error);

	return error ? error : close_error;
}

/* *size: with so many blocks the volume should not lack that any more. */
static errcode_t find_size(const struct carrying *carrying, const struct volume *volume, struct update_lack lack,
                           uint64_t *size)
{
	*size = growth_size(&carrying->options, volume, lack);
	return *size ? 0 :
	               problem_set_reason(carrying->problem, ENOSPC, carrying->options.image, "cannot grow",
	                                  "no size leaves as much free as --free says");
}

/* Looks what the copy lacks now; *size: with so many blocks it should lack nothing. */
static errcode_t look(const struct carrying *carrying, const struct working_copy *copy, struct update_lack *lack,
                      uint64_t *size)
{
	const uint64_t before = carrying->target->volume.geometry.end_block;
	struct volume volume;
	errcode_t error = volume_open(copy->path, carrying->options.offset_bytes, &volume, carrying->problem);

	if (error)
		return error;
	error = find_lack(carrying, &volume, lack);
	if (!error)
		error = find_size(carrying, &volume, *lack, size);
	carrying->report->grown_bytes = (volume.geometry.end_block - before) << volume.format.block_bits;
	volume_close(&volume);
	return error;
}

static errcode_t grow(const struct carrying *carrying, const struct working_copy *copy)
{
	int64_t now = update_filesystem_time(&carrying->options, &carrying->target->volume.superblock);
	struct update_lack lack;
	uint64_t size;
	errcode_t error = replay(carrying, copy);

	if (!error)
		error = look(carrying, copy, &lack, &size);
	for (int tries = 0; !error && is_lacking(lack) && tries < MOST_GROWTHS; tries++) {
		error = working_copy_grow(&carrying->options, copy, size, now, carrying->problem);
		if (!error)
			error = look(carrying, copy, &lack, &size);
	}
	if (error || !is_lacking(lack))
		return error;
	return problem_set_reason(carrying->problem, ENOSPC, carrying->options.image, "cannot grow",
	                          "resize2fs leaves it without %" PRIu64 " blocks and %" PRIu64 " inodes", lack.blocks,
	                          lack.inodes);
}

/* --- Where it is done --------------------------------------------------------------------------------------------- */

static errcode_t change_copy(struct carrying *carrying, struct update_lack lack)
{
	struct working_copy copy = { 0 };

	carrying->options.makes_new_file = true;
	/* The rename is what makes it so. */
	carrying->options.is_atomic = false;
	errcode_t error = working_copy_make(&carrying->options, &copy, carrying->problem);

	if (!error && carrying->target->tree.is_there)
		error = appended_tree_cut(&carrying->target->volume, copy.output.descriptor);
	if (!error && is_lacking(lack))
		error = grow(carrying, &copy);
	if (!error)
		error = change(carrying, copy.path);
	if (!error)
		error = appended_tree_write(&carrying->options, &carrying->target->tree, copy.path,
		                            copy.output.descriptor, carrying->pool, carrying->report,
		                            carrying->problem);
	if (!error)
		error = compare(carrying, copy.path);
	if (!error)
		error = target_check(&carrying->options, carrying->target, carrying->problem);
	/* Nothing else may have it open when it is replaced. */
	target_close(carrying->target);
	if (!error)
		error = working_copy_finish(&copy, carrying->problem);
	working_copy_close(&copy);
	return error;
}

static errcode_t refuse_growth(const struct carrying *carrying, struct update_lack lack)
{
	const struct volume *volume = &carrying->target->volume;

	return problem_set_reason(carrying->problem, ENOSPC, carrying->options.image, "cannot update",
	                          "it lacks %" PRIu64 " blocks of %u bytes and %" PRIu64
	                          " inodes: make it larger first "
	                          "(resize2fs -z UNDO-FILE %s)",
	                          lack.blocks, volume->format.block_bytes, lack.inodes, carrying->options.image);
}

/* Looks what the image lacks, and whether the update is made in a copy. */
static errcode_t find_place(struct carrying *carrying, bool *has_copy, struct update_lack *lack)
{
	const struct update_target *target = carrying->target;
	errcode_t error = find_lack(carrying, &target->volume, lack);

	*has_copy =
		carrying->options.makes_new_file || target->tree.is_there || !target->has_journal || is_lacking(*lack);
	if (error || !*has_copy)
		return error;
	if (target->is_device && is_lacking(*lack))
		return refuse_growth(carrying, *lack);
	/* In a copy space that is freed can be used again, whatever the user wants to be atomic. */
	carrying->options.is_atomic = false;
	error = find_lack(carrying, &target->volume, lack);
	carrying->report->lacked_blocks = lack->blocks;
	carrying->report->lacked_inodes = lack->inodes;
	return error;
}

/* Says by how much the image would grow, and why. Contents are searched for holes only where it lacks blocks. */
static errcode_t foresee(struct carrying *carrying)
{
	const struct update_options *options = &carrying->options;
	const struct volume *volume = &carrying->target->volume;
	struct update_lack lack;
	uint64_t size;
	bool has_copy;
	errcode_t error = find_place(carrying, &has_copy, &lack);

	if (!error && lack.blocks && !options->zeros_of_source) {
		error = holes_find(options, carrying->plan, volume, carrying->pool, carrying->problem);
		if (!error)
			error = update_need_count(options, carrying->plan, volume, &carrying->need);
		if (!error)
			error = find_place(carrying, &has_copy, &lack);
	}
	if (!error && is_lacking(lack))
		error = find_size(carrying, volume, lack, &size);
	if (!error && is_lacking(lack))
		carrying->report->grown_bytes = (size - volume->geometry.end_block) << volume->format.block_bits;
	return error;
}

/* Nothing is to be done but a replay, which a crash may have left of an earlier update. */
static errcode_t keep_image(const struct carrying *carrying)
{
	struct update_target *target = carrying->target;
	errcode_t error =
		target->volume.needs_recovery ? target_check(&carrying->options, target, carrying->problem) : 0;

	/* A superblock that a crash has torn may lack the flag. */
	if (!error)
		error = target_replay(&carrying->options, target, carrying->problem);
	return error ? error : compare(carrying, carrying->options.image);
}

static errcode_t choose_place(struct carrying *carrying)
{
	const struct update_target *target = carrying->target;
	struct update_lack lack;
	bool has_copy;

	if (update_has_work(carrying->plan, target) && target->is_device &&
	    (carrying->options.makes_new_file || target->tree.is_there))
		return problem_set_reason(carrying->problem, EINVAL, carrying->options.image, "cannot update",
		                          "a device cannot be replaced by a copy of it (--new-file, --dm-verity)");
	errcode_t error = find_place(carrying, &has_copy, &lack);

	if (error)
		return error;
	if (!update_has_work(carrying->plan, target) && !is_lacking(lack))
		return keep_image(carrying);
	if (!has_copy)
		return change_in_place(carrying);
	if (target->is_device)
		return problem_set_reason(carrying->problem, EXT2MB_ET_NO_JOURNAL, carrying->options.image,
		                          "cannot update",
		                          "without a journal a crash would leave a part of the changes: give it one "
		                          "(tune2fs -j)");
	return change_copy(carrying, lack);
}

bool update_has_work(const struct update_plan *plan, const struct update_target *target)
{
	return plan->count || (target->volume.has_orphans && target->has_journal);
}

errcode_t carry_out(const struct update_options *options, struct update_plan *plan, struct update_target *target,
                    struct delta_old *old, struct pool *pool, struct update_report *report, struct problem *problem)
{
	struct carrying carrying = {
		.options = *options,
		.plan = plan,
		.target = target,
		.old = old,
		.pool = pool,
		.report = report,
		.problem = problem,
	};
	errcode_t error = update_need_count(options, plan, &target->volume, &carrying.need);

	if (error)
		return problem_set(problem, error, options->image, "cannot update");
	return options->is_dry_run ? foresee(&carrying) : choose_place(&carrying);
}
