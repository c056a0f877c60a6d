/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "simulate/image/image.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "compare/user_library.h"
#include "allocator/core/allocator.h"
#include "filesystem/fs_errors.h"
#include "image/inode.h"
#include "support/run/child.h"

#define ZEROES_BYTES (1u << 20)

static errcode_t run_mke2fs(const struct output *output, const char *size, char *const *options,
                            struct problem *problem)
{
	const char *path = output->path;
	size_t count = 0, next = 0;

	while (options[count])
		count++;
	SCOPE_FREE const char **arguments = calloc(count + 5, sizeof(*arguments));
	if (!arguments)
		return problem_set(problem, ENOMEM, path, "mke2fs failed");
	arguments[next++] = "mke2fs";
	arguments[next++] = "-qF";
	for (size_t option = 0; option < count; option++)
		arguments[next++] = options[option];
	arguments[next++] = output->work_path;
	arguments[next++] = size;
	const struct child child = {
		.arguments = arguments,
		.path = output->work_path,
		.image_path = path,
	};

	return child_run(&child, "mke2fs failed", problem);
}

/* Also detects a file that is mounted through a loop device. */
static errcode_t check_mounted(const char *path, const char *file, const char *action, struct problem *problem)
{
	int flags = 0;
	errcode_t error = ext2fs_check_if_mounted(file, &flags);

	if (error)
		return problem_set(problem, error, path, "cannot see whether it is mounted");
	if (flags & EXT2_MF_MOUNTED)
		return problem_set_reason(problem, EBUSY, path, action, "it is mounted");
	if (flags & (EXT2_MF_SWAP | EXT2_MF_BUSY))
		return problem_set_reason(problem, EBUSY, path, action, "it is in use");
	return 0;
}

errcode_t image_make(const char *path, const char *size, char *const *options, bool force, struct output *output,
                     struct problem *problem)
{
	*output = (struct output){ .path = path, .advice = force ? "remove it, or take another name" : NULL };
	errcode_t error = output_examine(output, problem);

	if (error)
		return error;
	if (output->is_device)
		return problem_set_reason(problem, EINVAL, path, "cannot create", "it is not a regular file");
	if (output->existed && !force)
		return problem_set(problem, EEXIST, path, "cannot create");
	error = output_open(output, problem);
	return error ? error : run_mke2fs(output, size, options, problem);
}

static errcode_t refuse(struct image *image, struct problem *problem, const char *reason)
{
	return problem_set_reason(problem, EINVAL, image->path, "cannot simulate on it", "%s", reason);
}

static errcode_t check_state(struct image *image, const char *file, struct problem *problem)
{
	struct ext2_super_block *super = image->fs->super;
	errcode_t error;

	if (ext2fs_has_feature_journal_needs_recovery(super) || !(super->s_state & EXT2_VALID_FS) ||
	    (super->s_state & EXT2_ERROR_FS) || super->s_last_orphan || ext2fs_has_feature_orphan_present(super)) {
		/* Checked first: a mounted filesystem is never clean, and the user must not run e2fsck on it. */
		error = image->fs->flags & EXT2_FLAG_RW ?
		                0 :
		                check_mounted(image->path, file, "cannot simulate on it", problem);
		return error ? error : refuse(image, problem, "it is not clean: run e2fsck first");
	}
	if (image->directory && ext2fs_has_feature_quota(super))
		return refuse(image, problem, "the feature quota is not supported");
	return 0;
}

static int meet_entry(ext2_ino_t dir UNUSED, int entry, struct ext2_dir_entry *dirent UNUSED, int offset UNUSED,
                      int block_bytes UNUSED, char *buffer UNUSED, void *context)
{
	bool *has_entry = context;

	*has_entry = *has_entry || entry >= DIRENT_OTHER_FILE;
	return *has_entry ? DIRENT_ABORT : 0;
}

/* Finds the only block of an empty directory; *block is 0 if it is anything else, or lost+found. */
static errcode_t find_empty_directory(ext2_filsys fs, ext2_ino_t ino, uint64_t *block)
{
	struct ext2_inode inode;
	bool has_entry = false;
	errcode_t error = ext2fs_read_inode(fs, ino, &inode);

	*block = 0;
	if (error || ino <= EXT2_FIRST_INO(fs->super) || !LINUX_S_ISDIR(inode.i_mode) ||
	    inode.i_size != fs->blocksize || inode.i_flags & EXT4_INLINE_DATA_FL)
		return error;
	error = FS_ERROR_OF(ext2fs_dir_iterate2(fs, ino, 0, NULL, meet_entry, &has_entry));
	return error || has_entry ? error :
	                            FS_ERROR_OF(ext2fs_bmap2(fs, ino, &inode, NULL, 0, 0, NULL, (blk64_t *)block));
}

static errcode_t check_name(struct image *image, struct problem *problem)
{
	const char *name = image->directory;
	ext2_ino_t ino;
	errcode_t error = FS_ERROR_OF(ext2fs_lookup(image->fs, EXT2_ROOT_INO, name, (int)strlen(name), NULL, &ino));

	if (error == EXT2_ET_FILE_NOT_FOUND)
		return 0;
	if (!error)
		error = find_empty_directory(image->fs, ino, &image->directory_block);
	if (error)
		return problem_set(problem, error, image->path, "cannot read its root directory");
	if (!image->directory_block)
		return problem_set_reason(problem, EEXIST, image->path, "cannot simulate on it",
		                          "it has a /%s already: choose another name with --directory", name);
	image->directory_ino = ino;
	return 0;
}

static errcode_t read_tables(struct image *image)
{
	ext2_filsys fs = image->fs;

	image->descriptors_per_block = EXT2_DESC_PER_BLOCK(fs->super);
	image->table_blocks_per_group = fs->inode_blocks_per_group;
	image->table_blocks = calloc(image->geometry.groups, sizeof(*image->table_blocks));
	if (!image->table_blocks)
		return ENOMEM;
	for (uint32_t group = 0; group < image->geometry.groups; group++) {
		uint64_t used = image->geometry.inodes_per_group;

		if (ext2fs_has_group_desc_csum(fs)) {
			uint32_t unused = ext2fs_bg_itable_unused(fs, group);

			used -= unused < used ? unused : used;
			if (ext2fs_bg_flags_test(fs, group, EXT2_BG_INODE_ZEROED))
				used = image->geometry.inodes_per_group;
			else if (ext2fs_bg_flags_test(fs, group, EXT2_BG_INODE_UNINIT))
				used = 0;
		}
		image->table_blocks[group] =
			(uint32_t)((used * image->format.inode_bytes + fs->blocksize - 1) / fs->blocksize);
	}
	return 0;
}

static errcode_t attach(struct image *image, const struct policy_options *options)
{
	errcode_t error = ondisk_format_read(image->fs->super, &image->format);

	if (!error)
		error = policy_open(image->fs, options, &image->mb);
	if (error)
		return error;
	image->geometry = image->mb->geometry;
	error = read_tables(image);
	return error ? error : ext2mb_worker_open(image->mb, &image->worker);
}

errcode_t image_open(const char *path, const char *file, const char *directory, const struct policy_options *options,
                     bool writable, struct image *image, struct problem *problem)
{
	int flags = writable ? EXT2_FLAG_RW | EXT2_FLAG_EXCLUSIVE : 0;

	*image = (struct image){
		.path = path,
		.policy_path = options->user ? options->user->path : NULL,
		.directory = directory,
	};
	/* Afterwards a device would be in use, by this program. */
	errcode_t error = writable ? check_mounted(path, file, "cannot simulate on it", problem) : 0;
	if (error)
		return error;
	error = fs_open(file, 0, flags, &image->fs);
	if (error)
		return problem_set(problem, error, path, "cannot open the filesystem");
	error = check_state(image, file, problem);
	if (!error && directory)
		error = check_name(image, problem);
	if (error)
		return error;
	error = ext2fs_check_desc(image->fs);
	if (error)
		return problem_set(problem, error, path, "cannot simulate on it");
	error = attach(image, options);
	user_library_explain(options->user, error, problem);
	if (error)
		return problem_set(problem, error, path, "cannot attach an allocator");
	return 0;
}

/* --- Blocks of inodes ------------------------------------------------------------------------------------------- */

struct file_walk {
	image_run_visitor visit;
	void *context;
	errcode_t error;
};

static bool show_record(void *context, const struct map_record *record)
{
	struct file_walk *walk = context;

	walk->error = walk->visit(walk->context, (uint32_t)record->logical, record->physical, record->count, true);
	return !walk->error;
}

static bool show_map_block(void *context, uint64_t block)
{
	struct file_walk *walk = context;

	walk->error = walk->visit(walk->context, 0, block, 1, false);
	return !walk->error;
}

/* Nothing is written before image_finish(), so libext2fs and the reader see the same. */
static errcode_t open_reader(struct image *image)
{
	struct problem problem = { 0 };

	if (image->has_volume)
		return 0;
	errcode_t error = volume_open(image->fs->device_name, 0, &image->volume, &problem);

	problem_clear(&problem);
	if (error)
		return error;
	error = map_walker_open(&image->volume, (struct damage_listener){ 0 }, &image->map_blocks_read, &image->walker);
	if (error)
		volume_close(&image->volume);
	image->has_volume = !error;
	image->walker.is_strict = true;
	return error;
}

errcode_t image_read_file(struct image *image, uint32_t ino, uint32_t *mode, image_run_visitor visit, void *context)
{
	struct file_walk walk = { .visit = visit, .context = context };
	const struct map_visitor visitor = { .record = show_record, .block = show_map_block, .context = &walk };
	SCOPE_FREE void *raw = malloc(image->format.inode_bytes);
	struct volume_inode inode;
	struct map_shape shape;
	errcode_t error = raw ? open_reader(image) : ENOMEM;

	*mode = 0;
	if (!error)
		error = volume_inode_read(&image->volume, ino, raw, &inode);
	/* An unused inode may hold anything, as in images of bigalloc filesystems by e2image -r. */
	if (error == EXT2_ET_INODE_CSUM_INVALID || (!error && !inode.view.links))
		return 0;
	if (error)
		return error;
	*mode = inode.view.mode;
	if (inode.view.xattr_block && !volume_has_blocks(&image->volume, inode.view.xattr_block, 1))
		return EUCLEAN;
	if (inode.view.xattr_block)
		error = visit(context, 0, inode.view.xattr_block, 1, false);
	if (error || !volume_inode_has_map(&inode))
		return error;
	uint64_t losses = image->walker.losses;

	image->map_blocks_read = 0;
	map_visit(&image->walker, ino, &inode.view, &visitor, &shape);
	return walk.error || image->walker.losses == losses ? walk.error : EUCLEAN;
}

bool image_has_journal(const struct image *image)
{
	return ext2fs_has_feature_journal(image->fs->super);
}

errcode_t image_write_blocks(struct image *image, uint64_t block, uint32_t count, const void *bytes)
{
	return io_channel_write_blk64(image->fs->io, block, (int)count, bytes);
}

/* Initialises a group's inode table up to the block with this index. */
static errcode_t initialise_table(struct image *image, uint32_t group, uint32_t index)
{
	uint32_t most = ZEROES_BYTES / image->format.block_bytes;
	uint64_t table = ext2fs_inode_table_loc(image->fs, group);

	if (image->table_blocks[group] > index)
		return 0;
	SCOPE_FREE void *zeroes = calloc(1, ZEROES_BYTES);
	if (!zeroes)
		return ENOMEM;
	while (image->table_blocks[group] <= index) {
		uint32_t left = index + 1 - image->table_blocks[group];
		uint32_t count = left < most ? left : most;
		errcode_t error = image_write_blocks(image, table + image->table_blocks[group], count, zeroes);

		if (error)
			return error;
		image->table_blocks[group] += count;
	}
	return 0;
}

/* The inode's offset in its group's inode table, in bytes. */
static uint64_t table_offset(const struct image *image, uint32_t ino)
{
	return (uint64_t)((ino - 1) % image->geometry.inodes_per_group) * image->format.inode_bytes;
}

uint64_t image_inode_block(const struct image *image, uint32_t ino)
{
	return ext2fs_inode_table_loc(image->fs, (ino - 1) / image->geometry.inodes_per_group) +
	       table_offset(image, ino) / image->format.block_bytes;
}

uint32_t image_inode_offset(const struct image *image, uint32_t ino)
{
	return table_offset(image, ino) % image->format.block_bytes;
}

errcode_t image_read_inode_block(struct image *image, uint32_t ino, void *bytes)
{
	uint64_t index = table_offset(image, ino) / image->format.block_bytes;

	if (index >= image->table_blocks[(ino - 1) / image->geometry.inodes_per_group]) {
		memset(bytes, 0, image->format.block_bytes);
		return 0;
	}
	return io_channel_read_blk64(image->fs->io, image_inode_block(image, ino), 1, bytes);
}

errcode_t image_write_inode(struct image *image, uint32_t ino, const void *bytes)
{
	uint32_t index = (uint32_t)(table_offset(image, ino) / image->format.block_bytes);
	uint32_t group = (ino - 1) / image->geometry.inodes_per_group;
	SCOPE_FREE char *buffer = malloc(image->format.block_bytes);
	errcode_t error = buffer ? initialise_table(image, group, index) : ENOMEM;

	if (!error)
		error = image_read_inode_block(image, ino, buffer);
	if (error)
		return error;
	memcpy(buffer + image_inode_offset(image, ino), bytes, image->format.inode_bytes);
	return image_write_blocks(image, image_inode_block(image, ino), 1, buffer);
}

static void close_allocator(struct image *image)
{
	ext2mb_orphan_close(TAKE(image->orphans));
	if (image->worker)
		ext2mb_worker_close(TAKE(image->worker));
	if (image->mb)
		ext2mb_close(TAKE(image->mb));
}

static bool is_large(const struct image *image, const struct file_set *set)
{
	for (size_t index = 0; index < set->count; index++)
		if ((uint64_t)set->files[index].blocks * image->format.block_bytes > INT32_MAX)
			return true;
	for (const struct file_set *child = set->first; child; child = child->next)
		if (is_large(image, child))
			return true;
	return false;
}

/* Uses libext2fs, because the root may be of any form. */
static errcode_t link_directory(struct image *image)
{
	ext2_filsys fs = image->fs;
	const struct file_set *set = image->files;
	struct ext2_inode inode;
	/* The inodes were not written through libext2fs, which caches a table's block. */
	errcode_t error = ext2fs_flush_icache(fs);
	if (!error)
		error = FS_ERROR_OF(ext2fs_link(fs, EXT2_ROOT_INO, set->name, set->directory.ino, EXT2_FT_DIR));

	if (error == EXT2_ET_DIR_NO_SPACE) {
		error = ext2fs_read_bitmaps(fs);
		if (!error)
			error = FS_ERROR_OF(ext2fs_expand_dir(fs, EXT2_ROOT_INO));
		if (!error)
			error = FS_ERROR_OF(ext2fs_link(fs, EXT2_ROOT_INO, set->name, set->directory.ino, EXT2_FT_DIR));
	}
	if (!error)
		error = ext2fs_read_inode(fs, EXT2_ROOT_INO, &inode);
	if (error)
		return error;
	inode.i_links_count++;
	return ext2fs_write_inode(fs, EXT2_ROOT_INO, &inode);
}

/*
 * The filesystem is marked as not clean until all of its state is written: if a full disk or a signal stops that,
 * e2fsck(8) checks everything next time. ext2fs_flush() writes the superblock last.
 */
static errcode_t write_state(struct image *image)
{
	ext2_filsys fs = image->fs;

	fs->super->s_state &= (uint16_t)~EXT2_VALID_FS;
	ext2fs_mark_super_dirty(fs);
	errcode_t error = ext2fs_flush(fs);
	if (!error)
		error = ext2mb_sync(image->mb);
	if (!error && image->orphans)
		error = ext2mb_orphan_sync(image->orphans);
	close_allocator(image);
	if (!error && image->files && is_large(image, image->files))
		ext2fs_set_feature_large_file(fs->super);
	if (!error && image->files && !image->directory_ino)
		error = link_directory(image);
	if (error)
		return error;
	fs->super->s_state |= EXT2_VALID_FS;
	ext2fs_mark_super_dirty(fs);
	return ext2fs_flush(fs);
}

errcode_t image_finish(struct image *image, struct problem *problem)
{
	errcode_t error = write_state(image);

	return error ? problem_set(problem, error, image->path, "cannot write the filesystem's state") : 0;
}

void image_close(struct image *image)
{
	close_allocator(image);
	map_walker_close(&image->walker);
	if (image->has_volume)
		volume_close(&image->volume);
	image->has_volume = false;
	if (image->fs)
		ext2fs_free(TAKE(image->fs));
	free(TAKE(image->table_blocks));
}
