/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Contents that threads write into blocks that were free at the last commit, beside the one that uses the channel: what
 * is written, what is refused, and what the program claims. The disk below is watched in test_transaction_disk.c.
 */
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "data_writer.h"
#include "seeded_random.h"
#include "transaction/undo.h"
#include "transaction_image.h"
#include "unit.h"

#define EXT4_1K "-t ext4 -b 1024 -O ^orphan_file -J size=1 -N 128"
#define WRITERS 4
#define EXT4_4K "-t ext4 -b 4096 -O ^orphan_file -J size=4 -N 128"

/* Steps whose metadata one thread writes while others write contents. */
START_TEST(test_writers)
{
	const unsigned int count = 300;
	struct random random = random_start("writers");
	struct writer writers[WRITERS];

	mb_image_make(_i ? EXT4_4K : EXT4_1K, "48M");
	ext2_filsys fs = transaction_image_open(0);

	for (unsigned int round = 0; round < 8; round++) {
		ck_assert_ok(ext2mb_transaction_begin(fs));
		for (unsigned int index = 0; index < WRITERS; index++) {
			writers[index] = (struct writer){ fs,
				                          alloc_run(fs, count),
				                          count,
				                          (int)(round * WRITERS + index + 1),
				                          1u << random_below(&random, 8),
				                          random_next(&random),
				                          0,
				                          0 };
			start_writer(&writers[index], write_in_parts);
		}
		make_directory(fs, round);
		ck_assert_ok(ext2fs_flush(fs));
		for (unsigned int index = 0; index < WRITERS; index++)
			ck_assert_ok(join_writer(&writers[index]));
		for (unsigned int index = 0; index < WRITERS; index++)
			for (unsigned int block = 0; block < count; block++)
				ck_assert_uint_eq(block_read(fs, writers[index].start + block)[0], writers[index].byte);
		ck_assert_ok(ext2mb_transaction_commit(fs));
		for (unsigned int index = 0; index < WRITERS; index++)
			for (unsigned int block = 0; block < count; block++)
				ck_assert(is_filled_on_disk(fs, writers[index].start + block, writers[index].byte));
		/* From now on they are in use. */
		ck_assert_error(write_run(fs, writers[0].start, 1, 'x'), EXT2MB_ET_NOT_FREE);
	}
	ck_assert_uint_ge(transaction_image_info(fs).direct_blocks, 8 * WRITERS * count);
	ck_assert_ok(ext2fs_close(fs));
}
END_TEST

static void *commit_until_over(void *context)
{
	struct writer *writer = context;

	for (unsigned int index = 0; index < 40 && !writer->error; index++) {
		ck_assert_ok(block_fill(writer->fs, writer->start, (int)index));
		writer->error = ext2mb_transaction_commit(writer->fs);
	}
	return NULL;
}

/* Commits between and within the writes of others. */
START_TEST(test_commits_meanwhile)
{
	struct random random = random_start("commits meanwhile");
	struct writer writers[WRITERS], committing;

	mb_image_make(EXT4_1K, "16M");
	ext2_filsys fs = transaction_image_open(0);
	blk64_t block = some_free_block(fs) + 100;

	for (unsigned int index = 0; index < WRITERS; index++)
		writers[index] =
			(struct writer){ fs, block + 600 * index, 600, (int)index + 1, 4, random_next(&random), 0, 0 };
	committing = (struct writer){ .fs = fs, .start = some_used_block(fs) };
	for (unsigned int index = 0; index < WRITERS; index++)
		start_writer(&writers[index], write_in_parts);
	start_writer(&committing, commit_until_over);
	for (unsigned int index = 0; index < WRITERS; index++) {
		ck_assert_ok(join_writer(&writers[index]));
		for (unsigned int at = 0; at < 600; at++)
			ck_assert(is_filled_on_disk(fs, writers[index].start + at, writers[index].byte));
	}
	ck_assert_ok(join_writer(&committing));
	ck_assert_ok(ext2fs_close(fs));
}
END_TEST

/* --- What is refused --------------------------------------------------------------------------------------------- */

/* The bitmap says that the journal's block and MMP's are free. */
static void free_in_bitmap(void)
{
	ext2_filsys fs;
	blk64_t journal;

	ck_assert_ok(ext2fs_open(mb_image_path(), EXT2_FLAG_RW | EXT2_FLAG_64BITS | EXT2_FLAG_SKIP_MMP, 0, 0,
	                         unix_io_manager, &fs));
	ck_assert_ok(ext2fs_read_bitmaps(fs));
	ck_assert_ok(ext2fs_bmap2(fs, EXT2_JOURNAL_INO, NULL, NULL, 0, 5, NULL, &journal));
	ext2fs_block_alloc_stats2(fs, journal, -1);
	ext2fs_block_alloc_stats2(fs, fs->super->s_mmp_block, -1);
	ck_assert_ok(ext2fs_close(fs));
}

/* Nothing is written, not even what would have been allowed, and the transaction goes on. */
START_TEST(test_not_free)
{
	blk64_t journal;

	mb_image_make("-t ext4 -b 1024 -O mmp,^orphan_file -J size=1 -N 128", "16M");
	free_in_bitmap();
	ext2_filsys fs;

	ck_assert_ok(ext2fs_open(mb_image_path(), EXT2_FLAG_RW | EXT2_FLAG_64BITS | EXT2_FLAG_SKIP_MMP, 0, 0,
	                         ext2mb_transaction_io_manager(0), &fs));
	ck_assert_ok(ext2fs_read_bitmaps(fs));
	ck_assert_ok(ext2fs_bmap2(fs, EXT2_JOURNAL_INO, NULL, NULL, 0, 5, NULL, &journal));
	blk64_t block = some_free_block(fs) + 100, last = ext2fs_blocks_count(fs->super) - 1;
	const struct {
		blk64_t start;
		unsigned int count;
		errcode_t error;
	} refused[] = {
		{ some_used_block(fs), 1, EXT2MB_ET_NOT_FREE },
		{ 0, 1, EXT2MB_ET_NOT_FREE },
		{ journal, 1, EXT2MB_ET_NOT_FREE },
		{ fs->super->s_mmp_block, 1, EXT2MB_ET_NOT_FREE },
		{ ext2fs_inode_table_loc(fs, 0), 1, EXT2MB_ET_NOT_FREE },
		{ ext2fs_group_first_block2(fs, 1) - 1, 2, EXT2MB_ET_NOT_FREE },
		{ last + 1, 1, EXT2MB_ET_BAD_RANGE },
		{ last, 2, EXT2MB_ET_BAD_RANGE },
		{ UINT64_MAX, 1, EXT2MB_ET_BAD_RANGE },
		{ block, 0, EXT2MB_ET_BAD_ARGUMENT },
	};

	ck_assert_ok(block_fill(fs, block, 'o'));
	for (size_t index = 0; index < sizeof(refused) / sizeof(*refused); index++) {
		ck_assert_error(write_run(fs, refused[index].start, refused[index].count, 'x'), refused[index].error);
		ck_assert_error(ext2mb_transaction_claim_data(fs, refused[index].start, refused[index].count),
		                refused[index].error);
	}
	ck_assert_error(ext2mb_transaction_write_data(fs, block, UINT64_MAX, refused), EXT2MB_ET_BAD_RANGE);
	ck_assert_error(ext2mb_transaction_write_data(fs, block, 1, NULL), EXT2MB_ET_BAD_ARGUMENT);
	ck_assert_error(ext2mb_transaction_write_data(NULL, block, 1, refused), EXT2MB_ET_BAD_ARGUMENT);
	ck_assert(is_filled_on_disk(fs, block, 'o'));
	ck_assert_ok(write_run(fs, block, 4, 'n'));
	ck_assert_ok(ext2mb_transaction_commit(fs));
	ck_assert(is_filled_on_disk(fs, block, 'n'));
	ext2fs_free(fs);
}
END_TEST

/* What has been freed since the last commit is still referred to on disk; held, it is written through the channel. */
START_TEST(test_freed_since)
{
	mb_image_make(EXT4_1K, "16M");
	ext2_filsys fs = transaction_image_open(0);
	blk64_t block = alloc_run(fs, 2);

	ck_assert_ok(write_run(fs, block, 2, 1));
	ck_assert_ok(ext2mb_transaction_commit(fs));
	ext2fs_block_alloc_stats_range(fs, block, 2, -1);
	ext2fs_block_alloc_stats_range(fs, block, 2, +1);
	ck_assert_error(write_run(fs, block, 1, 2), EXT2MB_ET_NOT_FREE);
	ck_assert_ok(block_fill(fs, block, 2));
	ck_assert_error(write_run(fs, block, 1, 3), EXT2MB_ET_NOT_FREE);
	ck_assert_ok(ext2mb_transaction_name_data(fs, block + 1, 1));
	ck_assert_error(write_run(fs, block + 1, 1, 3), EXT2MB_ET_NOT_FREE);
	ck_assert(is_filled_on_disk(fs, block, 1) && is_filled_on_disk(fs, block + 1, 1));
	ck_assert_ok(ext2mb_transaction_commit(fs));
	ck_assert(is_filled_on_disk(fs, block, 2));
	ck_assert_ok(ext2fs_close(fs));
}
END_TEST

START_TEST(test_no_transaction)
{
	ext2_filsys fs;

	mb_image_make(EXT4_1K, "16M");
	fs = mb_image_open();
	ck_assert_error(write_run(fs, 5000, 1, 1), EXT2MB_ET_NO_TRANSACTION);
	ck_assert_error(ext2mb_transaction_claim_data(fs, 5000, 1), EXT2MB_ET_NO_TRANSACTION);
	ck_assert_error(ext2mb_transaction_release_data(fs, 5000, 1, 0), EXT2MB_ET_NO_TRANSACTION);
	ck_assert_ok(ext2fs_close(fs));
	ck_assert_ok(ext2fs_open(mb_image_path(), EXT2_FLAG_64BITS, 0, 0, ext2mb_transaction_io_manager(0), &fs));
	ck_assert_error(write_run(fs, 5000, 1, 1), EXT2_ET_RO_FILSYS);
	ext2fs_free(fs);
	fs = transaction_image_open(0);
	ck_assert_ok(ext2mb_transaction_abort(fs));
	ck_assert_error(write_run(fs, 5000, 1, 1), EXT2MB_ET_TRANSACTION_OVER);
	ck_assert_error(ext2mb_transaction_claim_data(fs, 5000, 1), EXT2MB_ET_TRANSACTION_OVER);
	ext2fs_free(fs);
}
END_TEST

START_TEST(test_forked)
{
	int status;

	mb_image_make(EXT4_1K, "16M");
	ext2_filsys fs = transaction_image_open(0);
	blk64_t block = some_free_block(fs);
	pid_t child = fork();

	if (!child)
		_exit(write_run(fs, block, 1, 'c') != 0);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	ck_assert_error(write_run(fs, block, 1, 'p'), EXT2MB_ET_FORKED);
	ck_assert_error(ext2mb_transaction_claim_data(fs, block, 1), EXT2MB_ET_FORKED);
	ck_assert(is_filled_on_disk(fs, block, 'c'));
	ext2fs_free(fs);
}
END_TEST

/* --- What the program writes by itself --------------------------------------------------------------------------- */

static void write_by_ourselves(ext2_filsys fs, blk64_t block, int byte)
{
	uint8_t data[MOST_BLOCK_BYTES];
	int file = open(mb_image_path(), O_WRONLY | O_CLOEXEC);

	memset(data, byte, sizeof(data));
	ck_assert_int_eq(pwrite(file, data, fs->blocksize, (off_t)(block * fs->blocksize)), fs->blocksize);
	ck_assert_int_eq(close(file), 0);
}

START_TEST(test_claims)
{
	mb_image_make(EXT4_1K, "16M");
	ext2_filsys fs = transaction_image_open(0);
	blk64_t block = alloc_run(fs, 8), used = some_used_block(fs);
	uint64_t direct = transaction_image_info(fs).direct_blocks;

	ck_assert_ok(block_fill(fs, used, 9));
	ck_assert_ok(ext2mb_transaction_claim_data(fs, block, 8));
	ck_assert_uint_eq(transaction_image_info(fs).direct_blocks, direct + 8);
	ck_assert_error(ext2mb_transaction_claim_data(fs, block + 7, 1), EXT2MB_ET_CLAIMED);
	ck_assert_error(write_run(fs, block + 3, 1, 1), EXT2MB_ET_CLAIMED);
	ck_assert_error(ext2mb_transaction_release_data(fs, block, 9, 0), EXT2MB_ET_BAD_RANGE);
	ck_assert_error(ext2mb_transaction_release_data(fs, used, 1, 0), EXT2MB_ET_BAD_RANGE);
	ck_assert_error(ext2mb_transaction_release_data(fs, block, UINT64_MAX, 0), EXT2MB_ET_BAD_RANGE);
	for (unsigned int index = 0; index < 8; index++)
		write_by_ourselves(fs, block + index, 5);
	ck_assert_uint_eq(block_read(fs, block + 7)[0], 5);
	ck_assert_ok(ext2mb_transaction_release_data(fs, block + 2, 3, 0));
	ck_assert_ok(write_run(fs, block + 3, 1, 6));
	ck_assert_error(ext2mb_transaction_commit(fs), EXT2MB_ET_CLAIMED);
	ck_assert(!is_filled_on_disk(fs, used, 9));
	ck_assert_ok(ext2mb_transaction_release_data(fs, block, 2, 0));
	ck_assert_error(ext2mb_transaction_commit(fs), EXT2MB_ET_CLAIMED);
	ck_assert_ok(ext2mb_transaction_release_data(fs, block + 5, 3, 0));
	ck_assert_ok(ext2mb_transaction_commit(fs));
	ck_assert(is_filled_on_disk(fs, used, 9));
	ck_assert(is_filled_on_disk(fs, block + 7, 5) && is_filled_on_disk(fs, block + 3, 6));
	ck_assert_ok(ext2fs_close(fs));
}
END_TEST

/* A step that would begin with a commit does not; the one that is open stays so. */
START_TEST(test_claims_and_steps)
{
	mb_image_make(EXT4_1K, "16M");
	ext2_filsys fs = transaction_image_open(0);
	blk64_t block = alloc_run(fs, 1200);

	ck_assert_ok(ext2mb_transaction_commit(fs));
	ck_assert_ok(ext2mb_transaction_begin(fs));
	for (unsigned int index = 0; index < 700; index++)
		ck_assert_ok(block_fill(fs, block + index, 'x'));
	blk64_t claimed = alloc_run(fs, 1);

	ck_assert_ok(ext2mb_transaction_claim_data(fs, claimed, 1));
	ck_assert_error(ext2mb_transaction_commit(fs), EXT2MB_ET_CLAIMED);
	ck_assert_ok(ext2mb_transaction_end(fs));
	ck_assert_error(ext2mb_transaction_begin(fs), EXT2MB_ET_CLAIMED);
	ck_assert(!is_filled_on_disk(fs, block, 'x'));
	ck_assert_ok(ext2mb_transaction_release_data(fs, claimed, 1, 0));
	ck_assert_ok(ext2mb_transaction_begin(fs));
	ck_assert(is_filled_on_disk(fs, block, 'x'));
	ck_assert_ok(ext2mb_transaction_commit(fs));
	ck_assert_ok(ext2fs_close(fs));
}
END_TEST

/* Two owners of a block: the channel's write is refused, and with it all of the transaction, which can be undone. */
START_TEST(test_channel_write_to_claimed)
{
	mb_image_make(EXT4_1K, "16M");
	ext2_filsys fs = transaction_image_open(0);
	blk64_t block = some_free_block(fs);

	ck_assert_ok(ext2mb_transaction_claim_data(fs, block, 1));
	write_by_ourselves(fs, block, 5);
	ck_assert_error(block_fill(fs, block, 1), EXT2MB_ET_CLAIMED);
	ck_assert(is_filled_on_disk(fs, block, 5));
	ck_assert_error(ext2mb_transaction_commit(fs), EXT2MB_ET_TRANSACTION_OVER);
	ck_assert_ok(ext2mb_transaction_release_data(fs, block, 1, 0));
	ck_assert_ok(transaction_undo(fs));
	make_directory(fs, 0);
	ck_assert_ok(ext2mb_transaction_commit(fs));
	ck_assert_ok(ext2fs_close(fs));
	mb_image_check();
}
END_TEST

/* Whether libext2fs has flushed already or not: metadata may refer to what is not there. */
START_TEST(test_close_with_claim)
{
	ext2_ino_t ino;

	mb_image_make(EXT4_1K, "16M");
	ext2_filsys fs = transaction_image_open(0);

	ck_assert_ok(ext2mb_transaction_claim_data(fs, alloc_run(fs, 1), 1));
	make_directory(fs, 0);
	if (_i)
		ck_assert_ok(ext2fs_flush(fs));
	ck_assert_error(ext2fs_close(fs), EXT2MB_ET_CLAIMED);
	ck_assert_error(transaction_image_info(fs).why_over, EXT2MB_ET_CLAIMED);
	ext2fs_free(fs);
	mb_image_check();
	fs = transaction_image_open(0);
	ck_assert_error(ext2fs_lookup(fs, EXT2_ROOT_INO, "directory0", 10, NULL, &ino), EXT2_ET_FILE_NOT_FOUND);
	ck_assert_ok(ext2fs_close(fs));
}
END_TEST

/* A discard that waits does not take what has been written since. */
START_TEST(test_discard)
{
	mb_image_make(EXT4_1K, "16M");
	ext2_filsys fs = transaction_image_open(0);
	blk64_t block = some_free_block(fs);

	ck_assert_ok(write_run(fs, block, 3, 1));
	ck_assert_ok(io_channel_discard(fs->io, block, 3));
	ck_assert_ok(write_run(fs, block + 1, 1, 2));
	ck_assert_ok(ext2mb_transaction_claim_data(fs, block + 2, 1));
	write_by_ourselves(fs, block + 2, 3);
	ck_assert_ok(ext2mb_transaction_release_data(fs, block + 2, 1, 0));
	ck_assert_ok(ext2mb_transaction_commit(fs));
	ck_assert(is_filled_on_disk(fs, block, 0));
	ck_assert(is_filled_on_disk(fs, block + 1, 2) && is_filled_on_disk(fs, block + 2, 3));
	ck_assert_ok(ext2fs_close(fs));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("transaction_data");
	TCase *tests = mb_image_case(suite);

	tcase_add_loop_test(tests, test_writers, 0, 2);
	tcase_add_test(tests, test_commits_meanwhile);
	tcase_add_test(tests, test_not_free);
	tcase_add_test(tests, test_freed_since);
	tcase_add_test(tests, test_no_transaction);
	tcase_add_test(tests, test_forked);
	tcase_add_test(tests, test_claims);
	tcase_add_test(tests, test_claims_and_steps);
	tcase_add_test(tests, test_channel_write_to_claimed);
	tcase_add_loop_test(tests, test_close_with_claim, 0, 2);
	tcase_add_test(tests, test_discard);
	return run_suite(suite);
}
