/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An image of ext2, ext3 or ext4 as a source: a file or a block device that is read without a mount and never written.
 * Its journal is read as if it had been replayed. Orphans without a name are left out; orphans that are being truncated
 * end at their new size. The image's author is not trusted: lib/image checks all that is read, checksums included, and
 * names, xattrs and maps count towards the limits of the sources. Damage to a file that has a name is an error.
 */
#include <errno.h>

#include "image/target.h"
#include "source/image/image_recognition.h"
#include "source/image/image_scan.h"
#include "support/io/same_file.h"

/* At least one of the two is a device, or they are not the same. */
static bool is_same_device(const struct stat *one, const struct stat *other)
{
	if (S_ISBLK(one->st_mode) && S_ISBLK(other->st_mode))
		return one->st_rdev == other->st_rdev;
	if (S_ISBLK(one->st_mode))
		return loop_device_is_backed_by(one, other);
	return S_ISREG(one->st_mode) && S_ISBLK(other->st_mode) && loop_device_is_backed_by(other, one);
}

/* Loop devices of it are it, too. */
static enum scan_output find_output(const struct scan_options *options, const struct stat *status)
{
	int output = scan_output_of(options, status);

	if (output != SCAN_OUTPUTS)
		return (enum scan_output)output;
	for (output = 0; output < SCAN_OUTPUTS; output++)
		if (options->outputs[output] && is_same_device(options->outputs[output], status))
			break;
	return (enum scan_output)output;
}

/* Refuses a file that cannot or must not be read as an image. */
static errcode_t check_file(const struct scan_options *options, const char *file, struct problem *problem)
{
	const char *reason = NULL;
	enum scan_output output;
	struct stat status;

	if (!strcmp(file, "-") ? fstat(STDIN_FILENO, &status) : stat(file, &status))
		return problem_set(problem, errno, file, "cannot open");
	if (S_ISDIR(status.st_mode) || S_ISCHR(status.st_mode))
		reason = "it is neither a file, a pipe nor a block device";
	else if ((output = find_output(options, &status)) != SCAN_OUTPUTS)
		return problem_set_reason(problem, EINVAL, file, "cannot read", "source and %s are the same file",
		                          scan_output_names[output]);
	return reason ? problem_set_reason(problem, EINVAL, file, "cannot read", "%s", reason) : 0;
}

/* Explains an error of libext2fs, which tells only what it did not find. */
static errcode_t explain(const struct source *source, const struct image_name *name, const struct tree *tree,
                         errcode_t error, struct problem *problem)
{
	const struct raw_image *raw = tree->origin_count ? &image_contents_of(tree)->raw : NULL;

	if (!raw || !raw->path || (error != EXT2_ET_BAD_MAGIC && error != EXT2_ET_SHORT_READ))
		return error;
	const struct target target = { .path = raw->path, .offset_bytes = name->offset_bytes };
	SCOPE_FREE char *offsets =
		error == EXT2_ET_BAD_MAGIC && !name->offset_bytes ? image_partition_offsets(raw->path) : NULL;

	if (!offsets)
		return raw_image_rename(raw, target_explain(&target, error, problem), name->file, problem);
	problem_clear(problem);
	return problem_set_reason(problem, EINVAL, source_file_name(source), "cannot read",
	                          "it holds partitions: name one as image:%s?offset=N (ext2, ext3 or ext4 begin at %s)",
	                          source->name ? "FILE" : name->file, offsets);
}

static errcode_t check_volume(const struct image_scan *scan, struct problem *problem)
{
	const struct volume *volume = scan->volume;

	if (volume->is_mounted && !volume->is_read_only)
		return problem_set_reason(problem, EBUSY, scan->name, "cannot read",
		                          "it is mounted, and may change while it is read: unmount it, mount it "
		                          "read-only, or name the directory that it is mounted on");
	struct problem end = { 0 };
	errcode_t error = volume_check_end(volume, scan->name, "cannot read all of it", &end);

	/* Where what is damaged is left out, what is missing is, too. */
	if (error && scan->options->left_out)
		return warnings_add(scan->options->left_out, &end, 1);
	*problem = end;
	return error;
}

static errcode_t warn(const struct image_scan *scan, const struct image_count *found, const char *action,
                      const char *reason)
{
	struct problem first = { 0 };

	if (!found->count || !scan->options->warnings)
		return 0;
	SCOPE_FREE char *path = tree_path(scan->tree, found->node);

	problem_set_reason(&first, EINVAL, path ? path : scan->name, action, "%s", reason);
	return warnings_add(scan->options->warnings, &first, found->count);
}

static void add_count(struct image_count *all, const struct image_count *more)
{
	if (more->count && (!all->count || more->node < all->node))
		all->node = more->node;
	all->count += more->count;
}

static errcode_t warn_of_losses(const struct image_scan *scan)
{
	struct image_count verity = { 0 };

	for (unsigned int n = 0; n < scan->worker_count; n++)
		add_count(&verity, &scan->workers[n].verity);
	return warn(scan, &verity, "is not protected by fs-verity in the new image",
	            "its descriptor is damaged, missing or encrypted; its contents are copied");
}

/* A replay would mark the filesystem as damaged. */
static errcode_t warn_of_abort(const struct image_scan *scan)
{
	struct problem aborted = { 0 };

	if (!scan->volume->was_aborted || !scan->options->warnings)
		return 0;
	problem_set_reason(&aborted, EUCLEAN, scan->name, "has a journal that the kernel has aborted",
	                   "it is read as after a replay, which marks the filesystem as damaged: run e2fsck");
	return warnings_add(scan->options->warnings, &aborted, 1);
}

/* Sets what the tree's encrypted files depend on, if the tree may have any. */
static errcode_t describe_encryption(const struct image_scan *scan)
{
	const struct ext2_super_block *super = &scan->volume->superblock;
	bool met_encrypted = false;

	for (unsigned int n = 0; n < scan->worker_count; n++)
		met_encrypted = met_encrypted || scan->workers[n].met_encrypted;
	if (!met_encrypted)
		return 0;
	struct tree_encryption *encryption = arena_alloc(&scan->tree->memory, sizeof(*encryption));

	if (!encryption)
		return ENOMEM;
	encryption->block_bytes = scan->volume->format.block_bytes;
	memcpy(encryption->filesystem_id, super->s_uuid, sizeof(encryption->filesystem_id));
	memcpy(encryption->salt, super->s_encrypt_pw_salt, sizeof(encryption->salt));
	scan->tree->origins[0].encryption = encryption;
	return 0;
}

static errcode_t read_volume(struct image_scan *scan, struct problem *problem)
{
	size_t bytes = scan->worker_count * sizeof(*scan->workers);

	scan->workers = aligned_alloc(alignof(struct image_worker), bytes);
	if (!scan->workers)
		return ENOMEM;
	memset(scan->workers, 0, bytes);
	errcode_t error = xattr_table_create(&scan->xattr_table);

	if (error)
		return error;
	xattr_table_count(scan->xattr_table, scan->options->counts);
	error = image_read_inodes(scan, problem);
	progress_survey_level(scan->options->progress);
	if (!error)
		error = image_read_directories(scan, problem);
	if (!error)
		error = image_make_tree(scan, problem);
	if (!error)
		error = describe_encryption(scan);
	if (!error)
		error = warn_of_abort(scan);
	return error ? error : warn_of_losses(scan);
}

static void destroy_worker(struct image_worker *worker)
{
	if (worker->is_open)
		directory_walker_close(&worker->walker);
	volume_xattrs_free(&worker->xattrs);
	arena_destroy(&worker->memory);
	arena_destroy(&worker->scratch);
	free(worker->notes);
	free(worker->directories);
	free(worker->raws);
	free(worker->table);
	free(worker->list);
	free(worker->records);
	free(worker->segments);
	free(worker->unwritten);
	free(worker->blocks);
	free(worker->entries);
}

static void scan_destroy(struct image_scan *scan)
{
	for (unsigned int n = 0; scan->workers && n < scan->worker_count; n++)
		destroy_worker(&scan->workers[n]);
	for (size_t n = 0; n < scan->piece_count; n++)
		free(scan->pieces[n].inodes);
	free(scan->workers);
	free(scan->pieces);
	free(scan->notes);
	free(scan->directories);
	free(scan->order);
	xattr_table_destroy(scan->xattr_table);
}

static errcode_t scan_image(struct source *source, const struct scan_options *options, struct pool *pool,
                            struct tree *tree, struct problem *problem)
{
	struct pool *readers = options->readers ? options->readers : pool;
	struct image_scan scan = {
		.tree = tree,
		.name = source_file_name(source),
		.options = options,
		.pool = pool,
		.readers = readers,
		.worker_count = pool_workers(readers),
		.detail_lock = PTHREAD_MUTEX_INITIALIZER,
	};
	struct image_name name;
	errcode_t error = image_parse_name(source, &name, problem);
	SCOPE_FREE char *file = name.file;

	if (!error)
		error = check_file(options, file, problem);
	if (error)
		return problem_set(problem, error, scan.name, "cannot read");
	error = image_contents_add(tree, scan.name, &name, options, problem);
	if (error)
		return explain(source, &name, tree, error, problem);
	scan.volume = &image_contents_of(tree)->volume;
	error = check_volume(&scan, problem);
	if (!error)
		error = read_volume(&scan, problem);
	scan_destroy(&scan);
	return error ? problem_set(problem, error, scan.name, "cannot read") : 0;
}

const struct source_kind image_source = {
	.takes_prefix = image_has_prefix,
	.takes_name = image_has_name,
	.scan = scan_image,
	.scans_in_parallel = true,
};
