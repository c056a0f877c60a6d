/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files that are written in turns through libext2fs, a block a call, with libext2mb attached to the handle.
 *
 *	attach IMAGE [FILES]
 *
 * Each file lies in a few pieces, for its blocks come from a preallocation of its own. Without ext2mb_attach() each of
 * its blocks would be a piece. See ext2mb(3).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <ext2fs/ext2mb.h>

#define MOST_FILES 64
#define BLOCKS 256 /* of each file */

static errcode_t create(ext2_filsys fs, unsigned int number, ext2_ino_t *ino)
{
	struct ext2_inode inode;
	char name[32];

	memset(&inode, 0, sizeof(inode));
	inode.i_mode = S_IFREG | 0644;
	inode.i_links_count = 1;
	errcode_t error = ext2fs_new_inode(fs, EXT2_ROOT_INO, S_IFREG, NULL, ino);
	if (error)
		return error;
	ext2fs_inode_alloc_stats2(fs, *ino, 1, 0);
	if (ext2fs_has_feature_extents(fs->super)) {
		ext2_extent_handle_t handle;

		inode.i_flags = EXT4_EXTENTS_FL;
		error = ext2fs_extent_open2(fs, *ino, &inode, &handle);
		if (error)
			return error;
		ext2fs_extent_free(handle);
	}
	error = ext2fs_write_new_inode(fs, *ino, &inode);
	if (error)
		return error;
	snprintf(name, sizeof(name), "in-turns-%u", number);
	return ext2fs_link(fs, EXT2_ROOT_INO, name, *ino, EXT2_FT_REG_FILE);
}

static errcode_t append_block(ext2_filsys fs, ext2_ino_t ino, unsigned int block, const char *bytes)
{
	unsigned int written;
	ext2_file_t file;
	errcode_t error = ext2fs_file_open(fs, ino, EXT2_FILE_WRITE, &file);

	if (error)
		return error;
	error = ext2fs_file_llseek(file, (__u64)block * fs->blocksize, EXT2_SEEK_SET, NULL);
	if (!error)
		error = ext2fs_file_write(file, bytes, fs->blocksize, &written);
	errcode_t close_error = ext2fs_file_close(file);
	return error ? error : close_error;
}

static errcode_t write_in_turns(ext2_filsys fs, unsigned int files, ext2_ino_t *inodes)
{
	char *bytes = calloc(1, fs->blocksize);
	errcode_t error = bytes ? 0 : EXT2_ET_NO_MEMORY;

	for (unsigned int number = 0; number < files && !error; number++)
		error = create(fs, number, &inodes[number]);
	for (unsigned int block = 0; block < BLOCKS && !error; block++)
		for (unsigned int number = 0; number < files && !error; number++)
			error = append_block(fs, inodes[number], block, bytes);
	free(bytes);
	return error;
}

static errcode_t count_pieces(ext2_filsys fs, ext2_ino_t ino, unsigned int *pieces)
{
	blk64_t previous = 0;

	*pieces = 0;
	for (unsigned int block = 0; block < BLOCKS; block++) {
		blk64_t physical;
		errcode_t error = ext2fs_bmap2(fs, ino, NULL, NULL, 0, block, NULL, &physical);

		if (error)
			return error;
		*pieces += !previous || physical != previous + 1;
		previous = physical;
	}
	return 0;
}

static errcode_t use_filesystem(ext2_filsys fs, unsigned int files)
{
	ext2_ino_t inodes[MOST_FILES];
	unsigned int most = 0;
	errcode_t error = ext2fs_read_bitmaps(fs);

	if (!error)
		error = ext2mb_attach(fs, NULL);
	if (error)
		return error;
	error = write_in_turns(fs, files, inodes);
	ext2mb_detach(fs);
	for (unsigned int number = 0; number < files && !error; number++) {
		unsigned int pieces;

		error = count_pieces(fs, inodes[number], &pieces);
		most = !error && pieces > most ? pieces : most;
	}
	if (!error)
		printf("%u files of %u blocks, written in turns: at most %u pieces each\n", files, BLOCKS, most);
	return error;
}

int main(int argc, char **argv)
{
	unsigned int files = argc > 2 ? (unsigned int)strtoul(argv[2], NULL, 10) : 16;
	ext2_filsys fs;

	if (argc < 2 || argc > 3 || files < 1 || files > MOST_FILES) {
		fprintf(stderr, "usage: %s IMAGE [FILES, up to %d]\n", argv[0], MOST_FILES);
		return 2;
	}
	initialize_ext2_error_table(); /* libext2mb's own is there from ext2mb_attach() on */
	errcode_t error = ext2fs_open(argv[1], EXT2_FLAG_RW | EXT2_FLAG_64BITS, 0, 0, unix_io_manager, &fs);
	if (error) {
		com_err(argv[0], error, "while opening %s", argv[1]);
		return 1;
	}
	error = use_filesystem(fs, files);
	if (error)
		com_err(argv[0], error, "while writing to %s", argv[1]);
	errcode_t close_error = ext2fs_close_free(&fs);
	if (close_error)
		com_err(argv[0], close_error, "while closing %s", argv[1]);
	return error || close_error;
}
