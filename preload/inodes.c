/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inode numbers. libext2fs has no hook for them: it takes the first free one from the parent's group on. libext2mb
 * knows the filesystem's inodes from the bitmap, and is told here what programs take and free. If it was not told of
 * a change, it proposes a number that is taken, and learns from that; or it takes a free number for used and never
 * proposes it. When it has no number left, libext2fs's own search goes on.
 */
#include <sys/stat.h>

#include "preload/handles.h"
#include "preload/program.h"

/* A program marks the inode number that it was given. If it failed before that, libext2fs would return the same
 * number again. */
static void return_number(struct handle *handle)
{
	if (handle->given && !ext2fs_fast_test_inode_bitmap2(handle->fs->inode_map, handle->given))
		(void)!ext2mb_inode_free(handle->worker, handle->given, handle->is_directory);
	handle->given = 0;
}

/* Returns the index in its group of the first inode that was never used (bg_itable_unused): the table may hold
 * anything from there on. */
static uint32_t first_unused(ext2_filsys fs, dgrp_t group)
{
	if (ext2fs_bg_flags_test(fs, group, EXT2_BG_INODE_UNINIT))
		return 0;
	return fs->super->s_inodes_per_group - ext2fs_bg_itable_unused(fs, group);
}

/*
 * Numbers are given with room beside them, for the files of a directory. If mke2fs did not zero the table, e2fsck
 * reads the inodes in between as soon as a later one is in use.
 */
static errcode_t clear_gap(ext2_filsys fs, ext2_ino_t ino)
{
	static const uint8_t zeros[EXT2_MAX_BLOCK_SIZE];
	dgrp_t group = ext2fs_group_of_ino(fs, ino);
	ext2_ino_t before = group * fs->super->s_inodes_per_group + first_unused(fs, group) + 1;
	errcode_t error = 0;

	if (!ext2fs_has_group_desc_csum(fs) || ext2fs_bg_flags_test(fs, group, EXT2_BG_INODE_ZEROED))
		return 0;
	for (; before < ino && !error; before++)
		error = ext2fs_write_inode_full(fs, before, (struct ext2_inode *)(uintptr_t)zeros,
		                                (int)EXT2_INODE_SIZE(fs->super));
	return error;
}

/* Does as ext2fs_new_inode() does: the kernel needs an initialised block bitmap in a group with inodes. */
static void initialise_group(ext2_filsys fs, ext2_ino_t ino)
{
	dgrp_t group = ext2fs_group_of_ino(fs, ino);

	if (!ext2fs_has_group_desc_csum(fs) || !ext2fs_bg_flags_test(fs, group, EXT2_BG_INODE_UNINIT))
		return;
	ext2fs_bg_flags_clear(fs, group, EXT2_BG_INODE_UNINIT);
	ext2fs_bg_flags_clear(fs, group, EXT2_BG_BLOCK_UNINIT);
	ext2fs_group_desc_csum_set(fs, group);
	ext2fs_mark_ib_dirty(fs);
	ext2fs_mark_super_dirty(fs);
}

/* EXT2MB_ET_NO_INODES: the allocator knows of no free inode. */
static errcode_t propose(struct handle *handle, ext2_ino_t directory, int mode, ext2_ino_t *ino)
{
	const struct ext2mb_inode_request request = {
		.struct_bytes = sizeof(request),
		.parent = directory,
		.flags = (mode & S_IFMT) == S_IFDIR ? EXT2MB_INODE_DIRECTORY : 0,
	};
	errcode_t error;

	do
		error = ext2mb_inode_alloc(handle->worker, &request, ino);
	while (!error && ext2fs_fast_test_inode_bitmap2(handle->fs->inode_map, *ino));
	return error;
}

errcode_t ext2fs_new_inode(ext2_filsys fs, ext2_ino_t directory, int mode, ext2fs_inode_bitmap map, ext2_ino_t *ino)
{
	struct handle *handle = handle_of(fs);

	if (handle)
		handle_attach(handle);
	if (!handle || !handle->mb || (map && map != fs->inode_map))
		return NEXT(ext2fs_new_inode)(fs, directory, mode, map, ino);
	return_number(handle);
	errcode_t error = propose(handle, directory, mode, ino);

	if (!error)
		error = clear_gap(fs, *ino);
	if (error)
		return NEXT(ext2fs_new_inode)(fs, directory, mode, map, ino);
	initialise_group(fs, *ino);
	handle->given = *ino;
	handle->is_directory = (mode & S_IFMT) == S_IFDIR;
	return 0;
}

void ext2fs_inode_alloc_stats2(ext2_filsys fs, ext2_ino_t ino, int in_use, int is_directory)
{
	struct handle *handle = handle_of(fs);

	NEXT(ext2fs_inode_alloc_stats2)(fs, ino, in_use, is_directory);
	if (handle && handle->mb && in_use < 0)
		(void)!ext2mb_inode_free(handle->worker, ino, is_directory);
}
