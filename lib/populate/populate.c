// SPDX-License-Identifier: GPL-2.0-or-later
#include "populate/populate.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "populate/attributes.h"
#include "ondisk/orphan_block.h"
#include "populate/output/android_sparse.h"
#include "populate/data/copy.h"
#include "populate/metadata/directories.h"
#include "populate/plan/earlier.h"
#include "populate/format/extended.h"
#include "populate/format/filesystem.h"
#include "populate/metadata/flags.h"
#include "populate/format/identity.h"
#include "populate/metadata/inodes.h"
#include "populate/plan/keep.h"
#include "populate/data/known_holes.h"
#include "populate/plan/number.h"
#include "populate/output/output.h"
#include "populate/plan/place.h"
#include "populate/metadata/quota.h"
#include "populate/metadata/quota_values.h"
#include "populate/format/size.h"
#include "populate/source_report.h"
#include "populate/verify/verify.h"
#include "populate/metadata/xattrs.h"
#include "support/work/interrupt.h"

const char *const populate_stage_names[POPULATE_STAGES] = {
	[POPULATE_SCAN] = "scan", [POPULATE_FORMAT] = "format", [POPULATE_PLAN] = "plan",
	[POPULATE_COPY] = "copy", [POPULATE_SEAL] = "seal", [POPULATE_VERIFY] = "verify",
};

/* Notes how long the stage that ends has taken. */
static void end_stage(const struct build *build, struct populate_report *report)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	report->seconds[build->stage] += (double)(now.tv_sec - build->stage_begin.tv_sec) +
	                                (double)(now.tv_nsec - build->stage_begin.tv_nsec) / 1e9;
}

static void begin_stage(struct build *build, enum populate_stage stage, struct populate_report *report)
{
	if (stage != POPULATE_SCAN)
		end_stage(build, report);
	build->stage = stage;
	clock_gettime(CLOCK_MONOTONIC, &build->stage_begin);
	/* Copying knows its totals and says them itself. */
	if (stage == POPULATE_VERIFY)
		progress_stage(build->options->progress, populate_stage_names[stage], build->data_bytes, 0);
	else if (stage != POPULATE_COPY)
		progress_stage(build->options->progress, populate_stage_names[stage], 0, 0);
}

/*
 * Where an archive is unpacked for as long as it is needed: beside the image, where there is room for one, unless
 * TMPDIR says otherwise. The caller frees it; NULL: no memory.
 */
static char *spool_directory(const char *image, const struct stat *status)
{
	const char *chosen = getenv("TMPDIR"), *slash = strrchr(image, '/');

	if (chosen && *chosen)
		return strdup(chosen);
	if (status && S_ISBLK(status->st_mode))
		return strdup("/var/tmp");
	if (!slash)
		return strdup(".");
	return slash == image ? strdup("/") : strndup(image, (size_t)(slash - image));
}

/* e2fsck -p gives up on a lost+found that is not a directory: a host could not boot from that. */
static errcode_t look_for_lost_found(struct build *build)
{
	const struct tree *tree = build->tree;
	const struct tree_node *root = &tree->nodes[TREE_ROOT];

	for (uint32_t child = root->first_child; child < root->first_child + root->child_count; child++) {
		if (strcmp(tree->nodes[child].name, "lost+found") != 0)
			continue;
		if (!S_ISDIR(tree->nodes[child].mode)) {
			SCOPE_FREE char *path = tree_path(tree, child);

			return problem_set_reason(build->problem, ENOTDIR, path, "cannot be stored",
			                          "e2fsck accepts only a directory of that name: rename it, or give --exclude=/lost+found");
		}
		build->tree_has_lost_found = true;
	}
	return 0;
}

static errcode_t scan(struct build *build, struct populate_report *report)
{
	const struct populate_options *options = build->options;
	struct scan_options scan_options = {
		.skipped = &report->skipped_image,
		.exclude = options->exclude,
		.one_file_system = options->one_file_system,
		.without_xattrs = options->without_xattrs || extended_has(options->extended, "no_copy_xattrs"),
		.without_flags = options->without_flags,
		.warnings = &report->warnings,
		.progress = options->progress,
	};
	struct stat status;
	bool exists = stat(options->image, &status) == 0;
	SCOPE_FREE char *spool = spool_directory(options->image, exists ? &status : NULL);

	if (!spool)
		return ENOMEM;
	scan_options.spool_directory = spool;
	/* An image that lies in its own source is left out of itself. */
	if (exists && S_ISREG(status.st_mode)) {
		scan_options.skip_device = status.st_dev;
		scan_options.skip_inode = status.st_ino;
	}
	errcode_t error = sources_scan(options->sources, options->source_count, &options->layering, &scan_options,
	                               build->pool, &build->tree, build->problem);
	if (!error)
		error = source_report(build->tree, report);
	if (!error)
		error = attributes_apply(build);
	if (!error)
		error = look_for_lost_found(build);
	if (error)
		return error;
	for (uint32_t node = 0; node < build->tree->node_count; node++)
		build->inode_count += !tree_node_is_link(build->tree, node);
	return 0;
}

static errcode_t open_earlier(struct build *build)
{
	const struct populate_options *options = build->options;

	if (!options->stable_from)
		return 0;
	errcode_t error = earlier_open(options->stable_from, build->in_place ? options->image : NULL,
	                               options->offset_bytes, &build->earlier, build->problem);

	return error ? error : earlier_match(build->earlier, build->tree, build->problem);
}

/* mke2fs's options with the UUID and hash seed that we add to them. */
struct identified {
	const struct populate_options *given;
	struct populate_options options;
	struct identity identity;
	char *extended;
};

static errcode_t identify(struct build *build, struct identified *own)
{
	const struct populate_options *given = build->options;

	own->given = given;
	own->options = *given;
	if (given->has_epoch)
		identity_derive(build->tree, given, &own->identity);
	else
		identity_draw(&own->identity);
	/* As the earlier image's, so that checksums and the order of names stay as well. */
	if (build->earlier) {
		strcpy(own->identity.uuid, build->earlier->uuid);
		strcpy(own->identity.hash_seed, build->earlier->hash_seed);
	}
	if (!given->uuid)
		own->options.uuid = own->identity.uuid;
	SCOPE_FREE char *extended = NULL;
	bool has_seed = extended_has(given->extended, "hash_seed");
	errcode_t error = attributes_strip(given->extended, &extended);

	if (!error && asprintf(&own->extended, "%s%s%s%s", extended ? extended : "",
	                       extended && *extended && !has_seed ? "," : "", has_seed ? "" : "hash_seed=",
	                       has_seed ? "" : own->identity.hash_seed) < 0)
		error = ENOMEM;
	if (error)
		return problem_set(build->problem, error, given->image, "cannot format");
	own->options.extended = own->extended;
	build->options = &own->options;
	return 0;
}

static errcode_t plan(struct build *build, struct needs *needs)
{
	errcode_t error = number_inodes(build);

	if (!error)
		error = keep_places(build, needs);
	if (!error)
		error = xattrs_write(build);
	return error ? error : place_blocks(build, needs);
}

static errcode_t seal(struct build *build, struct populate_report *report)
{
	errcode_t error = directories_write(build);

	if (!error)
		error = inodes_write(build, report);
	return error ? error : filesystem_finish(build);
}

static void fill_report(const struct build *build, struct populate_report *report)
{
	report->zero_blocks = build->known_zero_bytes >> build->format.block_bits;
	report->free_blocks = ext2mb_free_blocks(build->mb);
	report->free_inodes = ext2mb_free_inodes(build->mb);
}

/* From the size to files with their contents in their places. EXT2MB_ET_NO_SPACE: the size does not do. */
static errcode_t format_and_fill(struct build *build, struct output *output, const struct size_choice *choice,
                                 struct needs *needs, struct populate_report *report)
{
	errcode_t error = size_format(build, output, choice, needs);

	if (!error)
		error = filesystem_open(build);
	if (error)
		return error;
	error = output_extend(output, build->geometry.blocks * build->format.block_bytes, build->problem);
	if (error)
		return error;
	error = output_hide_superblock(output, build->problem);
	if (error)
		return error;
	begin_stage(build, POPULATE_PLAN, report);
	error = plan(build, needs);
	if (error)
		return error;
	begin_stage(build, POPULATE_COPY, report);
	error = copy_files(build);
	if (error)
		return error;
	/* The report needs the allocator, which is gone when all is sealed. */
	error = ext2mb_commit(build->mb);
	if (error)
		return problem_set(build->problem, error, build->options->image, "cannot free blocks");
	return 0;
}

/* Forgets the places of everything, and the filesystem. */
static void forget(struct build *build)
{
	filesystem_abandon(build);
	if (build->tree) {
		place_release(build);
		keep_release(build);
		needs_release(build);
	}
	free(TAKE(build->items_by_inode));
}

/* What is known once the size is. */
static void report_size(const struct build *build, const struct size_choice *choice, struct populate_report *report)
{
	const struct filesystem_room *room = &choice->room;

	report->image_bytes = room->blocks << room->format.block_bits;
	report->blocks = room->blocks;
	report->block_bytes = room->format.block_bytes;
	report->reserved_blocks = room->reserved_blocks;
	report->journal_blocks = room->journal_blocks;
	report->image_inodes = room->inodes;
	report->names = build->tree->node_count - 1;
	report->inodes = build->inode_count;
	report->data_bytes = build->data_bytes;
	report->free_blocks = choice->free_blocks;
	report->free_inodes = room->free_inodes - (build_items(build) - 1);
}

/* Back to an empty filesystem's size, with what has been learnt of the tree. */
static errcode_t choose_again(struct build *build, const struct output *output, struct size_choice *choice,
                              struct needs *needs, struct populate_report *report)
{
	begin_stage(build, POPULATE_FORMAT, report);
	forget(build);
	needs_free(needs);
	errcode_t error = size_choose(build, output, choice, needs);

	if (!error)
		report_size(build, choice, report);
	return error;
}

/* The size is ours to choose, and another one can be tried: the file is new. */
static bool has_automatic_size(const struct build *build, const struct output *output)
{
	return !build->options->size && output_is_fresh(output);
}

/* A thousandth at first, then twice as much each time: the last is twice the image that did not do. */
#define MOST_ENLARGEMENTS 11
#define FIRST_ENLARGEMENT_PART 1024

/* False: that was tried often enough. */
static bool enlarge(struct build *build, const struct size_choice *choice)
{
	if (build->enlargements++ == MOST_ENLARGEMENTS)
		return false;
	build->extra_blocks += build->extra_blocks ? build->extra_blocks :
	                                             choice->room.blocks / FIRST_ENLARGEMENT_PART + 8;
	return true;
}

/*
 * Files in more pieces than were counted have longer maps, for which an image of just the right size has no blocks.
 * Pieces come from what is kept of an earlier image: then nothing is kept. Else they come from a filesystem that mke2fs
 * left cut up (by bad blocks, for instance): then a size that is ours to choose becomes larger.
 */
static errcode_t fill_until_it_fits(struct build *build, struct output *output, struct size_choice *choice,
                                    struct needs *needs, struct populate_report *report)
{
	errcode_t error = format_and_fill(build, output, choice, needs, report);

	while (error == EXT2MB_ET_NO_SPACE) {
		if (build->kept)
			build->keeps_nothing = true;
		else if (!has_automatic_size(build, output) || !enlarge(build, choice))
			return error;
		problem_clear(build->problem);
		error = choose_again(build, output, choice, needs, report);
		if (!error)
			error = format_and_fill(build, output, choice, needs, report);
	}
	return error;
}

/* With 1.8 % of zeros, an image is not yet 2 % larger than it could be. */
#define ZEROS_PART 55

/*
 * Zeros that are found only when they are copied keep their blocks, unless these are so many that another attempt pays,
 * which knows them. (A Debian root has 1.5 % of them in blocks of 1 KiB, nearly none in 4 KiB; sources none.)
 */
static errcode_t fill_again(struct build *build, struct output *output, struct size_choice *choice, struct needs *needs,
                            struct populate_report *report)
{
	if (output->is_device || build->zero_blocks <= (build->data_bytes >> build->format.block_bits) / ZEROS_PART)
		return 0;
	errcode_t error = known_holes_take(build);
	if (error)
		return problem_set(build->problem, error, NULL, "cannot plan the image");
	build->keeps_nothing = false;
	build->enlargements = 0;
	build->extra_blocks = 0;
	error = choose_again(build, output, choice, needs, report);
	if (!error)
		error = fill_until_it_fits(build, output, choice, needs, report);
	return error;
}

static errcode_t produce(struct build *build, struct output *output, struct size_choice *choice,
                         struct needs *needs, struct populate_report *report)
{
	errcode_t error = output_open(output, build->problem);

	if (error)
		return error;
	build->image = (struct image){ output->descriptor, output->offset_bytes };
	build->image_path = output->work_path;
	error = fill_until_it_fits(build, output, choice, needs, report);
	if (!error)
		error = fill_again(build, output, choice, needs, report);
	if (!error) {
		fill_report(build, report);
		begin_stage(build, POPULATE_SEAL, report);
		error = seal(build, report);
	}
	if (!error)
		error = flags_warn(build, &report->warnings);
	if (!error)
		error = quota_rebuild(build->options, output, build->quota_types, build->problem);
	if (!error)
		error = quota_charge_values(build);
	if (!error)
		error = filesystem_reset_mmp(build);
	if (!error && build->options->verify) {
		begin_stage(build, POPULATE_VERIFY, report);
		error = verify_image(build, output);
		report->verified = !error;
	}
	if (!error && build->options->android_sparse)
		error = android_sparse_convert(build, output);
	/* Nobody else is to have the file that is replaced: we may. */
	earlier_close(TAKE(build->earlier));
	if (!error && interrupt_pending())
		error = EINTR;
	return error ? error : output_finish(output, build->problem);
}

static errcode_t examine_output(struct build *build, struct output *output)
{
	const struct populate_options *options = build->options;
	const struct output_request request = {
		.path = options->image,
		.offset_bytes = options->offset_bytes,
		/* What is made first is no sparse image yet. */
		.in_place = options->in_place && !options->android_sparse,
		.advice = options->size_only      ? NULL :
		          options->android_sparse ? "remove it, or take another name" :
		                                    "use --in-place to write into it",
	};
	errcode_t error = output_examine(&request, output, build->problem);

	build->in_place = output->in_place;
	if (!error && options->android_sparse && output->is_device)
		return problem_set_reason(build->problem, EINVAL, options->image, "cannot create",
		                          "an Android sparse image must be a file");
	return error;
}

/* What mke2fs makes and nobody can use. */
static errcode_t check_filesystem(const struct build *build, const struct size_choice *choice)
{
	const char *image = build->options->image;

	/* e2fsprogs 1.47.0 look for its block as if the filesystem began where the file does. */
	if (build->options->offset_bytes && choice->room.has_mmp)
		return problem_set_reason(build->problem, EINVAL, image, "cannot create",
		                          "the feature mmp does not work at an offset");
	if (choice->room.orphan_blocks > ORPHAN_FILE_MAX_BLOCKS)
		return problem_set_reason(build->problem, EINVAL, image, "cannot create",
		                          "the kernel mounts no filesystem whose orphan file has %" PRIu64
		                          " blocks, more than %d; -O ^orphan_file makes none",
		                          choice->room.orphan_blocks, ORPHAN_FILE_MAX_BLOCKS);
	return 0;
}

/*
 * Zeros that are no holes of the source need no room either. Long ones cost next to nothing to find. All are looked for,
 * which takes reading everything, where the size does not do with the others; on a device, which would have to be
 * written twice; and where an earlier image was made without them.
 */
static errcode_t choose_size(struct build *build, const struct output *output, struct size_choice *choice,
                             struct needs *needs)
{
	struct problem too_large = { 0 };
	errcode_t size_error = size_choose(build, output, choice, needs), error;

	if (size_error && size_error != ENOSPC)
		return size_error;
	problem_move(&too_large, build->problem);
	if (size_error || output->is_device || build->earlier)
		error = known_holes_look(build);
	else
		error = known_holes_look_for_long(build);
	if (error) {
		problem_clear(&too_large);
		return error;
	}
	if (!build->known_zero_bytes) {
		problem_move(build->problem, &too_large);
		return size_error;
	}
	problem_clear(&too_large);
	needs_free(needs);
	return size_choose(build, output, choice, needs);
}

static errcode_t build_image(struct build *build, struct output *output, struct populate_report *report)
{
	struct identified identified = { 0 };
	struct size_choice choice = { .inodes = 0 };
	struct needs needs = { 0 };
	begin_stage(build, POPULATE_SCAN, report);
	errcode_t error = examine_output(build, output);

	if (!error)
		error = scan(build, report);
	if (!error)
		error = open_earlier(build);
	if (!error)
		error = identify(build, &identified);
	if (!error)
		begin_stage(build, POPULATE_FORMAT, report);
	if (!error)
		error = choose_size(build, output, &choice, &needs);
	if (!error)
		error = check_filesystem(build, &choice);
	if (!error)
		report_size(build, &choice, report);
	if (!error && !build->options->size_only)
		error = produce(build, output, &choice, &needs, report);
	end_stage(build, report);
	needs_free(&needs);
	if (identified.given)
		build->options = identified.given;
	free(identified.extended);
	return error;
}

static void release(struct build *build)
{
	forget(build);
	earlier_close(build->earlier);
	free(build->projects);
	free(build->zeros.runs);
	tree_destroy(build->tree);
	pool_destroy(build->pool);
}

errcode_t populate(const struct populate_options *options, struct populate_report *report, struct problem *problem)
{
	struct build build = { .options = options, .problem = problem, .image.descriptor = -1 };
	struct output output = { .descriptor = -1 };

	*report = (struct populate_report){ 0 };
	errcode_t error = pool_create(options->threads, &build.pool);
	if (error)
		return problem_set(problem, error, NULL, "cannot start threads");
	error = build_image(&build, &output, report);
	release(&build);
	if (error) {
		problem_set(problem, error, options->image, "cannot create");
		interrupt_explain(options->image, problem);
		output_fail(&output, problem);
	}
	output_discard(&output);
	return error;
}
