/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Damaged orphan files, lists and orphans: each is refused with its own error, and what is wrong is named. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "mb_image.h"
#include "ondisk/xattr.h"
#include "unit.h"

static ext2_ino_t new_file(ext2_filsys fs, uint16_t links)
{
	struct ext2_inode inode = { .i_mode = LINUX_S_IFREG | 0644, .i_links_count = links };
	ext2_ino_t ino;

	ck_assert_ok(ext2fs_new_inode(fs, EXT2_ROOT_INO, LINUX_S_IFREG, NULL, &ino));
	ext2fs_inode_alloc_stats2(fs, ino, 1, 0);
	ck_assert_ok(ext2fs_write_new_inode(fs, ino, &inode));
	return ino;
}

/* --- what opening refuses ----------------------------------------------------------------------------------- */

static uint64_t physical_block(ext2_filsys fs, uint32_t block)
{
	blk64_t physical;

	ck_assert_ok(ext2fs_bmap2(fs, fs->super->s_orphan_file_inum, NULL, NULL, 0, block, NULL, &physical));
	return physical;
}

static void turn_bit(ext2_filsys fs, uint32_t block, uint32_t byte)
{
	uint8_t bytes[1024];

	ck_assert_ok(io_channel_read_blk64(fs->io, physical_block(fs, block), 1, bytes));
	bytes[byte] ^= 4;
	ck_assert_ok(io_channel_write_blk64(fs->io, physical_block(fs, block), 1, bytes));
}

static void damage_magic(ext2_filsys fs)
{
	turn_bit(fs, 3, 1016);
}

static void damage_checksum(ext2_filsys fs)
{
	turn_bit(fs, 31, 1020);
}

static void damage_entry(ext2_filsys fs)
{
	turn_bit(fs, 0, 40);
}

static void damage_place(ext2_filsys fs)
{
	uint8_t bytes[1024];

	ck_assert_ok(io_channel_read_blk64(fs->io, physical_block(fs, 6), 1, bytes));
	ck_assert_ok(io_channel_write_blk64(fs->io, physical_block(fs, 7), 1, bytes));
}

static void damage_hole(ext2_filsys fs)
{
	ck_assert_ok(ext2fs_punch(fs, fs->super->s_orphan_file_inum, NULL, NULL, 5, 5));
}

static void damage_unwritten(ext2_filsys fs)
{
	ext2_extent_handle_t handle;
	struct ext2fs_extent extent;

	ck_assert_ok(ext2fs_extent_open(fs, fs->super->s_orphan_file_inum, &handle));
	ck_assert_ok(ext2fs_extent_get(handle, EXT2_EXTENT_ROOT, &extent));
	extent.e_flags |= EXT2_EXTENT_FLAGS_UNINIT;
	ck_assert_ok(ext2fs_extent_replace(handle, 0, &extent));
	ext2fs_extent_free(handle);
}

static void damage_outside(ext2_filsys fs)
{
	ext2_extent_handle_t handle;
	struct ext2fs_extent extent;

	ck_assert_ok(ext2fs_extent_open(fs, fs->super->s_orphan_file_inum, &handle));
	ck_assert_ok(ext2fs_extent_get(handle, EXT2_EXTENT_ROOT, &extent));
	extent.e_pblk = ext2fs_blocks_count(fs->super) - 2;
	ck_assert_ok(ext2fs_extent_replace(handle, 0, &extent));
	ext2fs_extent_free(handle);
}

static void set_size(ext2_filsys fs, uint64_t bytes)
{
	struct ext2_inode inode;

	ck_assert_ok(ext2fs_read_inode(fs, fs->super->s_orphan_file_inum, &inode));
	ck_assert_ok(ext2fs_inode_size_set(fs, &inode, bytes));
	ck_assert_ok(ext2fs_write_inode(fs, fs->super->s_orphan_file_inum, &inode));
}

static void damage_too_big(ext2_filsys fs)
{
	set_size(fs, 513 * 1024);
}

static void damage_enormous(ext2_filsys fs)
{
	set_size(fs, UINT64_C(1) << 40);
}

static void damage_beyond(ext2_filsys fs)
{
	set_size(fs, 33 * 1024);
}

static void damage_odd(ext2_filsys fs)
{
	set_size(fs, 32 * 1024 - 1);
}

static void damage_empty(ext2_filsys fs)
{
	set_size(fs, 0);
}

static void damage_no_inode(ext2_filsys fs)
{
	fs->super->s_orphan_file_inum = 0;
}

static void damage_inode_beyond(ext2_filsys fs)
{
	fs->super->s_orphan_file_inum = fs->super->s_inodes_count + 1;
}

static void damage_directory(ext2_filsys fs)
{
	fs->super->s_orphan_file_inum = EXT2_FIRST_INODE(fs->super); /* lost+found */
}

static void damage_journal(ext2_filsys fs)
{
	ext2fs_set_feature_journal_needs_recovery(fs->super);
}

/* A list of three whose last one goes on to next; 0: to the second one. */
static void make_list(ext2_filsys fs, uint32_t next)
{
	ext2_ino_t inos[3];

	for (int number = 0; number < 3; number++)
		inos[number] = new_file(fs, 1);
	for (int number = 0; number < 3; number++) {
		struct ext2_inode inode;

		ck_assert_ok(ext2fs_read_inode(fs, inos[number], &inode));
		inode.i_dtime = number < 2 ? inos[number + 1] : next ? next : inos[1];
		ck_assert_ok(ext2fs_write_inode(fs, inos[number], &inode));
	}
	fs->super->s_last_orphan = inos[0];
}

static void damage_circle(ext2_filsys fs)
{
	make_list(fs, 0);
}

static void damage_list_beyond(ext2_filsys fs)
{
	make_list(fs, 2345678);
}

static void damage_list_reserved(ext2_filsys fs)
{
	make_list(fs, EXT2_ROOT_INO);
}

static const struct {
	void (*damage)(ext2_filsys fs);
	errcode_t error;
	const char *why;
} damages[] = {
	{ damage_magic, EXT2MB_ET_ORPHAN_MAGIC, "block 3 of the orphan file" },
	{ damage_checksum, EXT2MB_ET_ORPHAN_CHECKSUM, "block 31 of the orphan file" },
	{ damage_entry, EXT2MB_ET_ORPHAN_CHECKSUM, "block 0 of the orphan file" },
	{ damage_place, EXT2MB_ET_ORPHAN_CHECKSUM, "block 7 of the orphan file" },
	{ damage_hole, EXT2MB_ET_ORPHAN_HOLE, "block 5 of the orphan file" },
	{ damage_unwritten, EXT2MB_ET_ORPHAN_HOLE, "block 0 of the orphan file" },
	{ damage_outside, EXT2MB_ET_ORPHAN_HOLE, "block 2 of the orphan file" },
	{ damage_beyond, EXT2MB_ET_ORPHAN_HOLE, "block 32 of the orphan file" },
	{ damage_too_big, EXT2MB_ET_ORPHAN_TOO_BIG, "inode 12" },
	{ damage_enormous, EXT2MB_ET_ORPHAN_TOO_BIG, "inode 12" },
	{ damage_odd, EXT2MB_ET_ORPHAN_FILE, "inode 12" },
	{ damage_empty, EXT2MB_ET_ORPHAN_FILE, "inode 12" },
	{ damage_no_inode, EXT2MB_ET_ORPHAN_FILE, "inode 0" },
	{ damage_inode_beyond, EXT2MB_ET_ORPHAN_FILE, "inode 4105" },
	{ damage_directory, EXT2MB_ET_ORPHAN_FILE, "inode 11" },
	{ damage_journal, EXT2MB_ET_NEEDS_RECOVERY, "" },
	{ damage_circle, EXT2MB_ET_ORPHAN_LIST, "on the superblock's list" },
	{ damage_list_beyond, EXT2MB_ET_ORPHAN_LIST, "inode 2345678 on the superblock's list" },
	{ damage_list_reserved, EXT2MB_ET_ORPHAN_LIST, "inode 2 on the superblock's list" },
};
#define DAMAGES ((int)(sizeof(damages) / sizeof(*damages)))

START_TEST(test_open)
{
	struct ext2mb_orphans *orphans = NULL;
	char why[128] = "?";
	ext2_filsys fs;

	mb_image_make("-t ext4 -b 1024 -N 4096 -O orphan_file", "20M");
	fs = mb_image_open();
	ck_assert_ok(ext2fs_read_bitmaps(fs));
	damages[_i].damage(fs);
	ck_assert_error(ext2mb_orphan_open(fs, NULL, why, sizeof(why), &orphans), damages[_i].error);
	ck_assert_msg(strstr(why, damages[_i].why) != NULL, "why: %s", why);
	ck_assert_error(ext2mb_orphan_open(fs, NULL, why, 5, &orphans), damages[_i].error);
	ck_assert_uint_lt(strlen(why), 5);
	ck_assert_error(ext2mb_orphan_open(fs, NULL, NULL, 0, &orphans), damages[_i].error);
	ck_assert_ptr_null(orphans);
	ck_assert_ok(ext2fs_close(fs));
}
END_TEST

/* --- what releasing refuses --------------------------------------------------------------------------------- */

static ext2_ino_t spoil_inode(ext2_filsys fs, struct ext2_inode *spoiled)
{
	ext2_ino_t ino = new_file(fs, 0);

	spoiled->i_mode = LINUX_S_IFREG | 0644;
	spoiled->i_blocks = 2;
	ck_assert_ok(ext2fs_write_inode(fs, ino, spoiled));
	return ino;
}

static ext2_ino_t spoil_unused(ext2_filsys fs)
{
	return fs->super->s_inodes_count;
}

static ext2_ino_t spoil_range(ext2_filsys fs)
{
	return spoil_inode(fs, &(struct ext2_inode){ .i_block = { 4000000000u } });
}

static ext2_ino_t spoil_metadata(ext2_filsys fs)
{
	uint32_t block = (uint32_t)ext2fs_inode_table_loc(fs, 0) + 3;

	return spoil_inode(fs, &(struct ext2_inode){ .i_block = { 0, 0, block } });
}

static ext2_ino_t spoil_xattr_block(ext2_filsys fs)
{
	return spoil_inode(fs, &(struct ext2_inode){ .i_file_acl = 4000000000u });
}

/* A triple indirect block that is its own child, and its children's. */
static ext2_ino_t spoil_indirect(ext2_filsys fs)
{
	uint32_t block = (uint32_t)ext2fs_blocks_count(fs->super) - 10;
	uint32_t bytes[256];

	for (int entry = 0; entry < 256; entry++)
		bytes[entry] = block;
	ck_assert_ok(io_channel_write_blk64(fs->io, block, 1, bytes));
	return spoil_inode(fs, &(struct ext2_inode){ .i_block = { [EXT2_TIND_BLOCK] = block } });
}

/* Nothing is in that block. */
static ext2_ino_t spoil_xattr_bytes(ext2_filsys fs)
{
	return spoil_inode(fs, &(struct ext2_inode){ .i_file_acl = (uint32_t)ext2fs_blocks_count(fs->super) - 10 });
}

/* An xattr whose value is said to be in an inode that is an ordinary file. */
static ext2_ino_t spoil_value(ext2_filsys fs)
{
	const struct xattr xattr = { "user.key", "value", 5, new_file(fs, 1), 0 };
	const struct xattr_layout layout = { .in_inode = 1, .in_value_inode = 1 };
	ext2_ino_t ino = new_file(fs, 0);
	struct ondisk_format format;
	uint8_t bytes[256];

	ck_assert_ok(ondisk_format_read(fs->super, &format));
	ck_assert_ok(ext2fs_read_inode_full(fs, ino, (struct ext2_inode *)bytes, sizeof(bytes)));
	((struct ext2_inode_large *)bytes)->i_extra_isize = format.extra_isize;
	ck_assert_ok(xattr_encode_inode(&format, &xattr, 1, &layout, bytes + 128 + format.extra_isize));
	ck_assert_ok(ext2fs_write_inode_full(fs, ino, (struct ext2_inode *)bytes, sizeof(bytes)));
	return ino;
}

static const struct {
	ext2_ino_t (*spoil)(ext2_filsys fs);
	const char *options;
	errcode_t error;
} spoils[] = {
	{ spoil_unused, "", EXT2MB_ET_ORPHAN_INODE },         { spoil_range, "", EXT2MB_ET_ORPHAN_INODE },
	{ spoil_metadata, "", EXT2MB_ET_ORPHAN_INODE },       { spoil_xattr_block, "", EXT2MB_ET_ORPHAN_INODE },
	{ spoil_indirect, "", EXT2MB_ET_ORPHAN_INODE },       { spoil_xattr_bytes, "", EXT2MB_ET_ORPHAN_INODE },
	{ spoil_value, ",ea_inode", EXT2MB_ET_ORPHAN_INODE },
};
#define SPOILS ((int)(sizeof(spoils) / sizeof(*spoils)))

/* The one before it is released, and it stays as it is, as do those behind it. */
START_TEST(test_release)
{
	struct ext2mb_orphan_released counts = { .struct_bytes = sizeof(counts) };
	struct ext2mb_orphans *orphans;
	uint32_t index, first = 0;
	struct ext2_inode before, after;
	char options[128], why[64] = "", expected[64];
	ext2_filsys fs;

	snprintf(options, sizeof(options), "-t ext4 -b 1024 -N 4096 -O ^orphan_file%s", spoils[_i].options);
	mb_image_make(options, "20M");
	fs = mb_image_open();
	ck_assert_ok(ext2fs_read_bitmaps(fs));
	ck_assert_ok(ext2mb_orphan_open(fs, NULL, why, sizeof(why), &orphans));
	ck_assert_ok(ext2mb_orphan_add(orphans, 0, new_file(fs, 0), &index));
	ext2_ino_t ino = spoils[_i].spoil(fs);
	ck_assert_ok(ext2mb_orphan_add(orphans, 0, ino, &index));
	ck_assert_ok(ext2mb_orphan_add(orphans, 0, new_file(fs, 0), &index));
	ck_assert_ok(ext2fs_flush(fs));
	ck_assert_ok(ext2fs_flush_icache(fs)); /* it holds what was written, not the checksum that went with it */
	ck_assert_ok(ext2fs_read_inode(fs, ino, &before));

	ck_assert_error(ext2mb_orphan_release(orphans, &counts, why, sizeof(why)), spoils[_i].error);
	snprintf(expected, sizeof(expected), "inode %u", ino);
	ck_assert_str_eq(why, expected);
	ck_assert_uint_eq(counts.deleted, 1);
	ck_assert_uint_eq(ext2mb_orphan_next(orphans, &first), ino);
	ck_assert_ok(ext2fs_read_inode(fs, ino, &after));
	ck_assert_int_eq(memcmp(&before, &after, sizeof(before)), 0);
	ext2mb_orphan_close(orphans);
	ck_assert_ok(ext2fs_close(fs));
}
END_TEST

/* e2fsck -E journal_only releases orphans, and leaves their entries in the file. */
START_TEST(test_released_before)
{
	struct ext2mb_orphan_released counts = { .struct_bytes = sizeof(counts) };
	struct ext2mb_orphans *orphans;
	uint32_t index, first = 0;
	ext2_filsys fs;

	mb_image_make("-t ext4 -b 1024 -N 4096 -O orphan_file", "20M");
	fs = mb_image_open();
	ck_assert_ok(ext2fs_read_bitmaps(fs));
	ck_assert_ok(ext2mb_orphan_open(fs, NULL, NULL, 0, &orphans));
	ext2_ino_t gone = new_file(fs, 0);

	ck_assert_ok(ext2mb_orphan_add(orphans, 0, gone, &index));
	ck_assert_ok(ext2mb_orphan_add(orphans, 0, new_file(fs, 0), &index));
	ck_assert_ok(ext2fs_write_inode(fs, gone, &(struct ext2_inode){ .i_dtime = 1700000000 }));
	ext2fs_inode_alloc_stats2(fs, gone, -1, 0);
	ck_assert_ok(ext2fs_flush(fs));
	ck_assert_ok(ext2mb_orphan_release(orphans, &counts, NULL, 0));
	ck_assert_uint_eq(counts.deleted, 1);
	ck_assert_uint_eq(ext2mb_orphan_next(orphans, &first), 0);
	ck_assert_ok(ext2mb_orphan_sync(orphans));
	ext2mb_orphan_close(orphans);
	ck_assert_ok(ext2fs_close(fs));
	mb_image_check();
}
END_TEST

/* The quota file of groups has lost its header. */
START_TEST(test_quota)
{
	const uint8_t zeros[1024] = { 0 };
	struct ext2mb_orphans *orphans;
	char why[64];
	uint32_t index;
	ext2_filsys fs;
	blk64_t block;

	mb_image_make("-t ext4 -b 1024 -N 4096 -O orphan_file,quota", "20M");
	fs = mb_image_open();
	ck_assert_ok(ext2fs_read_bitmaps(fs));
	ck_assert_ok(ext2fs_bmap2(fs, fs->super->s_grp_quota_inum, NULL, NULL, 0, 0, NULL, &block));
	ck_assert_ok(io_channel_write_blk64(fs->io, block, 1, zeros));
	ck_assert_ok(ext2mb_orphan_open(fs, NULL, NULL, 0, &orphans));
	ck_assert_ok(ext2mb_orphan_add(orphans, 0, new_file(fs, 0), &index));
	ck_assert_ok(ext2fs_flush(fs));
	ck_assert_error(ext2mb_orphan_release(orphans, NULL, why, sizeof(why)), EXT2MB_ET_QUOTA_FILE);
	ck_assert_str_eq(why, "inode 4, a quota file");
	ext2mb_orphan_close(orphans);
	ck_assert_ok(ext2fs_close(fs));
}
END_TEST

static Suite *orphan_damage_suite(void)
{
	Suite *suite = suite_create("orphan_damage");
	TCase *damage = tcase_create("damage");

	tcase_add_unchecked_fixture(damage, mb_image_setup, mb_image_teardown);
	tcase_set_timeout(damage, 60);
	tcase_add_loop_test(damage, test_open, 0, DAMAGES);
	tcase_add_loop_test(damage, test_release, 0, SPOILS);
	tcase_add_test(damage, test_released_before);
	tcase_add_test(damage, test_quota);
	suite_add_tcase(suite, damage);
	return suite;
}

int main(void)
{
	return run_suite(orphan_damage_suite());
}
