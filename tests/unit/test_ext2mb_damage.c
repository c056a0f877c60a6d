/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Filesystems that are not what they say: a group that cannot be believed is left out, the rest goes on. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "mb_image.h"
#include "seeded_random.h"
#include "unit.h"

#define GROUP_BLOCKS 2048
#define VICTIM 5

/* Moves a bit that is set to the next place: the count stays right, only a checksum can tell. */
static void move_bit(ext2_filsys fs, blk64_t block, unsigned int bit)
{
	uint8_t bytes[4096];

	ck_assert_ok(io_channel_read_blk64(fs->io, block, 1, bytes));
	ck_assert_int_eq(bytes[bit / 8] >> bit % 8 & 3, 1);
	bytes[bit / 8] ^= (uint8_t)(3 << bit % 8);
	ck_assert_ok(io_channel_write_blk64(fs->io, block, 1, bytes));
}

static void damage_block_bitmap(ext2_filsys fs)
{
	move_bit(fs, ext2fs_block_bitmap_loc(fs, VICTIM), 1900);
}

/* Count and checksum are right, but a block of the inode table is said to be free. */
static void damage_free_metadata(ext2_filsys fs)
{
	blk64_t block = ext2fs_block_bitmap_loc(fs, VICTIM);
	unsigned int table = (unsigned int)(ext2fs_inode_table_loc(fs, VICTIM) - VICTIM * GROUP_BLOCKS);
	uint8_t bytes[4096];

	ck_assert_ok(io_channel_read_blk64(fs->io, block, 1, bytes));
	ck_assert_int_eq(bytes[table / 8] >> table % 8 & 1, 1);
	ck_assert_int_eq(bytes[1901 / 8] >> 1901 % 8 & 1, 0);
	bytes[table / 8] ^= (uint8_t)(1 << table % 8);
	bytes[1901 / 8] |= (uint8_t)(1 << 1901 % 8);
	ck_assert_ok(io_channel_write_blk64(fs->io, block, 1, bytes));
	ck_assert_ok(ext2fs_block_bitmap_csum_set(fs, VICTIM, (char *)bytes, GROUP_BLOCKS / 8));
}

static void damage_inode_bitmap(ext2_filsys fs)
{
	move_bit(fs, ext2fs_inode_bitmap_loc(fs, VICTIM), 8);
}

static void damage_free_blocks(ext2_filsys fs)
{
	ext2fs_bg_free_blocks_count_set(fs, VICTIM, ext2fs_bg_free_blocks_count(fs, VICTIM) - 1);
}

static void damage_free_inodes(ext2_filsys fs)
{
	ext2fs_bg_free_inodes_count_set(fs, VICTIM, ext2fs_bg_free_inodes_count(fs, VICTIM) - 1);
}

static void damage_too_many_free(ext2_filsys fs)
{
	ext2fs_bg_free_blocks_count_set(fs, VICTIM, GROUP_BLOCKS + 1);
}

static void damage_location_outside(ext2_filsys fs)
{
	ext2fs_block_bitmap_loc_set(fs, VICTIM, ext2fs_blocks_count(fs->super) + 7);
}

static void damage_location_zero(ext2_filsys fs)
{
	ext2fs_inode_bitmap_loc_set(fs, VICTIM, 0);
}

static void damage_table_end(ext2_filsys fs)
{
	ext2fs_inode_table_loc_set(fs, VICTIM, ext2fs_blocks_count(fs->super) - 1);
}

/* On top of another group's inode table: neither of the two can be believed. */
static void damage_location_shared(ext2_filsys fs)
{
	ext2fs_block_bitmap_loc_set(fs, VICTIM, ext2fs_inode_table_loc(fs, VICTIM + 2) + 1);
}

enum { BLOCKS = 1, INODES = 2 };

static const struct {
	void (*damage)(ext2_filsys fs);
	int loses;       /* what of the victim is left out */
	int others_lost; /* groups besides */
	bool keeps_checksum;
} damages[] = {
	{ damage_block_bitmap, BLOCKS, 0, false },
	{ damage_free_metadata, BLOCKS, 0, false },
	{ damage_inode_bitmap, INODES, 0, false },
	{ damage_free_blocks, BLOCKS, 0, false },
	{ damage_free_inodes, INODES, 0, false },
	{ damage_free_inodes, BLOCKS | INODES, 0, true },
	{ damage_too_many_free, BLOCKS | INODES, 0, false },
	{ damage_location_outside, BLOCKS | INODES, 0, false },
	{ damage_location_zero, BLOCKS | INODES, 0, false },
	{ damage_table_end, BLOCKS | INODES, 0, false },
	{ damage_location_shared, BLOCKS | INODES, 1, false },
};

static uint64_t take_all_blocks(struct ext2mb_worker *worker, bool packs, uint64_t groups[])
{
	struct ext2mb_request request = {
		.struct_bytes = sizeof(request),
		.count = 512,
		.flags = packs ? EXT2MB_ALLOC_PACK : 0,
	};
	struct ext2mb_extent extent;
	uint64_t count = 0;
	errcode_t error;

	while (!(error = ext2mb_alloc(worker, &request, &extent))) {
		groups[extent.start / GROUP_BLOCKS] += extent.count;
		count += extent.count;
	}
	ck_assert_error(error, EXT2MB_ET_NO_SPACE);
	return count;
}

static void take_all_inodes(struct ext2mb_worker *worker, bool packs, uint32_t per_group, uint64_t groups[])
{
	struct ext2mb_inode_request request = { .struct_bytes = sizeof(request),
		                                .parent = EXT2_ROOT_INO,
		                                .flags = packs ? EXT2MB_INODE_PACK : 0 };
	ext2_ino_t ino;
	errcode_t error;

	while (!(error = ext2mb_inode_alloc(worker, &request, &ino)))
		groups[(ino - 1) / per_group]++;
	ck_assert_error(error, EXT2MB_ET_NO_INODES);
}

/* Something is in use in the victim, so that its bitmaps are read and not made up. */
static void use_victim(void)
{
	ext2_filsys fs = mb_image_open();

	ck_assert_ok(ext2fs_read_bitmaps(fs));
	ext2fs_block_alloc_stats2(fs, VICTIM * GROUP_BLOCKS + 1900, 1);
	ext2fs_inode_alloc_stats2(fs, VICTIM * fs->super->s_inodes_per_group + 9, 1, 0);
	ck_assert_ok(ext2fs_close(fs));
}

static void go_on_elsewhere(int number, bool packs)
{
	uint64_t blocks[100] = { 0 }, inodes[100] = { 0 };
	struct ext2mb_stats stats = { .struct_bytes = sizeof(stats) };
	struct ext2mb *mb;
	struct ext2mb_worker *worker;

	mb_image_make("-t ext4 -b 4096 -g 2048 -N 6400 -O ^flex_bg,^resize_inode,^has_journal", "200M");
	use_victim();
	ext2_filsys fs = mb_image_open();
	uint32_t inodes_per_group = fs->super->s_inodes_per_group;
	damages[number].damage(fs);
	if (!damages[number].keeps_checksum)
		ext2fs_group_desc_csum_set(fs, VICTIM);
	ck_assert_ok(ext2mb_open(fs, NULL, &mb));
	ck_assert_ok(ext2mb_worker_open(mb, &worker));
	take_all_blocks(worker, packs, blocks);
	take_all_inodes(worker, packs, inodes_per_group, inodes);
	for (uint32_t group = 0; group < fs->group_desc_count; group++) {
		bool is_victim = group == VICTIM || (group == VICTIM + 2 && damages[number].others_lost);

		ck_assert_msg(!blocks[group] == (is_victim && damages[number].loses & BLOCKS), "group %u: %llu blocks",
		              group, (unsigned long long)blocks[group]);
		ck_assert_msg(!inodes[group] == (is_victim && damages[number].loses & INODES), "group %u: %llu inodes",
		              group, (unsigned long long)inodes[group]);
	}
	ck_assert_ok(ext2mb_read_stats(mb, &stats));
	ck_assert_uint_eq(stats.corrupt_groups, 1 + (uint64_t)damages[number].others_lost);
	ck_assert_uint_eq(ext2mb_free_blocks(mb), 0);
	ck_assert_uint_eq(ext2mb_free_inodes(mb), 0);
	if (damages[number].loses & BLOCKS)
		ck_assert_error(ext2mb_free(worker, VICTIM * GROUP_BLOCKS + 1900, 1), EXT2MB_ET_CORRUPT_GROUP);
	mb_check(mb);
	ext2mb_worker_close(worker);
	ext2mb_close(mb);
	ext2fs_free(fs);
}

START_TEST(test_left_out)
{
	go_on_elsewhere(_i, false);
	go_on_elsewhere(_i, true);
}
END_TEST

/* With any superblock and descriptors in memory the result is an error or an allocator that works. */
START_TEST(test_hostile_numbers)
{
	struct random random = random_start("hostile numbers");
	unsigned int opened = 0;

	mb_image_make("-t ext4 -b 1024 -g 1024", "20M");
	for (uint64_t round = 0; round < mb_operations(400); round++) {
		ext2_filsys fs = mb_image_open();
		struct ext2_super_block *super = fs->super;
		uint32_t *const fields[] = {
			&super->s_blocks_count,       &super->s_first_data_block, &super->s_blocks_per_group,
			&super->s_clusters_per_group, &super->s_inodes_per_group, &super->s_inodes_count,
			&super->s_first_ino,          &super->s_first_meta_bg,    &super->s_feature_incompat,
			&super->s_feature_ro_compat,  &super->s_feature_compat,   &super->s_backup_bgs[0],
		};
		uint64_t blocks[20000] = { 0 };
		struct ext2mb *mb;
		struct ext2mb_worker *worker;

		for (uint64_t changes = 1 + random_below(&random, 3); changes; changes--) {
			uint32_t group = (uint32_t)random_below(&random, fs->group_desc_count);
			uint64_t value = random_next(&random) >> random_below(&random, 64);

			switch (random_below(&random, 9)) {
			case 0:
				*fields[random_below(&random, sizeof(fields) / sizeof(*fields))] ^= (uint32_t)value;
				break;
			case 1:
				super->s_reserved_gdt_blocks = (uint16_t)value;
				break;
			case 2:
				super->s_log_groups_per_flex = (uint8_t)value;
				break;
			case 3:
				super->s_mmp_block = value;
				super->s_feature_incompat |= EXT4_FEATURE_INCOMPAT_MMP;
				break;
			case 4:
				ext2fs_block_bitmap_loc_set(fs, group, value);
				break;
			case 5:
				ext2fs_inode_table_loc_set(fs, group, value);
				break;
			case 6:
				ext2fs_bg_free_blocks_count_set(fs, group, (uint32_t)value);
				break;
			case 7:
				ext2fs_bg_flags_set(fs, group, (uint16_t)value);
				break;
			default:
				ext2fs_bg_itable_unused_set(fs, group, (uint32_t)value);
			}
			ext2fs_group_desc_csum_set(fs, group);
		}
		if (!ext2mb_open(fs, NULL, &mb)) {
			opened++;
			ck_assert_ok(ext2mb_worker_open(mb, &worker));
			take_all_blocks(worker, round % 2, blocks);
			mb_check(mb);
			ext2mb_worker_close(worker);
			ext2mb_close(mb);
		}
		ext2fs_free(fs);
	}
	printf("# %u were opened\n", opened);
	ck_assert_uint_gt(opened, 0);
}
END_TEST

/* These are refused: metadata of every kind, unaligned or outlying ranges, unknown flags, short structures. */
START_TEST(test_refusals)
{
	struct ext2mb_options options = { .struct_bytes = 4 };
	struct ext2mb_request request = { .struct_bytes = sizeof(request), .count = 1 };
	struct ext2mb_extent extent;
	struct ext2mb *mb;
	struct ext2mb_worker *worker;

	mb_image_make("-t ext4 -b 4096 -g 2048 -O mmp -E mmp_update_interval=5", "100M");
	ext2_filsys fs;
	ck_assert_ok(ext2fs_open(mb_image_path(), EXT2_FLAG_64BITS | EXT2_FLAG_SKIP_MMP, 0, 0, unix_io_manager, &fs));
	ck_assert_error(ext2mb_open(fs, &options, &mb), EXT2MB_ET_BAD_ARGUMENT);
	ck_assert_ok(ext2mb_open(fs, NULL, &mb));
	ck_assert_ok(ext2mb_worker_open(mb, &worker));

	const blk64_t metadata[] = {
		0,
		1,
		2,
		1 + fs->desc_blocks,
		fs->desc_blocks + fs->super->s_reserved_gdt_blocks,
		ext2fs_block_bitmap_loc(fs, 0),
		ext2fs_block_bitmap_loc(fs, 3),
		ext2fs_inode_bitmap_loc(fs, 3),
		ext2fs_inode_table_loc(fs, 3),
		ext2fs_inode_table_loc(fs, 3) + fs->inode_blocks_per_group - 1,
		fs->super->s_mmp_block,
		3 * GROUP_BLOCKS,
		3 * GROUP_BLOCKS + 1,
	};
	for (size_t index = 0; index < sizeof(metadata) / sizeof(*metadata); index++)
		ck_assert_error(ext2mb_free(worker, metadata[index], 1), EXT2MB_ET_METADATA_FREE);
	/* The root directory's block is in use and nobody's metadata. */
	struct ext2_inode root;
	ck_assert_ok(ext2fs_read_inode(fs, EXT2_ROOT_INO, &root));
	blk64_t block;
	ck_assert_ok(ext2fs_bmap2(fs, EXT2_ROOT_INO, &root, NULL, 0, 0, NULL, &block));
	ck_assert_ok(ext2mb_free(worker, block, 1));
	ck_assert_error(ext2mb_free(worker, block, 1), EXT2MB_ET_DOUBLE_FREE);
	ck_assert_ok(ext2mb_commit(mb));
	ck_assert_error(ext2mb_free(worker, block, 1), EXT2MB_ET_DOUBLE_FREE);

	uint64_t end = ext2fs_blocks_count(fs->super);
	ck_assert_error(ext2mb_free(worker, end, 1), EXT2MB_ET_BAD_RANGE);
	ck_assert_error(ext2mb_free(worker, end - 1, 2), EXT2MB_ET_BAD_RANGE);
	ck_assert_error(ext2mb_free(worker, end - 1, UINT64_MAX), EXT2MB_ET_BAD_RANGE);
	ck_assert_error(ext2mb_free(worker, UINT64_MAX, 1), EXT2MB_ET_BAD_RANGE);
	ck_assert_error(ext2mb_free(worker, 100, 0), EXT2MB_ET_BAD_RANGE);

	request.flags = 0x8000;
	ck_assert_error(ext2mb_alloc(worker, &request, &extent), EXT2MB_ET_BAD_ARGUMENT);
	request.flags = 0;
	request.count = 0;
	ck_assert_error(ext2mb_alloc(worker, &request, &extent), EXT2MB_ET_BAD_ARGUMENT);
	request.count = UINT64_MAX;
	request.goal = UINT64_MAX;
	ck_assert_ok(ext2mb_alloc(worker, &request, &extent));
	request.flags = EXT2MB_ALLOC_PACK;
	ck_assert_error(ext2mb_alloc(worker, &request, &extent), EXT2MB_ET_NO_SPACE);
	request.struct_bytes = 4;
	ck_assert_error(ext2mb_alloc(worker, &request, &extent), EXT2MB_ET_BAD_ARGUMENT);
	ck_assert_error(ext2mb_sync(mb), EXT2_ET_RO_FILSYS);
	ext2mb_worker_close(worker);
	ext2mb_close(mb);
	ext2fs_free(fs);
}
END_TEST

static Suite *damage_suite(void)
{
	Suite *suite = suite_create("ext2mb_damage");
	TCase *damage = tcase_create("damage");

	tcase_add_unchecked_fixture(damage, mb_image_setup, mb_image_teardown);
	tcase_set_timeout(damage, 3600);
	tcase_add_loop_test(damage, test_left_out, 0, sizeof(damages) / sizeof(*damages));
	tcase_add_test(damage, test_hostile_numbers);
	tcase_add_test(damage, test_refusals);
	suite_add_tcase(suite, damage);
	return suite;
}

int main(void)
{
	return run_suite(damage_suite());
}
