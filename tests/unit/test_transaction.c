/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which write goes where, and when: on real images, looking at the file below. Crashes are in tests/transaction-crash.
 */
#include <pthread.h>
#include <string.h>

#include "transaction_image.h"
#include "unit.h"

#define EXT4_1K "-t ext4 -b 1024 -O ^orphan_file -J size=1 -N 128"
#define EXT4_4K "-t ext4 -b 4096 -O ^orphan_file -J size=4 -N 128"

static bool is_marked_on_disk(ext2_filsys fs)
{
	const uint8_t *block = block_on_disk(fs, 1024 / fs->blocksize);
	const struct ext2_super_block *super = (const void *)(block + 1024 % fs->blocksize);

	return ext2fs_le32_to_cpu(super->s_feature_incompat) & EXT3_FEATURE_INCOMPAT_RECOVER;
}

START_TEST(test_order)
{
	mb_image_make(_i ? EXT4_4K : EXT4_1K, "16M");
	ext2_filsys fs = transaction_image_open(0);
	blk64_t free_block = some_free_block(fs), used = some_used_block(fs);
	uint64_t sequence = transaction_image_info(fs).next_sequence;

	ck_assert_ok(block_fill(fs, free_block, 1));
	ck_assert(is_filled_on_disk(fs, free_block, 1));
	ck_assert_ok(block_fill(fs, used, 2));
	ck_assert(!is_filled_on_disk(fs, used, 2));
	ck_assert_uint_eq(block_read(fs, used)[0], 2);
	ck_assert_ok(ext2fs_flush(fs));
	ck_assert_ok(io_channel_flush(fs->io));
	ck_assert(!is_filled_on_disk(fs, used, 2));
	ck_assert(!is_marked_on_disk(fs));
	ck_assert_ok(ext2mb_transaction_commit(fs));
	ck_assert(is_filled_on_disk(fs, used, 2));
	ck_assert(is_marked_on_disk(fs));
	ck_assert(!ext2fs_has_feature_journal_needs_recovery(fs->super));

	/* Still in use, so held again; what was free still is. */
	ck_assert_ok(block_fill(fs, used, 0));
	ck_assert(is_filled_on_disk(fs, used, 2));
	ck_assert_ok(block_fill(fs, free_block, 3));
	ck_assert(is_filled_on_disk(fs, free_block, 3));
	ck_assert_uint_eq(transaction_image_info(fs).next_sequence, sequence + 1);
	ck_assert_uint_eq(transaction_image_info(fs).direct_blocks, 2);
	ck_assert_ok(ext2mb_transaction_abort(fs));
	ext2fs_free(fs);
	fs = mb_image_open();
	ck_assert(!is_marked_on_disk(fs));
	ck_assert(is_filled_on_disk(fs, used, 2));
	ck_assert_ok(ext2fs_close(fs));
}
END_TEST

/* What was free and is now in use goes through the journal; what was in use and is now free, too, until a commit. */
START_TEST(test_bitmap_of_commit)
{
	mb_image_make(EXT4_1K, "16M");
	ext2_filsys fs = transaction_image_open(0);
	blk64_t block = some_free_block(fs);

	for (int round = 1; round < 4; round++) {
		ext2fs_block_alloc_stats2(fs, block, +1);
		ck_assert_ok(block_fill(fs, block, round));
		ck_assert(is_filled_on_disk(fs, block, round));
		ck_assert_ok(ext2mb_transaction_commit(fs));
		ext2fs_block_alloc_stats2(fs, block, -1);
		ck_assert_ok(block_fill(fs, block, 100 + round));
		ck_assert(is_filled_on_disk(fs, block, round));
		ck_assert_ok(ext2mb_transaction_commit(fs));
		ck_assert(is_filled_on_disk(fs, block, 100 + round));
	}
	ck_assert_ok(ext2fs_close(fs));
	mb_image_check();
}
END_TEST

/* In the log a block that begins with the journal's magic number does not; where it belongs, and in memory, it does. */
START_TEST(test_escaping)
{
	static const uint8_t magic[] = { 0xc0, 0x3b, 0x39, 0x98, 1 };
	uint8_t data[1024] = { 0 };
	blk64_t logged;

	mb_image_make(EXT4_1K, "16M");
	ext2_filsys fs = transaction_image_open(0);
	blk64_t used = some_used_block(fs);

	memcpy(data, magic, sizeof(magic));
	ck_assert_ok(io_channel_write_blk64(fs->io, used, 1, data));
	ck_assert_ok(ext2mb_transaction_commit(fs));
	ck_assert_ok(ext2fs_bmap2(fs, EXT2_JOURNAL_INO, NULL, NULL, 0, 2, NULL, &logged));
	ck_assert_mem_eq(block_on_disk(fs, logged), "\0\0\0\0\1\0", 6);
	ck_assert_mem_eq(block_on_disk(fs, used), data, sizeof(data));
	ck_assert_mem_eq(block_read(fs, used), data, sizeof(data));
	ext2fs_free(fs);
}
END_TEST

/* In a group without a bitmap, whatever lies there; its metadata is in use. */
START_TEST(test_uninit_group)
{
	mb_image_make("-t ext4 -b 1024 -O ^flex_bg,^orphan_file -J size=1 -N 128", "40M");
	ext2_filsys fs = mb_image_open();
	dgrp_t group = 1;

	/* The emptiest one has only its metadata. Whether mke2fs says so of it depends on its version. */
	for (dgrp_t other = 2; other < fs->group_desc_count; other++)
		if (ext2fs_bg_free_blocks_count(fs, other) > ext2fs_bg_free_blocks_count(fs, group))
			group = other;
	ext2fs_bg_flags_set(fs, group, EXT2_BG_BLOCK_UNINIT);
	ext2fs_group_desc_csum_set(fs, group);
	ext2fs_mark_super_dirty(fs);
	blk64_t first = ext2fs_group_first_block2(fs, group), bitmap = ext2fs_block_bitmap_loc(fs, group);

	ck_assert_ok(block_fill(fs, bitmap, 0xff));
	ck_assert_ok(ext2fs_close(fs));
	fs = transaction_image_open(0);
	ck_assert_ok(block_fill(fs, first + 3000, 7));
	ck_assert(is_filled_on_disk(fs, first + 3000, 7));
	ck_assert_ok(block_fill(fs, ext2fs_inode_table_loc(fs, group), 7));
	ck_assert(!is_filled_on_disk(fs, ext2fs_inode_table_loc(fs, group), 7));
	ck_assert_ok(block_fill(fs, bitmap, 7));
	ck_assert(!is_filled_on_disk(fs, bitmap, 7));
	ck_assert_ok(ext2mb_transaction_abort(fs));
	ext2fs_free(fs);
}
END_TEST

static void write_pieces(ext2_filsys fs, blk64_t block, uint8_t *expected)
{
	uint8_t data[4096];

	memset(data, 0x55, sizeof(data));
	ck_assert_ok(io_channel_write_byte(fs->io, (unsigned long)(block * 4096 + 100), 50, data));
	memset(expected + 100, 0x55, 50);
	ck_assert_ok(io_channel_write_blk64(fs->io, block, -10, data));
	memset(expected, 0x55, 10);
	ck_assert_ok(io_channel_set_blksize(fs->io, 1024));
	ck_assert_ok(io_channel_write_blk64(fs->io, block * 4 + 3, 3, data));
	memset(expected + 3072, 0x55, 3072);
	ck_assert_ok(io_channel_set_blksize(fs->io, 4096));
}

/* Bytes, negative counts, other block sizes, across blocks: of which one is in use, and the next one free. */
START_TEST(test_pieces)
{
	mb_image_make(EXT4_4K, "16M");
	ext2_filsys fs = transaction_image_open(0);
	uint8_t expected[8192], read[8192];
	blk64_t block = _i ? some_used_block(fs) : some_free_block(fs);

	if (!_i)
		ext2fs_block_alloc_stats2(fs, block, +1);
	ck_assert_ok(ext2mb_transaction_commit(fs));
	ck_assert_int_eq(!!ext2fs_test_block_bitmap2(fs->block_map, block + 1), _i);
	ck_assert_ok(io_channel_read_blk64(fs->io, block, 2, expected));
	write_pieces(fs, block, expected);
	ck_assert_ok(io_channel_read_blk64(fs->io, block, 2, read));
	ck_assert_mem_eq(read, expected, sizeof(read));
	ck_assert_ok(io_channel_read_blk64(fs->io, block, -5000, read));
	ck_assert_mem_eq(read, expected, 5000);
	ck_assert_mem_ne(block_on_disk(fs, block), expected, 4096);
	if (!_i)
		ck_assert_mem_eq(block_on_disk(fs, block + 1), expected + 4096, 4096);
	ck_assert_ok(ext2mb_transaction_commit(fs));
	ck_assert_mem_eq(block_on_disk(fs, block), expected, 4096);
	ck_assert_mem_eq(block_on_disk(fs, block + 1), expected + 4096, 4096);
	ext2fs_free(fs);
}
END_TEST

START_TEST(test_unchanged)
{
	mb_image_make(EXT4_1K, "16M");
	ext2_filsys fs = transaction_image_open(0);
	blk64_t used = some_used_block(fs);
	uint8_t data[1024];

	memcpy(data, block_read(fs, used), sizeof(data));
	uint64_t sequence = transaction_image_info(fs).next_sequence;

	ck_assert_ok(block_fill(fs, used, 9));
	ck_assert_ok(io_channel_write_blk64(fs->io, used, 1, data));
	ck_assert_uint_eq(transaction_image_info(fs).held_blocks, 1);
	ck_assert_ok(ext2mb_transaction_commit(fs));
	struct ext2mb_transaction_info info = transaction_image_info(fs);

	ck_assert_uint_eq(info.next_sequence, sequence);
	ck_assert_uint_eq(info.unchanged_blocks, 1);
	ck_assert_uint_eq(info.logged_blocks, 0);
	ck_assert_uint_eq(info.held_blocks, 0);
	ck_assert(!is_marked_on_disk(fs));
	ck_assert_ok(ext2fs_close(fs));
}
END_TEST

START_TEST(test_zeroing)
{
	mb_image_make(EXT4_1K, "16M");
	ext2_filsys fs = transaction_image_open(0);
	blk64_t free_block = some_free_block(fs), used = some_used_block(fs);

	ck_assert_ok(block_fill(fs, free_block, 1));
	ck_assert_ok(block_fill(fs, free_block + 1, 1));
	ck_assert_ok(io_channel_zeroout(fs->io, free_block, 2));
	ck_assert(is_filled_on_disk(fs, free_block, 0) && is_filled_on_disk(fs, free_block + 1, 0));
	ck_assert_ok(io_channel_zeroout(fs->io, used, 1));
	ck_assert(!is_filled_on_disk(fs, used, 0) || block_read(fs, used)[0] == 0);
	ck_assert_uint_eq(transaction_image_info(fs).held_blocks, 1);
	ck_assert_ok(ext2mb_transaction_commit(fs));
	ck_assert(is_filled_on_disk(fs, used, 0));
	ck_assert_ok(ext2fs_close(fs));
}
END_TEST

/* A discard waits for the commit; what is written after it, or in use by then, stays. */
START_TEST(test_discard)
{
	mb_image_make(EXT4_1K, "16M");
	ext2_filsys fs = transaction_image_open(0);
	blk64_t block = some_free_block(fs);

	for (int index = 0; index < 4; index++)
		ck_assert_ok(block_fill(fs, block + (blk64_t)index, 1));
	ck_assert_ok(io_channel_discard(fs->io, block, 4));
	ck_assert(is_filled_on_disk(fs, block, 1) && is_filled_on_disk(fs, block + 3, 1));
	ck_assert_ok(block_fill(fs, block + 1, 2));
	ext2fs_block_alloc_stats2(fs, block + 2, +1);
	ck_assert_ok(ext2mb_transaction_commit(fs));
	ck_assert(is_filled_on_disk(fs, block, 0));
	ck_assert(is_filled_on_disk(fs, block + 1, 2));
	ck_assert(is_filled_on_disk(fs, block + 2, 1));
	ck_assert(is_filled_on_disk(fs, block + 3, 0));
	/* Only once. */
	ck_assert_ok(block_fill(fs, block, 3));
	ck_assert_ok(block_fill(fs, some_used_block(fs), 0xee));
	ck_assert_ok(ext2mb_transaction_commit(fs));
	ck_assert(is_filled_on_disk(fs, block, 3));
	ext2fs_free(fs);
}
END_TEST

/* Backups follow the checkpoint, outside of the log. */
START_TEST(test_backups)
{
	mb_image_make("-t ext4 -b 1024 -O ^orphan_file -J size=1 -N 128 -L before", "16M");
	ext2_filsys fs = transaction_image_open(0);
	blk64_t backup = ext2fs_group_first_block2(fs, 1);
	const struct ext2_super_block *super;

	fs->flags &= ~EXT2_FLAG_MASTER_SB_ONLY;
	memcpy(fs->super->s_volume_name, "after", 6);
	ext2fs_mark_super_dirty(fs);
	ck_assert_ok(ext2fs_flush(fs));
	ck_assert_ok(ext2mb_transaction_commit(fs));
	/* The superblock; its backups are the same but for the group's number. */
	ck_assert_uint_eq(transaction_image_info(fs).logged_blocks, 1);
	super = (const void *)block_on_disk(fs, backup);
	ck_assert_str_eq((const char *)super->s_volume_name, "after");
	ck_assert(!(ext2fs_le32_to_cpu(super->s_feature_incompat) & EXT3_FEATURE_INCOMPAT_RECOVER));
	ck_assert_ok(ext2fs_close(fs));
	mb_image_check();
}
END_TEST

START_TEST(test_mmp)
{
	mb_image_make("-t ext4 -b 1024 -O mmp,^orphan_file -J size=1 -N 128 -E mmp_update_interval=1", "16M");
	ext2_filsys fs;

	ck_assert_ok(ext2fs_open(mb_image_path(), EXT2_FLAG_RW | EXT2_FLAG_64BITS | EXT2_FLAG_SKIP_MMP, 0, 0,
	                         ext2mb_transaction_io_manager(0), &fs));
	uint64_t commits = transaction_image_info(fs).commits;

	ck_assert_ok(block_fill(fs, fs->super->s_mmp_block, 5));
	ck_assert(is_filled_on_disk(fs, fs->super->s_mmp_block, 5));
	ck_assert_uint_eq(transaction_image_info(fs).commits, commits);
	ck_assert_uint_eq(transaction_image_info(fs).held_blocks, 0);
	ext2fs_free(fs);
}
END_TEST

/* After a failure nothing is written but this block: that nobody has the filesystem open any more. */
START_TEST(test_mmp_after_failure)
{
	mb_image_make("-t ext4 -b 1024 -O mmp,^orphan_file -J size=1 -N 128 -E mmp_update_interval=1", "16M");
	ext2_filsys fs;

	ck_assert_ok(ext2fs_open(mb_image_path(), EXT2_FLAG_RW | EXT2_FLAG_64BITS | EXT2_FLAG_SKIP_MMP, 0, 0,
	                         ext2mb_transaction_io_manager(0), &fs));
	blk64_t block = fs->super->s_mmp_block;

	ck_assert_ok(ext2mb_transaction_begin(fs));
	ck_assert_ok(ext2mb_transaction_abort(fs));
	ck_assert_int_eq(block_fill(fs, block - 1, 5), EXT2MB_ET_TRANSACTION_OVER);
	ck_assert_int_eq(block_fill(fs, block + 1, 5), EXT2MB_ET_TRANSACTION_OVER);
	ck_assert_int_eq(io_channel_write_blk64(fs->io, block, 2, block_on_disk(fs, block)),
	                 EXT2MB_ET_TRANSACTION_OVER);
	ck_assert_ok(block_fill(fs, block, 5));
	ck_assert(is_filled_on_disk(fs, block, 5));
	ext2fs_free(fs);
}
END_TEST

START_TEST(test_named_data)
{
	mb_image_make(EXT4_1K, "16M");
	ext2_filsys fs = transaction_image_open(0);
	blk64_t used = some_used_block(fs);

	ck_assert_ok(block_fill(fs, used, 1));
	/* In the log already, where it stays. */
	ck_assert_ok(ext2mb_transaction_name_data(fs, used, 2));
	ck_assert_ok(block_fill(fs, used, 2));
	ck_assert(!is_filled_on_disk(fs, used, 2));
	ck_assert_ok(block_fill(fs, used + 1, 2));
	ck_assert(is_filled_on_disk(fs, used + 1, 2));
	ck_assert_ok(ext2mb_transaction_commit(fs));
	ck_assert_ok(block_fill(fs, used + 1, 3));
	ck_assert(is_filled_on_disk(fs, used + 1, 2));
	ck_assert_error(ext2mb_transaction_name_data(fs, ext2fs_blocks_count(fs->super), 1), EXT2MB_ET_BAD_RANGE);
	ext2fs_free(fs);
}
END_TEST

static void free_one(ext2_filsys fs, blk64_t block)
{
	ext2fs_block_alloc_stats2(fs, block, -1);
}

static void free_range(ext2_filsys fs, blk64_t block)
{
	ext2fs_block_alloc_stats_range(fs, block, 1, -1);
}

static void free_attached(ext2_filsys fs, blk64_t block)
{
	ck_assert_ok(ext2mb_attach(fs, NULL));
	ext2fs_block_alloc_stats2(fs, block, -1);
	ck_assert_ok(ext2mb_detach(fs));
}

static void free_detached(ext2_filsys fs, blk64_t block)
{
	ck_assert_ok(ext2mb_attach(fs, NULL));
	ck_assert_ok(ext2mb_detach(fs));
	ext2fs_block_alloc_stats2(fs, block, -1);
}

static void free_by_allocator(ext2_filsys fs, blk64_t block)
{
	struct ext2mb_worker *worker;
	struct ext2mb *mb;

	ck_assert_ok(ext2mb_open(fs, NULL, &mb));
	ck_assert_ok(ext2mb_worker_open(mb, &worker));
	ck_assert_ok(ext2mb_free(worker, block, 1));
	ext2mb_worker_close(worker);
	ck_assert_ok(ext2mb_close(mb));
}

static void (*const frees[])(ext2_filsys fs, blk64_t block) = { free_one, free_range, free_attached, free_detached,
	                                                        free_by_allocator };

/* A freed block may be a directory's next, so it is not overwritten any more; others still are. */
START_TEST(test_freed_data)
{
	mb_image_make(EXT4_1K, "16M");
	ext2_filsys fs = transaction_image_open(0);
	blk64_t used = some_used_block(fs);

	ck_assert_ok(ext2mb_transaction_name_data(fs, used, 2));
	ck_assert_ok(block_fill(fs, used, 1));
	ck_assert(is_filled_on_disk(fs, used, 1));
	frees[_i](fs, used);
	ck_assert_ok(block_fill(fs, used, 2));
	ck_assert(is_filled_on_disk(fs, used, 1));
	ck_assert_uint_eq(block_read(fs, used)[0], 2);
	ck_assert_ok(block_fill(fs, used + 1, 2));
	/* Before 1.47.4 libext2fs does not say where a range begins. */
	ck_assert(frees[_i] == free_range || is_filled_on_disk(fs, used + 1, 2));
	ck_assert_ok(ext2mb_transaction_abort(fs));
	ext2fs_free(fs);
}
END_TEST

/* So many blocks are in use by nobody; returns the first one. */
static blk64_t take_blocks(ext2_filsys fs, unsigned int count)
{
	blk64_t block;

	ck_assert_ok(ext2fs_get_free_blocks2(fs, 0, 0, (int)count, NULL, &block));
	ext2fs_block_alloc_stats_range(fs, block, count, +1);
	ck_assert_ok(ext2mb_transaction_commit(fs));
	return block;
}

static void overwrite(ext2_filsys fs, blk64_t block, unsigned int count)
{
	for (unsigned int index = 0; index < count; index++)
		ck_assert_ok(block_fill(fs, block + index, 'x'));
}

/*
 * The largest transaction that there can be: with a block more it is refused, and nothing has changed. With and
 * without an area for fast commits at the journal's end, which is not touched.
 */
START_TEST(test_largest)
{
	static const char *const options[] = {
		"-t ext4 -b 1024 -O ^orphan_file -J size=2 -N 128",
		"-t ext4 -b 1024 -O ^orphan_file,fast_commit -J size=2,fast_commit_size=200 -N 128",
	};
	uint8_t kept[1024];
	blk64_t after;

	mb_image_make(options[_i], "32M");
	ext2_filsys fs = transaction_image_open(0);
	uint64_t room = transaction_image_info(fs).journal_blocks;
	/* Descriptors of 61 blocks, and the commit block. */
	unsigned int count = (unsigned int)((room - 1) * 61 / 62);
	blk64_t block = take_blocks(fs, count + 1);

	ck_assert_uint_eq(room, 2048 - 1); /* mke2fs adds the area to it */
	if (_i) {
		ck_assert_ok(ext2fs_bmap2(fs, EXT2_JOURNAL_INO, NULL, NULL, 0, 1 + room, NULL, &after));
		memcpy(kept, block_on_disk(fs, after), sizeof(kept));
	}
	overwrite(fs, block, count);
	ck_assert_uint_le(transaction_image_info(fs).log_blocks, room);
	ck_assert_ok(ext2mb_transaction_commit(fs));
	ck_assert(is_filled_on_disk(fs, block + count - 1, 'x'));
	if (_i)
		ck_assert_mem_eq(kept, block_on_disk(fs, after), sizeof(kept));
	ck_assert_ok(block_fill(fs, block, 'y'));
	for (unsigned int index = 1; index <= count; index++)
		ck_assert_ok(block_fill(fs, block + index, 'y'));
	ck_assert_uint_gt(transaction_image_info(fs).log_blocks, room);
	ck_assert_error(ext2mb_transaction_commit(fs), EXT2MB_ET_TRANSACTION_SIZE);
	ck_assert(is_filled_on_disk(fs, block, 'x') && is_filled_on_disk(fs, block + count - 1, 'x'));
	ck_assert_error(ext2mb_transaction_commit(fs), EXT2MB_ET_TRANSACTION_OVER);
	ext2fs_free(fs);
	fs = transaction_image_open(0);
	ck_assert(is_filled_on_disk(fs, block, 'x'));
	ck_assert_ok(ext2fs_close(fs));
}
END_TEST

struct reader {
	pthread_t thread;
	ext2_filsys fs;
	blk64_t block, free_block;
	errcode_t error;
};

/* Each has a block that is in use and one that is free for itself. */
static void *use_channel(void *argument)
{
	struct reader *reader = argument;
	uint8_t data[1024];

	for (int round = 0; round < 200 && !reader->error; round++) {
		blk64_t block = round % 2 ? reader->block : reader->free_block;

		reader->error = block_fill(reader->fs, block, round);
		if (!reader->error)
			reader->error = io_channel_read_blk64(reader->fs->io, block, 1, data);
		if (!reader->error && data[500] != round)
			reader->error = EXT2_ET_SHORT_READ;
		if (!reader->error)
			reader->error = io_channel_read_blk64(reader->fs->io, 1, -1024, data);
	}
	return NULL;
}

START_TEST(test_threads)
{
	struct reader readers[8] = { { 0 } };

	mb_image_make(EXT4_1K, "16M");
	ext2_filsys fs = transaction_image_open(0);
	blk64_t used = some_used_block(fs), free_block = some_free_block(fs);

	for (unsigned int index = 0; index < 8; index++) {
		readers[index] = (struct reader){ .fs = fs, .block = used + index, .free_block = free_block + index };
		ck_assert_int_eq(pthread_create(&readers[index].thread, NULL, use_channel, &readers[index]), 0);
	}
	for (unsigned int index = 0; index < 8; index++) {
		ck_assert_int_eq(pthread_join(readers[index].thread, NULL), 0);
		ck_assert_ok(readers[index].error);
	}
	ck_assert_ok(ext2mb_transaction_commit(fs));
	for (unsigned int index = 0; index < 8; index++)
		ck_assert(is_filled_on_disk(fs, used + index, 199));
	ext2fs_free(fs);
}
END_TEST

/* If a file ends early, or a disk has lost a block, the block cannot be compared, and is written. */
START_TEST(test_unreadable)
{
	mb_image_make(EXT4_1K, "16M");
	ext2_filsys fs = transaction_image_open(0);
	blk64_t last = ext2fs_blocks_count(fs->super) - 1;

	ext2fs_block_alloc_stats2(fs, last, +1);
	ck_assert_ok(ext2mb_transaction_commit(fs));
	run_on_image("truncate -s -100K $IMAGE");
	ck_assert_ok(block_fill(fs, last, 5));
	ck_assert_ok(ext2mb_transaction_commit(fs));
	ck_assert(is_filled_on_disk(fs, last, 5));
	ext2fs_free(fs);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("transaction");
	TCase *tests = mb_image_case(suite);

	tcase_add_loop_test(tests, test_order, 0, 2);
	tcase_add_test(tests, test_bitmap_of_commit);
	tcase_add_test(tests, test_escaping);
	tcase_add_test(tests, test_uninit_group);
	tcase_add_loop_test(tests, test_pieces, 0, 2);
	tcase_add_test(tests, test_unchanged);
	tcase_add_test(tests, test_unreadable);
	tcase_add_test(tests, test_zeroing);
	tcase_add_test(tests, test_discard);
	tcase_add_test(tests, test_backups);
	tcase_add_test(tests, test_mmp);
	tcase_add_test(tests, test_mmp_after_failure);
	tcase_add_test(tests, test_named_data);
	tcase_add_loop_test(tests, test_freed_data, 0, sizeof(frees) / sizeof(*frees));
	tcase_add_loop_test(tests, test_largest, 0, 2);
	tcase_add_test(tests, test_threads);
	return run_suite(suite);
}
