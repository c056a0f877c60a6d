/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a transaction does not do, steps, and what is done before the first read. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "transaction/undo.h"
#include "support/cleanup.h"
#include "transaction_image.h"
#include "unit.h"

#define EXT4_1K "-t ext4 -b 1024 -O ^orphan_file -J size=1 -N 128"

static errcode_t write_to_journal(ext2_filsys fs)
{
	blk64_t block;

	ck_assert_ok(ext2fs_bmap2(fs, EXT2_JOURNAL_INO, NULL, NULL, 0, 5, NULL, &block));
	return block_fill(fs, block, 1);
}

static errcode_t truncate_journal(ext2_filsys fs)
{
	struct ext2_inode inode;

	ck_assert_ok(ext2fs_read_inode(fs, EXT2_JOURNAL_INO, &inode));
	inode.i_size /= 2;
	return ext2fs_write_inode(fs, EXT2_JOURNAL_INO, &inode);
}

static errcode_t grow(ext2_filsys fs)
{
	ext2fs_blocks_count_add(fs->super, 1000);
	ext2fs_mark_super_dirty(fs);
	return ext2fs_flush(fs);
}

static errcode_t lose_journal(ext2_filsys fs)
{
	ext2fs_clear_feature_journal(fs->super);
	ext2fs_mark_super_dirty(fs);
	return ext2fs_flush(fs);
}

static errcode_t write_outside(ext2_filsys fs)
{
	return block_fill(fs, ext2fs_blocks_count(fs->super), 1);
}

static const struct refusal {
	errcode_t (*write)(ext2_filsys fs);
	errcode_t error;
} refusals[] = {
	{ write_to_journal, EXT2MB_ET_JOURNAL_WRITE },
	{ truncate_journal, EXT2MB_ET_JOURNAL_WRITE },
	{ grow, EXT2MB_ET_LAYOUT_CHANGE },
	{ lose_journal, EXT2MB_ET_LAYOUT_CHANGE },
	{ write_outside, EXT2MB_ET_BAD_RANGE },
};

/* And with it all of the transaction. */
START_TEST(test_refused)
{
	size_t bytes;

	mb_image_make(EXT4_1K, "16M");
	SCOPE_FREE uint8_t *before = whole_image(&bytes);
	ext2_filsys fs = transaction_image_open(0);
	blk64_t used = some_used_block(fs);

	ck_assert_ok(block_fill(fs, used, 1));
	ck_assert(refusals[_i].write(fs));
	ck_assert_error(transaction_image_info(fs).why_over, refusals[_i].error);
	ck_assert_error(block_fill(fs, used, 2), EXT2MB_ET_TRANSACTION_OVER);
	ck_assert_error(ext2mb_transaction_begin(fs), EXT2MB_ET_TRANSACTION_OVER);
	ck_assert_error(ext2mb_transaction_commit(fs), EXT2MB_ET_TRANSACTION_OVER);
	ck_assert_error(ext2mb_transaction_abort(fs), EXT2MB_ET_TRANSACTION_OVER);
	ck_assert_uint_ne(block_read(fs, used)[0], 1);
	ext2fs_free(fs);
	SCOPE_FREE uint8_t *after = whole_image(&bytes);

	ck_assert_mem_eq(before, after, bytes);
}
END_TEST

static errcode_t free_journal(ext2_filsys fs)
{
	blk64_t block;

	ck_assert_ok(ext2fs_bmap2(fs, EXT2_JOURNAL_INO, NULL, NULL, 0, 5, NULL, &block));
	ext2fs_block_alloc_stats2(fs, block, -1);
	return block_fill(fs, some_used_block(fs), 1);
}

static errcode_t lose_journal_at_commit(ext2_filsys fs)
{
	fs->super->s_desc_size = 128;
	ext2fs_mark_super_dirty(fs);
	return ext2mb_transaction_commit(fs);
}

static const struct refusal undone[] = {
	{ write_to_journal, EXT2MB_ET_JOURNAL_WRITE },
	{ truncate_journal, EXT2MB_ET_JOURNAL_WRITE },
	{ grow, EXT2MB_ET_LAYOUT_CHANGE },
	{ lose_journal, EXT2MB_ET_LAYOUT_CHANGE },
	{ write_outside, EXT2MB_ET_BAD_RANGE },
	{ free_journal, EXT2MB_ET_JOURNAL_WRITE },
	{ lose_journal_at_commit, EXT2MB_ET_LAYOUT_CHANGE },
};

static bool has_directory(ext2_filsys fs, const char *name)
{
	ext2_ino_t ino;

	return !ext2fs_lookup(fs, EXT2_ROOT_INO, name, (int)strlen(name), NULL, &ino);
}

/* All since the last commit is gone, also from libext2fs's memory, and it goes on. */
START_TEST(test_undo)
{
	mb_image_make(EXT4_1K, "16M");
	ext2_filsys fs = transaction_image_open(0);

	ck_assert_error(transaction_undo(fs), EXT2MB_ET_BAD_ARGUMENT);
	ck_assert_ok(ext2fs_mkdir(fs, EXT2_ROOT_INO, 0, "before"));
	ck_assert_ok(ext2mb_transaction_commit(fs));
	blk64_t free_blocks = ext2fs_free_blocks_count(fs->super);

	ck_assert_ok(ext2fs_mkdir(fs, EXT2_ROOT_INO, 0, "lost"));
	ck_assert(undone[_i].write(fs));
	ck_assert_error(transaction_image_info(fs).why_over, undone[_i].error);
	ck_assert_ok(transaction_undo(fs));
	ck_assert_uint_eq(ext2fs_free_blocks_count(fs->super), free_blocks);
	ck_assert(has_directory(fs, "before") && !has_directory(fs, "lost"));
	ck_assert_ok(ext2fs_mkdir(fs, EXT2_ROOT_INO, 0, "after"));
	ck_assert_ok(ext2mb_transaction_commit(fs));
	ck_assert_ok(ext2mb_transaction_abort(fs));
	ck_assert_error(transaction_undo(fs), EXT2MB_ET_TRANSACTION_OVER);
	ext2fs_free(fs);
	mb_image_check();
	fs = mb_image_open();
	ck_assert(has_directory(fs, "before") && !has_directory(fs, "lost") && has_directory(fs, "after"));
	ck_assert_ok(ext2fs_close(fs));
}
END_TEST

/* What is there may be written to the journal, as fuse2fs 1.47.4 does when it mounts; it does not become a part of
 * anything. */
START_TEST(test_journal_as_it_is)
{
	uint8_t data[1024];
	blk64_t block;

	mb_image_make(EXT4_1K, "16M");
	ext2_filsys fs = transaction_image_open(0);

	ck_assert_ok(ext2fs_bmap2(fs, EXT2_JOURNAL_INO, NULL, NULL, 0, 0, NULL, &block));
	memcpy(data, block_read(fs, block), sizeof(data));
	ck_assert_ok(io_channel_write_blk64(fs->io, block, 1, data));
	ck_assert_ok(io_channel_write_blk64(fs->io, block, -100, data));
	ck_assert_uint_eq(transaction_image_info(fs).held_blocks, 0);
	ck_assert_uint_eq(transaction_image_info(fs).direct_blocks, 0);
	data[1023]++;
	ck_assert_error(io_channel_write_blk64(fs->io, block, 1, data), EXT2MB_ET_JOURNAL_WRITE);
	ck_assert_error(block_fill(fs, block, 1), EXT2MB_ET_TRANSACTION_OVER);
	ext2fs_free(fs);
}
END_TEST

START_TEST(test_steps)
{
	mb_image_make(EXT4_1K, "16M");
	ext2_filsys fs = transaction_image_open(0);
	blk64_t used = some_used_block(fs);

	ck_assert_ptr_null(ext2mb_transaction_io_manager(2));
	ck_assert_error(ext2mb_transaction_end(fs), EXT2MB_ET_BAD_ARGUMENT);
	ck_assert_ok(ext2mb_transaction_begin(fs));
	ck_assert_error(ext2mb_transaction_begin(fs), EXT2MB_ET_IN_STEP);
	ck_assert_ok(block_fill(fs, used, 1));
	ck_assert_ok(ext2mb_transaction_end(fs));
	ck_assert_ok(ext2mb_transaction_begin(fs));
	ck_assert_ok(block_fill(fs, used + 1, 1));
	ck_assert_ok(ext2mb_transaction_commit(fs));
	ck_assert_error(ext2mb_transaction_end(fs), EXT2MB_ET_BAD_ARGUMENT);
	ck_assert(is_filled_on_disk(fs, used, 1) && is_filled_on_disk(fs, used + 1, 1));

	/* Closing commits, but for a step that has not ended, and what was in the transaction with it. */
	ck_assert_ok(block_fill(fs, used, 2));
	ck_assert_ok(ext2fs_close(fs));
	fs = transaction_image_open(0);
	ck_assert(is_filled_on_disk(fs, used, 2));
	ck_assert_ok(block_fill(fs, used, 3));
	ck_assert_ok(ext2mb_transaction_begin(fs));
	ck_assert_ok(block_fill(fs, used + 1, 3));
	ext2fs_free(fs);
	fs = transaction_image_open(0);
	ck_assert(is_filled_on_disk(fs, used, 2) && is_filled_on_disk(fs, used + 1, 1));
	ck_assert_ok(ext2fs_close(fs));
}
END_TEST

/* What fills half of the journal is committed before the next step begins, never within one. */
START_TEST(test_division)
{
	blk64_t block;

	mb_image_make(EXT4_1K, "16M");
	ext2_filsys fs = transaction_image_open(0);

	ck_assert_ok(ext2fs_get_free_blocks2(fs, 0, 0, 1200, NULL, &block));
	ext2fs_block_alloc_stats_range(fs, block, 1200, +1);
	ck_assert_ok(ext2mb_transaction_commit(fs));
	for (blk64_t step = 0; step < 6; step++) {
		uint64_t commits = transaction_image_info(fs).commits;

		ck_assert_ok(ext2mb_transaction_begin(fs));
		ck_assert_uint_eq(transaction_image_info(fs).commits, commits + (step > 0 && step % 3 == 0));
		for (blk64_t index = 0; index < 200; index++)
			ck_assert_ok(block_fill(fs, block + step * 200 + index, 'x'));
		ck_assert_ok(ext2mb_transaction_end(fs));
	}
	ck_assert(is_filled_on_disk(fs, block + 599, 'x'));
	ck_assert(!is_filled_on_disk(fs, block + 600, 'x'));
	ck_assert_ok(ext2mb_transaction_abort(fs));
	ext2fs_free(fs);
}
END_TEST

static void fill_run(ext2_filsys fs, blk64_t block, unsigned int count, int byte)
{
	for (blk64_t index = 0; index < count; index++)
		ck_assert_ok(block_fill(fs, block + index, byte));
}

static void free_blocks_singly(ext2_filsys fs, blk64_t block, unsigned int count)
{
	for (blk64_t index = 0; index < count; index++)
		ext2fs_block_alloc_stats2(fs, block + index, -1);
}

static void free_blocks_attached(ext2_filsys fs, blk64_t block, unsigned int count)
{
	ck_assert_ok(ext2mb_attach(fs, NULL));
	free_blocks_singly(fs, block, count);
	ck_assert_ok(ext2mb_detach(fs));
}

static void free_blocks_as_range(ext2_filsys fs, blk64_t block, unsigned int count)
{
	ext2fs_block_alloc_stats_range(fs, block, count, -1);
}

static void (*const frees[])(ext2_filsys fs, blk64_t block,
                             unsigned int count) = { free_blocks_singly, free_blocks_attached, free_blocks_as_range };

/*
 * A step frees more than the journal holds, and the next one writes there: between them is a commit. What was free at
 * the last commit does not count.
 */
START_TEST(test_freed)
{
	const unsigned int count = 2000;
	blk64_t block;

	mb_image_make(EXT4_1K, "16M");
	ext2_filsys fs = transaction_image_open(0);

	ck_assert_ok(ext2fs_get_free_blocks2(fs, 0, 0, (int)count, NULL, &block));
	ck_assert_ok(ext2mb_transaction_begin(fs));
	ext2fs_block_alloc_stats_range(fs, block, count, +1);
	ck_assert_ok(ext2mb_transaction_commit(fs));
	uint64_t commits = transaction_image_info(fs).commits;

	ck_assert_ok(ext2mb_transaction_begin(fs));
	frees[_i](fs, block, count);
	ck_assert_ok(ext2mb_transaction_end(fs));
	ck_assert_ok(ext2mb_transaction_begin(fs));
	ck_assert_uint_eq(transaction_image_info(fs).commits, commits + 1);
	ext2fs_block_alloc_stats_range(fs, block, count, +1);
	fill_run(fs, block, count, 'x');
	ck_assert_ok(ext2mb_transaction_end(fs));
	ck_assert_ok(ext2mb_transaction_begin(fs));
	ck_assert_uint_eq(transaction_image_info(fs).commits, commits + 1);
	ck_assert_ok(ext2mb_transaction_commit(fs));
	ck_assert(is_filled_on_disk(fs, block + count - 1, 'x'));
	ext2fs_free(fs);
}
END_TEST

static void hear_nothing(ext2_filsys fs, blk64_t block, int in_use)
{
	(void)fs, (void)block, (void)in_use;
}

/* Where the program listens instead, each step may have freed anything. */
START_TEST(test_program_hooks)
{
	mb_image_make(EXT4_1K, "16M");
	ext2_filsys fs = transaction_image_open(0);
	blk64_t used = some_used_block(fs);

	ext2fs_set_block_alloc_stats_callback(fs, hear_nothing, NULL);
	ck_assert_error(ext2mb_transaction_name_data(fs, used, 1), EXT2MB_ET_HOOKS_TAKEN);
	for (int step = 0; step < 3; step++) {
		ck_assert_ok(ext2mb_transaction_begin(fs));
		ck_assert(!step || is_filled_on_disk(fs, used, step - 1));
		ck_assert_ok(block_fill(fs, used, step));
		ck_assert_ok(ext2mb_transaction_end(fs));
	}
	ck_assert_ptr_eq(fs->block_alloc_stats, hear_nothing);
	ext2fs_free(fs);
}
END_TEST

/* Whether it has none, or an external one. */
START_TEST(test_no_journal)
{
	mb_image_make("-t ext4 -b 1024 -O ^has_journal,^orphan_file", "8M");
	if (_i) {
		ext2_filsys fs = mb_image_open();

		ext2fs_set_feature_journal(fs->super);
		fs->super->s_journal_dev = 0x700;
		ext2fs_mark_super_dirty(fs);
		ck_assert_ok(ext2fs_close(fs));
	}
	ck_assert_error(transaction_image_refused(0), EXT2MB_ET_NO_JOURNAL);
	ext2_filsys fs = transaction_image_open(EXT2MB_NO_JOURNAL);
	blk64_t used = some_used_block(fs);

	ck_assert_ok(block_fill(fs, used, 1));
	ck_assert(!is_filled_on_disk(fs, used, 1));
	ck_assert_ok(ext2mb_transaction_commit(fs));
	ck_assert(is_filled_on_disk(fs, used, 1));
	ck_assert(!ext2fs_has_feature_journal_needs_recovery(fs->super));
	ck_assert_ok(block_fill(fs, used, 2));
	ck_assert_ok(ext2mb_transaction_abort(fs));
	ck_assert(is_filled_on_disk(fs, used, 1));
	ext2fs_free(fs);
}
END_TEST

/* A journal that has a transaction is replayed before anything is read; those who only read see it as it is. */
START_TEST(test_dirty_journal)
{
	ext2_filsys fs;

	mb_image_make(EXT4_1K, "16M");
	run_on_image("head -c 2048 /dev/zero | tr '\\0' A >$IMAGE.blocks");
	run_on_image("printf \"jo\\njw -b 12000,12001 $IMAGE.blocks\\njc\\n\" | "
	             "debugfs -w -f /dev/stdin $IMAGE >/dev/null 2>&1; rm $IMAGE.blocks");
	ck_assert_ok(ext2fs_open(mb_image_path(), EXT2_FLAG_64BITS, 0, 0, ext2mb_transaction_io_manager(0), &fs));
	ck_assert(ext2fs_has_feature_journal_needs_recovery(fs->super));
	ck_assert(!is_filled_on_disk(fs, 12001, 'A'));
	ck_assert_error(ext2mb_transaction_begin(fs), EXT2_ET_RO_FILSYS);
	ck_assert_error(block_fill(fs, 12001, 1), EXT2_ET_RO_FILSYS);
	ext2fs_free(fs);
	fs = transaction_image_open(0);
	ck_assert(!ext2fs_has_feature_journal_needs_recovery(fs->super));
	ck_assert(is_filled_on_disk(fs, 12000, 'A') && is_filled_on_disk(fs, 12001, 'A'));
	ck_assert_ok(ext2fs_close(fs));
	mb_image_check();
}
END_TEST

/* Without needs_recovery it is nobody's business to mend it. */
START_TEST(test_damaged_journal)
{
	size_t bytes;

	mb_image_make(EXT4_1K, "16M");
	run_on_image("block=$(debugfs -R 'bmap <8> 0' $IMAGE 2>/dev/null) && "
	             "dd if=/dev/zero of=$IMAGE bs=1024 seek=$block count=1 conv=notrunc 2>/dev/null");
	SCOPE_FREE uint8_t *before = whole_image(&bytes);

	ck_assert_error(transaction_image_refused(0), EXT2MB_ET_BAD_JOURNAL);
	SCOPE_FREE uint8_t *after = whole_image(&bytes);

	ck_assert_mem_eq(before, after, bytes);
}
END_TEST

/* A journal whose second half is the inode table, or the first half once more: a long transaction would overwrite
 * itself. */
START_TEST(test_journal_elsewhere)
{
	static const char *const second_halves[] = { "134", "8322" };
	char command[512];

	mb_image_make(EXT4_1K, "16M");
	snprintf(command, sizeof(command),
	         "start=%s; printf \"extent_open <8>\\nroot\\nreplace_node 0 512 8322\\n"
	         "insert_node --after 512 512 $start\\nec\\n\" | debugfs -w -f /dev/stdin $IMAGE >/dev/null 2>&1 && "
	         "debugfs -R 'bmap <8> 600' $IMAGE 2>/dev/null | grep -q $((start + 88))",
	         second_halves[_i]);
	run_on_image(command);
	ck_assert_error(transaction_image_refused(0), EXT2MB_ET_BAD_JOURNAL);
}
END_TEST

/* Before the filesystem is known there is nothing that could be written. */
START_TEST(test_not_ext4)
{
	io_channel channel;
	uint8_t data[1024] = { 0 };

	mb_image_make(EXT4_1K, "16M");
	run_on_image("dd if=/dev/zero of=$IMAGE bs=1024 seek=1 count=1 conv=notrunc 2>/dev/null");
	ck_assert_error(transaction_image_refused(0), EXT2_ET_BAD_MAGIC);
	ck_assert_ok(ext2mb_transaction_io_manager(0)->open(mb_image_path(), IO_FLAG_RW, &channel));
	ck_assert_error(io_channel_write_blk64(channel, 1, 1, data), EXT2_ET_BAD_MAGIC);
	ck_assert_ok(io_channel_read_blk64(channel, 5, 1, data));
	ck_assert_ok(io_channel_close(channel));
}
END_TEST

/* Two that write one journal would undo each other's commits. */
START_TEST(test_taken)
{
	mb_image_make(EXT4_1K, "16M");
	ext2_filsys fs = transaction_image_open(0);

	ck_assert_error(transaction_image_refused(0), EBUSY);
	ck_assert_ok(ext2fs_close(fs));
	fs = transaction_image_open(0);
	ck_assert_ok(ext2fs_close(fs));
}
END_TEST

/* fuse2fs says how large the cache is to be when the filesystem is open, and ends if that fails. */
START_TEST(test_cache)
{
	char of_cache[] = "cache_blocks=100", others[] = "offset=4096";

	mb_image_make(EXT4_1K, "16M");
	ext2_filsys fs = transaction_image_open(0);

	ck_assert_ok(io_channel_set_options(fs->io, of_cache));
	ck_assert_error(io_channel_set_options(fs->io, others), EXT2_ET_INVALID_ARGUMENT);
	ck_assert_ok(ext2fs_close(fs));
}
END_TEST

/* An offset is an option that comes after the file is opened. */
START_TEST(test_offset)
{
	ext2_filsys fs;

	mb_image_make(EXT4_1K, "16M");
	run_on_image("{ head -c 4096 /dev/zero; cat $IMAGE; } >$IMAGE.moved");
	run_on_image("mv $IMAGE.moved $IMAGE");
	initialize_e2mb_error_table();
	ck_assert_ok(ext2fs_open2(mb_image_path(), "offset=4096", EXT2_FLAG_RW | EXT2_FLAG_64BITS, 0, 0,
	                          ext2mb_transaction_io_manager(0), &fs));
	ck_assert_ok(ext2fs_read_bitmaps(fs));
	blk64_t used = some_used_block(fs);

	ck_assert_ok(block_fill(fs, used, 1));
	ck_assert_ok(ext2mb_transaction_commit(fs));
	ck_assert(is_filled_on_disk(fs, used + 4, 1));
	ck_assert_ok(ext2fs_close(fs));
	/* It is replayed there, too. */
	run_on_image("head -c 1024 /dev/zero | tr '\\0' A >$IMAGE.block");
	run_on_image("printf \"jo\\njw -b 12000 $IMAGE.block\\njc\\n\" | "
	             "debugfs -w -f /dev/stdin $IMAGE?offset=4096 >/dev/null 2>&1; rm $IMAGE.block");
	ck_assert_ok(ext2fs_open2(mb_image_path(), "offset=4096", EXT2_FLAG_RW | EXT2_FLAG_64BITS, 0, 0,
	                          ext2mb_transaction_io_manager(0), &fs));
	ck_assert(!ext2fs_has_feature_journal_needs_recovery(fs->super));
	ck_assert(is_filled_on_disk(fs, 12000 + 4, 'A'));
	ck_assert_ok(ext2fs_close(fs));
}
END_TEST

static void hear_no_range(ext2_filsys fs, blk64_t start, blk_t count, int in_use)
{
	(void)fs, (void)start, (void)count, (void)in_use;
}

/* One hook is enough to free a block that nobody hears of: what was named before is then written as all else. */
START_TEST(test_hooks_after_naming)
{
	mb_image_make(EXT4_1K, "16M");
	ext2_filsys fs = transaction_image_open(0);
	blk64_t used = some_used_block(fs);

	ck_assert_ok(ext2mb_transaction_name_data(fs, used, 2));
	ck_assert_ok(block_fill(fs, used, 1));
	ck_assert(is_filled_on_disk(fs, used, 1));
	if (_i)
		ext2fs_set_block_alloc_stats_range_callback(fs, hear_no_range, NULL);
	else
		ext2fs_set_block_alloc_stats_callback(fs, hear_nothing, NULL);
	ck_assert_ok(block_fill(fs, used + 1, 2));
	ck_assert(!is_filled_on_disk(fs, used + 1, 2));
	ck_assert_error(ext2mb_transaction_name_data(fs, used, 1), EXT2MB_ET_HOOKS_TAKEN);
	ext2fs_free(fs);
}
END_TEST

/* Closing drops a step that is open, and says so, whether libext2fs has anything left to write or not. */
START_TEST(test_close_in_step)
{
	bool is_flushed = _i % 2, closes_free = _i / 2;
	ext2_ino_t ino;

	mb_image_make(EXT4_1K, "16M");
	ext2_filsys fs = transaction_image_open(0);

	ck_assert_ok(ext2mb_transaction_begin(fs));
	ck_assert_ok(ext2fs_mkdir(fs, EXT2_ROOT_INO, 0, "dropped"));
	if (is_flushed)
		ck_assert_ok(ext2fs_flush(fs));
	if (closes_free) {
		ck_assert_error(ext2fs_close_free(&fs), EXT2MB_ET_IN_STEP);
	} else {
		ck_assert_error(ext2fs_close(fs), EXT2MB_ET_IN_STEP);
		ck_assert_error(transaction_image_info(fs).why_over, EXT2MB_ET_IN_STEP);
		ext2fs_free(fs);
	}
	fs = transaction_image_open(0);
	ck_assert_error(ext2fs_lookup(fs, EXT2_ROOT_INO, "dropped", 7, NULL, &ino), EXT2_ET_FILE_NOT_FOUND);
	/* One that has ended is committed. */
	ck_assert_ok(ext2mb_transaction_begin(fs));
	ck_assert_ok(ext2fs_mkdir(fs, EXT2_ROOT_INO, 0, "kept"));
	ck_assert_ok(ext2mb_transaction_end(fs));
	ck_assert_ok(ext2fs_close(fs));
	mb_image_check();
	fs = mb_image_open();
	ck_assert_ok(ext2fs_lookup(fs, EXT2_ROOT_INO, "kept", 4, NULL, &ino));
	ck_assert_ok(ext2fs_close(fs));
}
END_TEST

/* A copy that is closed within a step is not the end of it. */
START_TEST(test_close_copy_in_step)
{
	ext2_filsys copy;
	ext2_ino_t ino;

	mb_image_make(EXT4_1K, "16M");
	ext2_filsys fs = transaction_image_open(0);

	ck_assert_ok(ext2fs_dup_handle(fs, &copy));
	ck_assert_ok(ext2mb_transaction_begin(fs));
	ck_assert_ok(ext2fs_mkdir(fs, EXT2_ROOT_INO, 0, "kept"));
	ck_assert_ok(fs->io->manager->get_stats(fs->io, NULL));
	ck_assert_ok(ext2fs_close(copy));
	ck_assert_ok(ext2mb_transaction_end(fs));
	ck_assert_ok(ext2mb_transaction_commit(fs));
	ck_assert_ok(ext2fs_close(fs));
	mb_image_check();
	fs = mb_image_open();
	ck_assert_ok(ext2fs_lookup(fs, EXT2_ROOT_INO, "kept", 4, NULL, &ino));
	ck_assert_ok(ext2fs_close(fs));
}
END_TEST

/* A program that has opened nothing else has words for our errors. */
START_TEST(test_words)
{
	ext2_filsys fs;

	mb_image_make("-t ext4 -b 1024 -O ^has_journal", "16M");
	errcode_t error = ext2fs_open(mb_image_path(), EXT2_FLAG_RW | EXT2_FLAG_64BITS, 0, 0,
	                              ext2mb_transaction_io_manager(0), &fs);
	ck_assert_int_eq(error, EXT2MB_ET_NO_JOURNAL);
	ck_assert_str_eq(error_message(error), "The filesystem has no journal of its own");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("transaction_refused");
	TCase *tests = mb_image_case(suite);

	tcase_add_loop_test(tests, test_refused, 0, sizeof(refusals) / sizeof(*refusals));
	tcase_add_loop_test(tests, test_undo, 0, sizeof(undone) / sizeof(*undone));
	tcase_add_test(tests, test_journal_as_it_is);
	tcase_add_test(tests, test_steps);
	tcase_add_test(tests, test_division);
	tcase_add_loop_test(tests, test_freed, 0, sizeof(frees) / sizeof(*frees));
	tcase_add_test(tests, test_program_hooks);
	tcase_add_loop_test(tests, test_hooks_after_naming, 0, 2);
	tcase_add_loop_test(tests, test_no_journal, 0, 2);
	tcase_add_test(tests, test_dirty_journal);
	tcase_add_test(tests, test_damaged_journal);
	tcase_add_loop_test(tests, test_journal_elsewhere, 0, 2);
	tcase_add_test(tests, test_not_ext4);
	tcase_add_test(tests, test_taken);
	tcase_add_test(tests, test_cache);
	tcase_add_test(tests, test_offset);
	tcase_add_loop_test(tests, test_close_in_step, 0, 4);
	tcase_add_test(tests, test_close_copy_in_step);
	tcase_add_test(tests, test_words);
	return run_suite(suite);
}
