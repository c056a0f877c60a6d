/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ondisk_image.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scratch.h"
#include "unit.h"

static char scratch[SCRATCH_BYTES];
static char image_path[SCRATCH_BYTES + 8];
static char mount_path[SCRATCH_BYTES + 16];

void ondisk_image_setup(void)
{
	scratch_make("ondisk", scratch);
	snprintf(image_path, sizeof(image_path), "%s/image", scratch);
	snprintf(mount_path, sizeof(mount_path), "%s/mounted", scratch);
	ck_assert_int_eq(mkdir(mount_path, 0700), 0);
}

void ondisk_image_teardown(void)
{
	scratch_remove(scratch);
}

const char *ondisk_image_path(void)
{
	return image_path;
}

void ondisk_image_make(struct ondisk_image *image, const char *mke2fs_options, const char *size)
{
	unlink(image_path);
	scratch_run("mke2fs -q -F -t ext4 %s '%s' %s >/dev/null 2>&1", mke2fs_options, image_path, size);
	*image = (struct ondisk_image){ 0 };
	ck_assert_int_eq(ext2fs_open(image_path, EXT2_FLAG_RW | EXT2_FLAG_64BITS, 0, 0, unix_io_manager, &image->fs),
	                 0);
	ck_assert_int_eq(ext2fs_read_bitmaps(image->fs), 0);
	ck_assert_int_eq(ondisk_format_read(image->fs->super, &image->format), 0);
	image->cursor = image->fs->super->s_first_data_block;
}

static int directory_type(uint16_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return EXT2_FT_REG_FILE;
	case S_IFDIR:
		return EXT2_FT_DIR;
	case S_IFLNK:
		return EXT2_FT_SYMLINK;
	case S_IFCHR:
		return EXT2_FT_CHRDEV;
	case S_IFBLK:
		return EXT2_FT_BLKDEV;
	case S_IFIFO:
		return EXT2_FT_FIFO;
	default:
		return EXT2_FT_SOCK;
	}
}

ext2_ino_t ondisk_image_new_inode(struct ondisk_image *image, const char *name, uint16_t mode)
{
	ext2_ino_t ino;
	int type = directory_type(mode);

	ck_assert_int_eq(ext2fs_new_inode(image->fs, EXT2_ROOT_INO, mode, NULL, &ino), 0);
	ext2fs_inode_alloc_stats2(image->fs, ino, 1, S_ISDIR(mode));
	errcode_t error = ext2fs_link(image->fs, EXT2_ROOT_INO, name, ino, type);
	if (error == EXT2_ET_DIR_NO_SPACE) {
		ck_assert_int_eq(ext2fs_expand_dir(image->fs, EXT2_ROOT_INO), 0);
		error = ext2fs_link(image->fs, EXT2_ROOT_INO, name, ino, type);
	}
	ck_assert_int_eq(error, 0);
	return ino;
}

blk64_t ondisk_image_take_blocks(struct ondisk_image *image, uint64_t limit_blocks, uint64_t *taken_blocks)
{
	ext2_filsys fs = image->fs;
	blk64_t last = ext2fs_blocks_count(fs->super) - 1;
	blk64_t start, end;

	ck_assert_int_eq(ext2fs_find_first_zero_block_bitmap2(fs->block_map, image->cursor, last, &start), 0);
	if (ext2fs_find_first_set_block_bitmap2(fs->block_map, start, last, &end))
		end = last;
	*taken_blocks = end - start < limit_blocks ? end - start : limit_blocks;
	ck_assert_uint_gt(*taken_blocks, 0);
	ext2fs_block_alloc_stats_range(fs, start, *taken_blocks, 1);
	image->cursor = start + *taken_blocks;
	return start;
}

void ondisk_image_put_blocks(struct ondisk_image *image, blk64_t block, uint64_t count, const void *bytes)
{
	ck_assert_int_eq(io_channel_write_blk64(image->fs->io, block, count, bytes), 0);
}

void ondisk_image_put_inode(struct ondisk_image *image, ext2_ino_t ino, const void *bytes)
{
	ext2_filsys fs = image->fs;
	uint32_t per_group = fs->super->s_inodes_per_group;
	uint64_t offset = (uint64_t)((ino - 1) % per_group) * image->format.inode_bytes;
	blk64_t block = ext2fs_inode_table_loc(fs, (ino - 1) / per_group) + offset / fs->blocksize;
	uint8_t *buffer = malloc(fs->blocksize);

	ck_assert_ptr_nonnull(buffer);
	ck_assert_int_eq(io_channel_read_blk64(fs->io, block, 1, buffer), 0);
	memcpy(buffer + offset % fs->blocksize, bytes, image->format.inode_bytes);
	ck_assert_int_eq(io_channel_write_blk64(fs->io, block, 1, buffer), 0);
	ck_assert_int_eq(ext2fs_flush_icache(fs), 0); /* libext2fs keeps inodes that it has read */
	free(buffer);
}

void ondisk_image_close(struct ondisk_image *image)
{
	ck_assert_int_eq(ext2fs_close_free(&image->fs), 0);
}

void ondisk_image_check(struct ondisk_image *image)
{
	char command[512];

	if (image->fs)
		ondisk_image_close(image);
	snprintf(command, sizeof(command), "e2fsck -fn '%s' >'%s.log' 2>&1 || { sed 's/^/# /' '%s.log'; exit 1; }",
	         image_path, image_path, image_path);
	int status = system(command);

	snprintf(command, sizeof(command), "%s.log", image_path);
	unlink(command);
	ck_assert_msg(status == 0, "e2fsck objects");
}

static const char *mount_image(const char *options)
{
	char command[512];

	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL)) {
		printf("# kernel not asked: no mount namespace\n");
		return NULL;
	}
	snprintf(command, sizeof(command), "mount -t ext4 -o %s '%s' '%s' 2>&1 | sed 's/^/# /'; mountpoint -q '%s'",
	         options, image_path, mount_path, mount_path);
	if (system(command) != 0) {
		printf("# kernel not asked: no mount\n");
		return NULL;
	}
	return mount_path;
}

const char *ondisk_image_mount(void)
{
	return mount_image("loop,ro");
}

const char *ondisk_image_mount_writable(void)
{
	return mount_image("loop");
}

void ondisk_image_unmount(void)
{
	ck_assert_int_eq(umount(mount_path), 0);
}
