/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes a file into an ext4 filesystem in one transaction: after a crash it is there, whole, or it is not there at
 * all.
 *
 *	transaction IMAGE NAME <CONTENTS
 *
 * NAME is new in the root directory. See ext2mb(3).
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <ext2fs/ext2mb.h>

/* An inode that nothing refers to yet. */
static errcode_t make_inode(ext2_filsys fs, ext2_ino_t *ino)
{
	struct ext2_inode inode;
	errcode_t error = ext2fs_new_inode(fs, EXT2_ROOT_INO, LINUX_S_IFREG | 0644, NULL, ino);

	if (error)
		return error;
	memset(&inode, 0, sizeof(inode));
	inode.i_mode = LINUX_S_IFREG | 0644;
	inode.i_links_count = 1;
	inode.i_atime = inode.i_ctime = inode.i_mtime = (uint32_t)time(NULL);
	if (ext2fs_has_feature_extents(fs->super)) {
		ext2_extent_handle_t handle;

		inode.i_flags = EXT4_EXTENTS_FL;
		error = ext2fs_extent_open2(fs, *ino, &inode, &handle); /* makes an empty tree */
		if (error)
			return error;
		ext2fs_extent_free(handle);
	}
	ext2fs_inode_alloc_stats2(fs, *ino, +1, 0);
	return ext2fs_write_new_inode(fs, *ino, &inode);
}

static errcode_t copy_contents(ext2_filsys fs, ext2_ino_t ino, FILE *from)
{
	static char buffer[65536];
	ext2_file_t file;
	size_t bytes;
	errcode_t error = ext2fs_file_open(fs, ino, EXT2_FILE_WRITE, &file);

	if (error)
		return error;
	while (!error && (bytes = fread(buffer, 1, sizeof(buffer), from)) > 0)
		error = ext2fs_file_write(file, buffer, (unsigned int)bytes, NULL);
	errcode_t close_error = ext2fs_file_close(file);
	return error ? error : close_error;
}

static errcode_t write_file(ext2_filsys fs, const char *name)
{
	ext2_ino_t ino;
	errcode_t error = ext2fs_read_bitmaps(fs);

	if (!error)
		error = make_inode(fs, &ino);
	if (!error)
		error = copy_contents(fs, ino, stdin);
	if (!error)
		error = ext2fs_link(fs, EXT2_ROOT_INO, name, ino, EXT2_FT_REG_FILE);
	/* No room in the directory is left: it gets another block. */
	if (error == EXT2_ET_DIR_NO_SPACE) {
		error = ext2fs_expand_dir(fs, EXT2_ROOT_INO);
		if (!error)
			error = ext2fs_link(fs, EXT2_ROOT_INO, name, ino, EXT2_FT_REG_FILE);
	}
	return error;
}

int main(int argc, char **argv)
{
	ext2_ino_t there;
	ext2_filsys fs;
	errcode_t error;

	if (argc != 3) {
		fprintf(stderr, "usage: %s IMAGE NAME <CONTENTS\n", argv[0]);
		return 2;
	}
	initialize_ext2_error_table();
	initialize_e2mb_error_table();
	error = ext2fs_open2(argv[1], NULL, EXT2_FLAG_RW | EXT2_FLAG_64BITS, 0, 0, ext2mb_transaction_io_manager(0),
	                     &fs);
	if (error) {
		com_err(argv[0], error, "while opening %s", argv[1]);
		return 1;
	}
	error = ext2fs_lookup(fs, EXT2_ROOT_INO, argv[2], (int)strlen(argv[2]), NULL, &there) ? 0 : EXT2_ET_FILE_EXISTS;
	if (!error)
		error = write_file(fs, argv[2]);
	if (!error)
		error = ext2mb_transaction_commit(fs);
	if (error) {
		com_err(argv[0], error, "while writing %s", argv[2]);
		/* Nothing of it is on disk. After a commit that failed there is nothing to be taken back. */
		if (ext2mb_transaction_abort(fs))
			fprintf(stderr, "%s: the transaction was over already\n", argv[0]);
		ext2fs_free(fs);
		return 1;
	}
	error = ext2fs_close(fs);
	if (error)
		com_err(argv[0], error, "while closing %s", argv[1]);
	return error != 0;
}
