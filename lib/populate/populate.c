/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "populate/populate.h"

#include <errno.h>
#include <inttypes.h>
#include <sys/stat.h>

#include "contents/zero_detection.h"
#include "disk/place.h"
#include "ondisk/orphan_block.h"
#include "populate/data/block_sharing.h"
#include "populate/data/copy.h"
#include "populate/format/filesystem.h"
#include "populate/format/likeness.h"
#include "populate/metadata/directories.h"
#include "populate/metadata/inodes.h"
#include "populate/metadata/lost_found.h"
#include "populate/metadata/quota.h"
#include "populate/metadata/xattrs.h"
#include "populate/name_files.h"
#include "populate/output/android_sparse.h"
#include "populate/output/dm_verity.h"
#include "populate/plan/base_image.h"
#include "populate/plan/block_placement.h"
#include "populate/plan/encrypted.h"
#include "populate/plan/inode_numbers.h"
#include "populate/plan/space_estimate.h"
#include "populate/protect_tree.h"
#include "populate/scan_sources.h"
#include "populate/size/size.h"
#include "populate/verify/verify.h"
#include "support/io/same_file.h"
#include "support/run/interrupt.h"
#include "support/seconds.h"

const char *const populate_stage_names[POPULATE_STAGES] = {
	[POPULATE_SCAN] = "scan", [POPULATE_FORMAT] = "format", [POPULATE_PLAN] = "plan",
	[POPULATE_COPY] = "copy", [POPULATE_SEAL] = "seal",     [POPULATE_VERIFY] = "verify",
};

/*
 * Seconds with two threads, with source and image in memory (doc/results/populate.md). Scanning and copying show how
 * fast this machine is; then only the proportions count.
 */
static const struct stage_cost stage_costs[POPULATE_STAGES] = {
	[POPULATE_SCAN] = { "scan", 0, 0.95e-6, 0 }, [POPULATE_FORMAT] = { "format", 12e-3, 0.06e-6, 0 },
	[POPULATE_PLAN] = { "plan", 0, 0.05e-6, 0 }, [POPULATE_COPY] = { "copy", 0, 1.5e-6, 0.285e-9 },
	[POPULATE_SEAL] = { "seal", 0, 0.22e-6, 0 }, [POPULATE_VERIFY] = { "verify", 20e-3, 3e-6, 0.5e-9 },
};

/* The differences between attempts at the image. Only next_attempt() changes them, between attempts. */
struct attempt {
	struct size_choice size;
	bool reuses_layout;        /* uses the earlier image's layout */
	unsigned int enlargements; /* how often the chosen size was too small */
	bool knows_zeros;          /* zeros that an earlier attempt found are holes now */
	struct copy_findings found;
};

/* One run of populate(). */
struct populating {
	struct workplace work;
	struct scanned scanned;
	struct plan plan;
	struct filesystem filesystem;
	struct image_file file;
	struct output output;
	struct dm_verity verity;
	struct delta_old old; /* the image to compare with */
	struct attempt attempt;
	struct run_files *files; /* NULL: nobody asks */
	struct populate_report *report;
	enum populate_stage stage;
	double stage_begin;   /* in seconds_of(CLOCK_MONOTONIC) */
	double shared_before; /* pool_seconds() at that time */
};

/* Returns how long the two pools, which take turns, have run jobs. */
static double shared_seconds(const struct populating *run)
{
	return pool_seconds(run->work.pool) + pool_seconds(run->work.readers);
}

/* Notes how long the stage has taken, and how long each worker has worked in it. */
static void end_stage(const struct populating *run)
{
	struct populate_report *report = run->report;
	const struct pool *pool = run->work.pool, *readers = run->work.readers;
	double seconds = seconds_of(CLOCK_MONOTONIC) - run->stage_begin;

	report->seconds[run->stage] += seconds;
	report->serial_seconds[run->stage] += seconds - (shared_seconds(run) - run->shared_before);
	for (unsigned int worker = 0; worker < report->worker_count; worker++) {
		double *of_stages = report->worker_seconds[worker], unnoted = pool_worker_seconds(pool, worker);

		if (worker < pool_workers(readers))
			unnoted += pool_worker_seconds(readers, worker);
		for (unsigned int stage = 0; stage < POPULATE_STAGES; stage++)
			unnoted -= of_stages[stage];
		of_stages[run->stage] += unnoted;
	}
}

static void begin_stage(struct populating *run, enum populate_stage stage)
{
	uint64_t bytes = stage == POPULATE_VERIFY ? run->plan.data_bytes : 0;
	uint64_t files = stage == POPULATE_SEAL ? run->scanned.inode_count : 0;

	if (stage != POPULATE_SCAN)
		end_stage(run);
	run->stage = stage;
	run->stage_begin = seconds_of(CLOCK_MONOTONIC);
	run->shared_before = shared_seconds(run);
	/* The copy stage knows its totals and shows them itself. */
	if (stage != POPULATE_COPY)
		progress_stage(run->work.options->progress, populate_stage_names[stage], bytes, files);
}

static errcode_t examine_output(struct populating *run)
{
	const struct populate_options *options = run->work.options;

	run->output = (struct output){
		.path = options->image,
		.offset_bytes = options->offset_bytes,
		/* An image that gets another form in the end is first made as a new file. */
		.in_place = options->in_place && !options->android_sparse,
		.advice = options->size_only      ? NULL :
		          options->android_sparse ? "remove it, or take another name" :
		                                    "use --in-place to write into it",
	};
	errcode_t error = output_examine(&run->output, run->work.problem);

	run->file.in_place = run->output.in_place;
	if (!error && options->android_sparse && run->output.is_device)
		return problem_set_reason(run->work.problem, EINVAL, options->image, "cannot create",
		                          "an Android sparse image must be a file");
	return error ? error : dm_verity_examine(&run->verity, &run->work, &run->output);
}

/* Refuses filesystems that mke2fs makes but that cannot be used. */
static errcode_t check_filesystem(const struct populating *run)
{
	const struct filesystem_room *room = &run->attempt.size.room;
	const char *image = run->work.options->image;

	/* e2fsprogs 1.47.0 look for the feature's block as if the filesystem began at the file's beginning. */
	if (run->work.options->offset_bytes && room->has_mmp)
		return problem_set_reason(run->work.problem, EINVAL, image, "cannot create",
		                          "the feature mmp does not work at an offset; -O ^mmp leaves it out");
	if (room->format.project && run->scanned.lacks_projects)
		return problem_set_reason(
			run->work.problem, EINVAL, image, "cannot create",
			"mke2fs.conf gives the feature project to filesystems of this size and not to "
			"small ones: say -O project or -O ^project");
	if (room->orphan_blocks > ORPHAN_FILE_MAX_BLOCKS)
		return problem_set_reason(run->work.problem, EINVAL, image, "cannot create",
		                          "the kernel mounts no filesystem whose orphan file has %" PRIu64
		                          " blocks, more than %d; -O ^orphan_file makes none",
		                          room->orphan_blocks, ORPHAN_FILE_MAX_BLOCKS);
	return encrypted_check(&run->plan, &run->work);
}

/* Reports the figures that are known once the size is. */
static void report_size(const struct populating *run)
{
	const struct filesystem_room *room = &run->attempt.size.room;
	struct populate_report *report = run->report;

	report->image_bytes = room->blocks << room->format.block_bits;
	report->blocks = room->blocks;
	report->block_bytes = room->format.block_bytes;
	report->reserved_blocks = room->reserved_blocks;
	report->journal_blocks = room->journal_blocks;
	report->image_inodes = room->inodes;
	report->names = run->scanned.tree->node_count - 1;
	report->inodes = run->scanned.inode_count;
	report->data_bytes = run->plan.data_bytes;
	report->free_blocks = run->attempt.size.free_blocks;
	report->free_inodes = room->free_inodes - (plan_items(&run->plan) - 1);
}

/* Chooses a size without zeros: all of them, or long ones. size_error: the result of choosing it with them. */
static errcode_t choose_without_zeros(struct populating *run, bool finds_all, errcode_t size_error)
{
	uint64_t known_zero_bytes = run->scanned.zeros.known_zero_bytes;
	struct problem too_large = { 0 };

	problem_move(&too_large, run->work.problem);
	errcode_t error = finds_all ? zero_detection_search(&run->scanned.zeros, run->plan.data_bytes) :
	                              zero_detection_search_long(&run->scanned.zeros, NULL);
	if (!error && run->scanned.zeros.known_zero_bytes == known_zero_bytes) {
		problem_move(run->work.problem, &too_large);
		return size_error;
	}
	problem_clear(&too_large);
	if (error)
		return error;
	space_estimate_release(&run->plan);
	return size_choose(&run->plan, &run->work, &run->output, &run->attempt.size);
}

/*
 * Zeros that are not holes of the source need no room either. Long ones cost next to nothing to find. All zeros are
 * searched for, which takes reading everything, if the size is too small with the others, and on a device, which would
 * have to be written twice. If the holes that pay do not suffice for the size, all zeros become holes.
 */
static errcode_t choose_first_size(struct populating *run)
{
	bool finds_all = run->output.is_device || (run->scanned.base && !run->work.options->own_defaults);

	run->scanned.zeros.least_hole_bytes = run->work.options->own_defaults ? ZERO_DETECTION_LEAST_HOLE_BYTES : 0;
	errcode_t error = size_choose(&run->plan, &run->work, &run->output, &run->attempt.size);
	if ((error && error != EXT2MB_ET_NO_SPACE) || run->work.options->zeros_of_source)
		return error;
	error = choose_without_zeros(run, error || finds_all, error);
	if (error != EXT2MB_ET_NO_SPACE || !run->scanned.zeros.least_hole_bytes)
		return error;
	run->scanned.zeros.least_hole_bytes = 0;
	return choose_without_zeros(run, true, error);
}

/* Releases the state of an attempt. */
static void release_attempt(struct populating *run)
{
	filesystem_close(&run->filesystem);
	if (run->scanned.tree) {
		block_placement_release(&run->plan);
		base_image_release(&run->plan);
		space_estimate_release(&run->plan);
	}
	free(TAKE(run->plan.items_by_inode));
}

/* Chooses a size; the first call also opens the output. */
static errcode_t prepare_attempt(struct populating *run)
{
	bool is_first = run->output.descriptor < 0;

	begin_stage(run, POPULATE_FORMAT);
	release_attempt(run);
	errcode_t error = is_first ? choose_first_size(run) :
	                             size_choose(&run->plan, &run->work, &run->output, &run->attempt.size);

	if (!error)
		error = check_filesystem(run);
	if (!error)
		error = dm_verity_lay_out(&run->verity, &run->scanned.identity, &run->attempt.size.room, &run->work,
		                          run->report);
	if (error)
		return error;
	report_size(run);
	if (!is_first || run->work.options->size_only)
		return 0;
	error = output_open(&run->output, run->work.problem);
	run->file.image =
		(struct image){ run->output.descriptor, run->output.direct_descriptor, run->output.offset_bytes };
	run->file.path = run->output.work_path;
	run->file.filesystem_path = run->output.offset_path ? run->output.offset_path : run->output.work_path;
	return error ? error : block_sharing_check(&run->plan, &run->file, &run->work);
}

static errcode_t format(struct populating *run)
{
	errcode_t error = size_format(&run->plan, &run->work, &run->output, &run->attempt.size);

	if (!error)
		error = filesystem_open(&run->file, &run->work, &run->filesystem);
	image_sink_init(&run->file.sink, &run->file.image, run->plan.format.block_bytes);
	if (!error)
		error = filesystem_empty(&run->filesystem, &run->scanned, &run->work);
	if (!error)
		error = output_extend(&run->output, run->filesystem.geometry.blocks * run->plan.format.block_bytes,
		                      run->work.problem);
	if (!error && output_is_fresh(&run->output))
		output_release_unwritten(&run->output);
	if (!error)
		error = dm_verity_begin(&run->verity, &run->file, &run->work);
	return error ? error : output_hide_superblock(&run->output, run->work.problem);
}

static errcode_t plan(struct populating *run)
{

	begin_stage(run, POPULATE_PLAN);
	errcode_t error = inode_numbers_assign(&run->plan, &run->filesystem, &run->work);
	if (!error && run->attempt.reuses_layout)
		error = base_image_reserve(&run->plan, &run->filesystem, &run->work);
	if (!error)
		error = xattrs_place(&run->plan, &run->filesystem, &run->work);
	return error ? error : block_placement_decide(&run->plan, &run->filesystem, &run->work);
}

/* With 1.8 % of zeros, an image is less than 2 % larger than it could be. */
#define ZEROS_PART 55

static bool are_many_zeros(const struct populating *run, uint64_t zero_blocks)
{
	return zero_blocks > (run->plan.data_bytes >> run->plan.format.block_bits) / ZEROS_PART;
}

/*
 * Returns the most blocks of zeros that copying can find. Unpacking has searched its data; for other data the number is
 * unknown. A whole cluster of zeros has all its pieces. Any other has at least one, which has been counted as an end.
 */
static uint64_t most_zero_blocks(const struct populating *run)
{
	const struct tree *tree = run->scanned.tree;
	uint64_t pieces = 0, ends = 0;

	for (uint32_t node = 0; node < tree->node_count; node++)
		if (S_ISREG(tree->nodes[node].mode) && run->plan.placements[node].blocks &&
		    !tree->origins[tree->nodes[node].origin].knows_zeros)
			return UINT64_MAX;
	for (uint32_t i = 0; i < tree->origin_count; i++) {
		pieces += tree->origins[i].zero_pieces;
		ends += tree->origins[i].zero_ends;
	}
	return ((pieces * 1024) >> run->plan.format.block_bits) + (ends << run->plan.format.cluster_bits);
}

/* Inline data are read once more, but not copied. */
static bool reads_contents_last(const struct populating *run)
{

	if (run->work.options->verify)
		return false;
	return run->attempt.knows_zeros || run->output.is_device || run->work.options->zeros_of_source ||
	       !are_many_zeros(run, most_zero_blocks(run));
}

#define METADATA_BYTES_PER_INODE 512 /* with its names, roughly */

/*
 * The layers of other images must not keep this one from its disk. Before anything is copied: what was unpacked goes
 * with it. Where blocks are shared, nobody knows how much room the image takes.
 */
static void make_room(const struct populating *run)
{
	const struct populate_options *options = run->work.options;

	if (options->layer_cache.path && output_is_fresh(&run->output) && !block_sharing_is_possible(&run->file))
		layer_cache_make_room(&options->layer_cache, run->file.image.descriptor,
		                      run->plan.data_bytes + run->scanned.inode_count * METADATA_BYTES_PER_INODE);
}

static errcode_t copy(struct populating *run)
{

	make_room(run);
	begin_stage(run, POPULATE_COPY);
	errcode_t error = copy_files(&run->plan, &run->file, &run->work, reads_contents_last(run), &run->attempt.found);
	if (error)
		return error;
	/* The report needs free counts that include the blocks just given back. */
	error = ext2mb_commit(run->filesystem.mb);
	return workplace_result(&run->work, error, "cannot free blocks");
}

/* The first enlargement is a thousandth, and each further one doubles it: the last size is twice the first. */
#define MOST_ENLARGEMENTS 11
#define FIRST_ENLARGEMENT_PART 1024

/* Returns false if the size is not ours to choose, or if it has been enlarged often enough. */
static bool enlarge(struct populating *run)
{
	struct attempt *attempt = &run->attempt;
	uint64_t *extra_blocks = &attempt->size.extra_blocks;

	if (run->work.options->size || !output_is_fresh(&run->output) || attempt->enlargements++ == MOST_ENLARGEMENTS)
		return false;
	*extra_blocks += *extra_blocks ? *extra_blocks : attempt->size.room.blocks / FIRST_ENLARGEMENT_PART + 8;
	return true;
}

/*
 * Decides what the next attempt changes. Returns false if none is needed, or if the image cannot be made (*error).
 *
 * Files in more pieces than were counted have longer maps, for which an image of just the right size has no blocks. If
 * the pieces come from an earlier image's layout, the next attempt keeps nothing. Otherwise they come from a filesystem
 * that mke2fs left cut up (by bad blocks, for instance): then a size that is ours to choose becomes larger.
 *
 * Zeros that are found only when they are copied keep their blocks. If so many of them would be holes that pay, another
 * attempt, which knows them, pays, too.
 */
static bool next_attempt(struct populating *run, errcode_t *error)
{
	struct attempt *attempt = &run->attempt;

	if (*error == EXT2MB_ET_NO_SPACE) {
		if (run->plan.reused)
			attempt->reuses_layout = false;
		else if (!enlarge(run))
			return false;
		problem_clear(run->work.problem);
		*error = 0;
		return true;
	}
	if (*error || attempt->knows_zeros || run->output.is_device ||
	    !are_many_zeros(run, attempt->found.zeros.blocks))
		return false;
	uint64_t hole_blocks;

	*error = zero_detection_count(&run->scanned.zeros, &attempt->found.zeros, &hole_blocks);
	if (!*error && !are_many_zeros(run, hole_blocks))
		return false;
	if (!*error)
		*error = zero_detection_apply(&run->scanned.zeros, &attempt->found.zeros);
	if (*error)
		*error = problem_set(run->work.problem, *error, NULL, "cannot plan the image");
	attempt->knows_zeros = attempt->reuses_layout = true;
	attempt->enlargements = 0;
	attempt->size.extra_blocks = 0;
	return !*error;
}

/* Lists what is protected, and warns where blocks are not shared or not kept. ENOMEM. */
static errcode_t report_layout(const struct populating *run)
{
	struct populate_report *report = run->report;
	errcode_t error = protect_report(&run->plan, report);

	likeness_report_files(run->scanned.tree, &run->plan.format, &report->likeness);

	if (!error)
		error = block_sharing_warn(&run->plan, &run->file, run->attempt.found.refusal, &report->warnings);
	return error ? error : base_image_warn(&run->plan, &run->filesystem, &report->warnings);
}

static errcode_t seal(struct populating *run)
{
	struct quota_usage usage = { 0 };
	struct sink *sink = &run->file.sink.sink;
	struct populate_report *report = run->report;

	report->shared_bytes = run->attempt.found.shared_bytes;
	report->zero_blocks = run->scanned.zeros.known_zero_bytes >> run->plan.format.block_bits;
	begin_stage(run, POPULATE_SEAL);
	errcode_t error = xattrs_write(&run->plan, sink, &run->work);
	if (!error)
		error = directories_write(&run->plan, sink, &run->work);
	if (!error)
		error = inodes_write(&run->plan, &run->filesystem, sink, &run->work, &usage, report);
	if (!error)
		error = lost_found_write(&run->plan, &run->filesystem, sink, &run->work);
	if (!error)
		error = quota_write(&run->plan, &run->filesystem, sink, &run->work, &usage);
	if (!error)
		error = workplace_result(&run->work, report_layout(run), "cannot report");
	quota_usage_free(&usage);
	report->free_blocks = ext2mb_free_blocks(run->filesystem.mb);
	report->free_inodes = ext2mb_free_inodes(run->filesystem.mb);
	if (!error)
		error = size_warn_few_inodes(run->work.options, report);
	if (!error)
		error = filesystem_finish(&run->filesystem, &run->scanned, run->file.in_place, &run->work);
	filesystem_close(&run->filesystem);
	if (!error)
		error = filesystem_reset_mmp(&run->filesystem, &run->file, &run->work);
	return error ? error : dm_verity_write(&run->verity, &run->work, report);
}

/* The older image is opened early: it may be missing, and it may be the file that the image replaces. */
static errcode_t open_old(struct populating *run)
{
	const struct populate_options *options = run->work.options;

	if (!options->against)
		return 0;
	if (run->output.in_place && is_same_storage(options->against, options->image))
		return problem_set_reason(run->work.problem, EINVAL, options->against, "cannot compare with it",
		                          "it is what is to be written to; give a copy of it");
	return place_open_old(options->against,
	                      &(struct place_options){ .offset_bytes = options->offset_bytes,
	                                               .most_unpacked_bytes = options->limits.unpacked_bytes },
	                      &run->old, run->work.problem);
}

static errcode_t compare_with_old(struct populating *run)
{
	const struct populate_options *options = run->work.options;
	const struct delta_options delta = { options->against_chunk_bytes,
		                             !run->output.is_device && !options->offset_bytes };
	struct problem problem = { 0 };
	struct volume volume;

	if (!options->against)
		return 0;
	errcode_t error = volume_open(run->file.path, options->offset_bytes, &volume, &problem);

	problem_clear(&problem);
	if (!error) {
		error = delta_read(&volume, &run->old, &delta, run->work.pool, &run->report->delta, run->work.problem);
		volume_close(&volume);
	}
	/* No descriptor of ours may keep open the file that is replaced. */
	delta_old_close(&run->old);
	return workplace_result(&run->work, error, "cannot compare it with the older image");
}

/* Completes an image that is whole: verifies it, converts it into another form, and gives it its name. */
static errcode_t finish(struct populating *run)
{
	errcode_t error = 0;

	if (run->work.options->verify) {
		begin_stage(run, POPULATE_VERIFY);
		error = verify_image(&run->plan, &run->file, &run->work);
		run->report->verified = !error;
	}
	if (!error)
		error = compare_with_old(run);
	if (!error && run->work.options->android_sparse)
		error = android_sparse_convert(&run->file, run->plan.format.block_bytes, &run->work, &run->output);
	/* No descriptor of ours may keep open the file that is replaced. */
	base_image_close(TAKE(run->scanned.base));
	if (!error && interrupt_pending())
		error = EINTR;
	return error ? error : dm_verity_finish(&run->verity, &run->output, &run->work);
}

static void expect_work(const struct populating *run)
{
	uint64_t bytes = 0;

	for (uint32_t source = 0; source < run->report->source_count; source++)
		bytes += run->report->sources[source].data_bytes;
	progress_expect(run->work.options->progress, run->scanned.tree->node_count, bytes);
}

/* Tells fs-verity and the search for zeros what they work on. The format is the plan's, which changes with the size. */
static void prepare_contents(struct populating *run)
{
	const struct populate_options *options = run->work.options;

	run->plan.protection = (struct protection){
		.tree = run->scanned.tree,
		.format = &run->plan.format,
		.image = options->image,
		.may_choose_blocks = !options->block_size_given && !options->usage_given && !run->scanned.base,
	};
	run->scanned.zeros = (struct zero_detection){
		.tree = run->scanned.tree,
		.format = &run->plan.format,
		.keeps_swap_files = run->scanned.like.is_wanted,
		.image = options->image,
		.pool = run->work.pool,
		.readers = run->work.readers,
		.progress = options->progress,
		.problem = run->work.problem,
	};
}

static errcode_t make_image(struct populating *run)
{
	errcode_t error;

	progress_plan(run->work.options->progress, stage_costs,
	              run->work.options->verify ? POPULATE_STAGES : POPULATE_VERIFY);
	begin_stage(run, POPULATE_SCAN);
	error = examine_output(run);
	if (!error)
		error = open_old(run);
	if (!error)
		error = scan_sources(&run->scanned, run->file.in_place, &run->work, run->files, run->report);
	if (error)
		return error;
	prepare_contents(run);
	expect_work(run);
	do {
		error = prepare_attempt(run);
		if (error || run->work.options->size_only)
			return error;
		error = format(run);
		if (!error)
			error = plan(run);
		if (!error)
			error = copy(run);
	} while (next_attempt(run, &error));
	if (!error)
		error = seal(run);
	return error ? error : finish(run);
}

static void release(struct populating *run)
{

	release_attempt(run);
	dm_verity_release(&run->verity);
	delta_old_close(&run->old);
	base_image_close(run->scanned.base);
	free(run->attempt.found.zeros.runs);
	tree_destroy(run->scanned.tree);
	pool_destroy(run->work.readers);
	pool_destroy(run->work.pool);
}

/* Without threads there are no readers either. */
static errcode_t create_pools(struct workplace *work)
{
	const struct populate_options *options = work->options;
	errcode_t error = pool_create(options->threads, &work->pool);

	if (error)
		return error;
	if (options->readers || !options->threads)
		error = pool_create(options->readers, &work->readers);
	else
		error = pool_create_elastic(options->threads, POPULATE_MOST_READERS, &work->readers);
	if (error)
		pool_destroy(TAKE(work->pool));
	return error;
}

errcode_t populate(const struct populate_options *options, struct run_files *files, struct populate_report *report,
                   struct problem *problem)
{
	struct populating run = {
		.work = { .options = options, .problem = problem },
		.plan = { .options = options, .source = &run.scanned },
		.file.image.descriptor = -1,
		.output.descriptor = -1,
		.verity.output.descriptor = -1,
		.old.descriptor = -1,
		.attempt.reuses_layout = true,
		.files = files,
		.report = report,
	};

	*report = (struct populate_report){ 0 };
	errcode_t error = create_pools(&run.work);
	if (error)
		return problem_set(problem, error, NULL, "cannot start threads");
	report->worker_count = pool_workers(run.work.pool);
	report->worker_seconds = calloc(report->worker_count, sizeof(*report->worker_seconds));
	error = report->worker_seconds ? 0 : ENOMEM;
	if (!error && files)
		error = name_files(options, run.work.pool, files, problem);
	if (!error)
		error = make_image(&run);
	if (report->worker_seconds)
		end_stage(&run);
	release(&run);
	if (error) {
		problem_set(problem, error, options->image, "cannot create");
		interrupt_explain(options->image, problem);
		output_fail(&run.output, problem);
	}
	output_close(&run.output);
	return error;
}

errcode_t populate_look(const struct populate_options *options, struct run_files *files, struct problem *problem)
{
	struct pool *pool;
	errcode_t error = pool_create(options->threads, &pool);

	if (error)
		return problem_set(problem, error, NULL, "cannot start threads");
	error = name_files(options, pool, files, problem);
	if (!error)
		error = scan_sources_look(options, files, pool, problem);
	pool_destroy(pool);
	return error;
}

void populate_report_clear(struct populate_report *report)
{
	for (uint32_t i = 0; i < report->source_count; i++)
		free(report->sources[i].path);
	free(report->sources);
	for (uint64_t i = 0; i < report->protected_count; i++)
		free(report->protected_files[i].path);
	free(TAKE(report->protected_files));
	report->protected_count = 0;
	free(report->worker_seconds);
	report->sources = NULL;
	report->worker_seconds = NULL;
	report->source_count = 0;
	delta_free(&report->delta);
	warnings_clear(&report->warnings);
	image_configuration_clear(&report->configuration);
}
