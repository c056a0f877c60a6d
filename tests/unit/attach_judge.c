/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "attach_judge.h"

#include <string.h>

struct recount {
	ext2_filsys fs;
	ext2fs_block_bitmap map;
	const char *after;
	ext2_ino_t ino;
};

static void refer(struct recount *recount, uint64_t block)
{
	bool was_used = ext2fs_mark_block_bitmap2(recount->map, block) != 0;

	/* Inode 7 refers to what is reserved for descriptors. */
	if (was_used && !ext2fs_has_feature_bigalloc(recount->fs->super) && recount->ino != EXT2_RESIZE_INO)
		ck_abort_msg("after %s: block %llu of inode %u is another's, too", recount->after,
		             (unsigned long long)block, recount->ino);
}

static int refer_to_block(ext2_filsys fs, blk64_t *block, e2_blkcnt_t count, blk64_t reference, int offset,
                          void *context)
{
	(void)fs;
	(void)count;
	(void)reference;
	(void)offset;
	refer(context, *block);
	return 0;
}

static void refer_to_metadata(struct recount *recount)
{
	ext2_filsys fs = recount->fs;

	for (dgrp_t group = 0; group < fs->group_desc_count; group++) {
		ext2fs_reserve_super_and_bgd(fs, group, recount->map);
		ext2fs_mark_block_bitmap2(recount->map, ext2fs_block_bitmap_loc(fs, group));
		ext2fs_mark_block_bitmap2(recount->map, ext2fs_inode_bitmap_loc(fs, group));
		ext2fs_mark_block_bitmap_range2(recount->map, ext2fs_inode_table_loc(fs, group),
		                                fs->inode_blocks_per_group);
	}
}

static void refer_to_files(struct recount *recount)
{
	ext2_filsys fs = recount->fs;

	for (ext2_ino_t ino = 1; ino <= fs->super->s_inodes_count; ino++) {
		struct ext2_inode inode;

		if (!ext2fs_test_inode_bitmap2(fs->inode_map, ino))
			continue;
		recount->ino = ino;
		ck_assert_ok(ext2fs_read_inode(fs, ino, &inode));
		if (ext2fs_file_acl_block(fs, &inode))
			refer(recount, ext2fs_file_acl_block(fs, &inode));
		if (ext2fs_inode_has_valid_blocks2(fs, &inode))
			ck_assert_ok(
				ext2fs_block_iterate3(fs, ino, BLOCK_FLAG_READ_ONLY, NULL, refer_to_block, recount));
	}
}

static ext2fs_block_bitmap recount_all(ext2_filsys fs, ext2fs_block_bitmap owned, const char *after)
{
	struct recount recount = { .fs = fs, .after = after };

	ck_assert_ok(ext2fs_allocate_block_bitmap(fs, "recount", &recount.map));
	refer_to_metadata(&recount);
	refer_to_files(&recount);
	for (uint64_t block = fs->super->s_first_data_block; owned && block < ext2fs_blocks_count(fs->super);
	     block += (uint64_t)EXT2FS_CLUSTER_RATIO(fs))
		if (ext2fs_test_block_bitmap2(owned, block))
			refer(&recount, block);
	return recount.map;
}

static void judge_group(ext2_filsys fs, ext2fs_block_bitmap expected, dgrp_t group, const char *after)
{
	uint64_t start = ext2fs_group_first_block2(fs, group), free_clusters = 0;

	for (uint64_t block = start; block <= ext2fs_group_last_block2(fs, group);
	     block += (uint64_t)EXT2FS_CLUSTER_RATIO(fs)) {
		bool is_used = ext2fs_test_block_bitmap2(fs->block_map, block);
		bool is_expected = ext2fs_test_block_bitmap2(expected, block);

		if (is_used != is_expected)
			ck_abort_msg("after %s: block %llu is %s in the map", after, (unsigned long long)block,
			             is_used ? "used" : "free");
		free_clusters += !is_used;
	}
	if (ext2fs_bg_free_blocks_count(fs, group) != free_clusters)
		ck_abort_msg("after %s: group %u: %u free, not %llu", after, group,
		             ext2fs_bg_free_blocks_count(fs, group), (unsigned long long)free_clusters);
	if (ext2fs_has_group_desc_csum(fs) && !ext2fs_group_desc_csum_verify(fs, group))
		ck_abort_msg("after %s: group %u: wrong checksum", after, group);
}

/* A group that is said to be unused has its own metadata and nothing else. */
static void judge_unused(ext2_filsys fs, const char *after)
{
	struct recount recount = { .fs = fs, .after = after };

	if (!ext2fs_has_group_desc_csum(fs))
		return;
	ck_assert_ok(ext2fs_allocate_block_bitmap(fs, "metadata", &recount.map));
	refer_to_metadata(&recount);
	for (dgrp_t group = 0; group < fs->group_desc_count; group++) {
		if (!ext2fs_bg_flags_test(fs, group, EXT2_BG_BLOCK_UNINIT))
			continue;
		for (uint64_t block = ext2fs_group_first_block2(fs, group);
		     block <= ext2fs_group_last_block2(fs, group); block += (uint64_t)EXT2FS_CLUSTER_RATIO(fs))
			if (ext2fs_test_block_bitmap2(fs->block_map, block) &&
			    !ext2fs_test_block_bitmap2(recount.map, block))
				ck_abort_msg("after %s: group %u is said to be unused", after, group);
	}
	ext2fs_free_block_bitmap(recount.map);
}

void attach_judge(ext2_filsys fs, ext2fs_block_bitmap owned, const char *after)
{
	ext2fs_block_bitmap expected = recount_all(fs, owned, after);
	uint64_t sum = 0;

	for (dgrp_t group = 0; group < fs->group_desc_count; group++) {
		judge_group(fs, expected, group, after);
		sum += ext2fs_bg_free_blocks_count(fs, group);
	}
	judge_unused(fs, after);
	if (ext2fs_free_blocks_count(fs->super) != sum << fs->cluster_ratio_bits)
		ck_abort_msg("after %s: the superblock counts %llu free blocks, not %llu", after,
		             (unsigned long long)ext2fs_free_blocks_count(fs->super),
		             (unsigned long long)sum << fs->cluster_ratio_bits);
	ext2fs_free_block_bitmap(expected);
}

uint64_t attach_free_lost(ext2_filsys fs, ext2fs_block_bitmap owned)
{
	ext2fs_block_bitmap expected = recount_all(fs, owned, "a failure");
	uint64_t lost = 0;

	for (uint64_t block = fs->super->s_first_data_block; block < ext2fs_blocks_count(fs->super);
	     block += (uint64_t)EXT2FS_CLUSTER_RATIO(fs))
		if (ext2fs_test_block_bitmap2(fs->block_map, block) && !ext2fs_test_block_bitmap2(expected, block)) {
			ext2fs_block_alloc_stats2(fs, block, -1);
			lost++;
		}
	ext2fs_free_block_bitmap(expected);
	return lost;
}

void attach_check_books(ext2_filsys fs)
{
	if (ext2mb_attached(fs))
		mb_check(ext2mb_attached(fs));
}

ext2_filsys attach_open_image(const char *mke2fs_options, const char *size)
{
	mb_image_make(mke2fs_options, size);
	ext2_filsys fs = mb_image_open();
	ck_assert_ok(ext2fs_read_bitmaps(fs));
	ck_assert_ok(ext2mb_attach(fs, NULL));
	return fs;
}
