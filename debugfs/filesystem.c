/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "filesystem.h"

#include <errno.h>

#include "filesystem/fs_errors.h"

static void close_allocator(struct filesystem *filesystem)
{
	while (filesystem->files) {
		SCOPE_FREE struct open_file *file = filesystem->files;

		filesystem->files = file->next;
		ext2mb_file_close(filesystem->worker, file->file);
	}
	ext2mb_orphan_close(TAKE(filesystem->orphans));
	ext2mb_worker_close(TAKE(filesystem->worker));
	ext2mb_close(TAKE(filesystem->mb));
}

errcode_t filesystem_attach(struct filesystem *filesystem, const struct policy_options *policy)
{
	close_allocator(filesystem);
	errcode_t error = policy_open(filesystem->fs, policy, &filesystem->mb);

	return error ? error : ext2mb_worker_open(filesystem->mb, &filesystem->worker);
}

static void release(struct filesystem *filesystem)
{
	close_allocator(filesystem);
	/* After a failed sync, closing would commit part of the changes. After a sync that succeeded the abort loses
	 * nothing. */
	if (filesystem->is_journalled && filesystem->fs && ext2mb_transaction_abort(filesystem->fs))
		filesystem->is_journalled = false;
	if (filesystem->fs)
		ext2fs_free(filesystem->fs);
	place_leave(&filesystem->place);
	*filesystem = (struct filesystem){ 0 };
}

/* Also refuses a file that is mounted through a loop device. */
static errcode_t refuse_mounted(const char *path, struct problem *problem)
{
	int flags = 0;
	errcode_t error = ext2fs_check_if_mounted(path, &flags);

	if (error)
		return problem_set(problem, error, path, "cannot see whether it is mounted");
	if (flags & (EXT2_MF_MOUNTED | EXT2_MF_SWAP | EXT2_MF_BUSY))
		return problem_set_reason(problem, EBUSY, path, "cannot open for writing", "it is in use");
	return 0;
}

static errcode_t check_writing(const struct place *place, const char *name, struct problem *problem)
{
	if (place_is_unpacked(place))
		return place_refuse_writing(name, "cannot open for writing", problem);
	errcode_t error = target_check_end(&place->target, name, "cannot open for writing", problem);

	return error ? error : refuse_mounted(place->target.path, problem);
}

static errcode_t open_on(struct filesystem *filesystem, const char *name, const struct policy_options *policy,
                         struct problem *problem)
{
	const char *path = filesystem->place.target.path;
	int flags = filesystem->is_writable ? EXT2_FLAG_RW | EXT2_FLAG_EXCLUSIVE : 0;
	errcode_t error = filesystem->is_writable ? check_writing(&filesystem->place, name, problem) : 0;

	if (error)
		return error;
	error = fs_open_with(filesystem->is_journalled ? ext2mb_transaction_io_manager(0) : unix_io_manager, path, 0,
	                     flags, &filesystem->fs);
	if (error == EXT2_ET_BAD_MAGIC || error == EXT2_ET_SHORT_READ)
		error = target_explain(&filesystem->place.target, error, problem);
	if (error)
		return problem_set(problem, error, path, "cannot open the filesystem");
	/* A filesystem with wrong descriptors may be read: their groups are left out. */
	error = filesystem->is_writable ? ext2fs_check_desc(filesystem->fs) : 0;
	if (error)
		return problem_set(problem, error, path, "cannot open the filesystem");
	error = filesystem_attach(filesystem, policy);
	return error ? problem_set(problem, error, path, "cannot attach an allocator") : 0;
}

errcode_t filesystem_open(struct filesystem *filesystem, const char *name, const struct place_options *where,
                          enum filesystem_access access, const struct policy_options *policy, struct problem *problem)
{
	*filesystem = (struct filesystem){
		.is_writable = access != FILESYSTEM_READ,
		.is_journalled = access == FILESYSTEM_JOURNALLED,
	};
	errcode_t error = place_find(name, where, &filesystem->place, problem);

	if (!error)
		error = place_rename(&filesystem->place, open_on(filesystem, name, policy, problem), problem);
	if (error)
		release(filesystem);
	return error;
}

/*
 * The filesystem is marked as not clean until all of its state is written. ext2fs_flush() writes the superblock last.
 */
static errcode_t write_state(struct filesystem *filesystem)
{
	ext2_filsys fs = filesystem->fs;
	uint16_t valid = fs->super->s_state & EXT2_VALID_FS;

	fs->super->s_state &= (uint16_t)~EXT2_VALID_FS;
	ext2fs_mark_super_dirty(fs);
	errcode_t error = ext2fs_flush(fs);
	if (!error && filesystem->orphans)
		error = ext2mb_orphan_sync(filesystem->orphans);
	if (!error)
		error = ext2mb_sync(filesystem->mb);
	/* Set after an error, too, but only in memory: the next successful call writes everything. */
	fs->super->s_state |= valid;
	if (error)
		return error;
	ext2fs_mark_super_dirty(fs);
	return ext2fs_flush(fs);
}

errcode_t filesystem_sync(struct filesystem *filesystem, struct problem *problem)
{
	errcode_t error = write_state(filesystem);

	if (!error && filesystem->is_journalled)
		error = ext2mb_transaction_commit(filesystem->fs);
	if (error)
		return problem_set(problem, error, place_shown(&filesystem->place),
		                   "cannot write the filesystem's state");
	filesystem->is_changed = false;
	return 0;
}

errcode_t filesystem_preview(struct filesystem *filesystem, preview_function show, void *context,
                             struct problem *problem)
{
	errcode_t error = filesystem->is_changed ? write_state(filesystem) : 0;

	if (!error)
		error = preview_commit(filesystem->fs->io, show, context);
	return error ? problem_set(problem, error, place_shown(&filesystem->place), "cannot prepare the transaction") :
	               0;
}

errcode_t filesystem_close(struct filesystem *filesystem, struct problem *problem)
{
	errcode_t error = filesystem->is_changed ? filesystem_sync(filesystem, problem) : 0;

	release(filesystem);
	return error;
}

errcode_t filesystem_read_orphans(struct filesystem *filesystem, struct problem *problem)
{
	struct ext2mb_orphan_options options = { sizeof(options), filesystem->mb };
	char why[128] = "";

	if (filesystem->orphans)
		return 0;
	errcode_t error = ext2mb_orphan_open(filesystem->fs, &options, why, sizeof(why), &filesystem->orphans);

	if (!error)
		return 0;
	problem_set(problem, error, place_shown(&filesystem->place), "cannot read the orphans");
	if (*why)
		problem_add(problem, "; %s", why);
	return error;
}

errcode_t filesystem_inode_links(struct filesystem *filesystem, ext2_ino_t ino, unsigned int *links, bool *is_in_use)
{
	struct ext2_inode inode;
	errcode_t error = FS_ERROR_OF(ext2fs_read_inode(filesystem->fs, ino, &inode));

	if (error)
		return error;
	*links = inode.i_links_count;
	*is_in_use = inode.i_mode && (inode.i_links_count || !inode.i_dtime);
	return 0;
}

errcode_t filesystem_file(struct filesystem *filesystem, ext2_ino_t ino, ext2_ino_t parent, struct open_file **ret)
{
	struct ext2mb_file_info info = { .struct_bytes = sizeof(info), .ino = ino, .parent = parent };

	for (struct open_file *file = filesystem->files; file; file = file->next) {
		if (file->ino != ino)
			continue;
		*ret = file;
		return 0;
	}
	SCOPE_FREE struct open_file *file = calloc(1, sizeof(*file));
	if (!file)
		return ENOMEM;
	errcode_t error = ext2mb_file_open(filesystem->worker, &info, &file->file);

	if (error)
		return error;
	file->ino = ino;
	file->next = filesystem->files;
	filesystem->files = file;
	*ret = TAKE(file);
	return 0;
}
