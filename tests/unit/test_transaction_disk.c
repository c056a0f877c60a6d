/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Contents that threads write in a transaction, on a disk that is watched: what comes after what, what goes on at the
 * same time, and what happens when it fails.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "data_writer.h"
#include "seeded_random.h"
#include "transaction/undo.h"
#include "transaction_image.h"
#include "unit.h"
#include "watched_disk.h"

#define WRITERS 4
#define EXT4_1K "-t ext4 -b 1024 -O ^orphan_file -J size=1 -N 128"

/* Contents, a flush, and only then the commit block; or without a journal what refers to them. */
START_TEST(test_order)
{
	mb_image_make(_i ? "-t ext4 -b 1024 -O ^has_journal,^orphan_file" : EXT4_1K, "16M");
	ext2_filsys fs = watched_disk_open(_i ? EXT2MB_NO_JOURNAL : 0, 0);
	blk64_t block = alloc_run(fs, 1), used = some_used_block(fs);

	ck_assert_ok(write_run(fs, block, 1, 7));
	ck_assert_ok(block_fill(fs, used, 8));
	ck_assert_ok(ext2mb_transaction_commit(fs));
	size_t data = watched_disk_find(WATCHED_WRITE, block, 0);
	size_t flush = watched_disk_find(WATCHED_FLUSH, 0, data);
	size_t last = _i ? watched_disk_find(WATCHED_WRITE, used, 0) : watched_disk_find(WATCHED_COMMIT_BLOCK, 0, 0);

	ck_assert_uint_lt(data, flush);
	ck_assert_uint_lt(flush, last);
	ck_assert_uint_lt(last, WATCHED_NEVER);

	/* Contents alone are flushed, too. */
	ck_assert_ok(write_run(fs, some_free_block(fs), 1, 7));
	size_t next = watched_disk_find(WATCHED_WRITE, some_free_block(fs), 0);

	ck_assert_ok(ext2mb_transaction_commit(fs));
	ck_assert_uint_lt(watched_disk_find(WATCHED_FLUSH, 0, next), WATCHED_NEVER);
	ck_assert_ok(ext2fs_close(fs));
}
END_TEST

static errcode_t fail_by_write(ext2_filsys fs, blk64_t block)
{
	watched_disk.failing_block = block;
	return write_run(fs, block, 1, 1);
}

static errcode_t fail_by_program(ext2_filsys fs, blk64_t block)
{
	errcode_t error = ext2mb_transaction_claim_data(fs, block, 1);

	if (!error)
		error = ext2mb_transaction_release_data(fs, block, 1, EIO);
	return error ? error : EIO;
}

/* Metadata that refers to what could not be written is never committed. */
START_TEST(test_failing_disk)
{
	errcode_t (*const ways[])(ext2_filsys fs, blk64_t block) = { fail_by_write, fail_by_program };
	size_t bytes;

	mb_image_make(EXT4_1K, "16M");
	ext2_filsys fs = watched_disk_open(0, _i == 2 ? WATCHED_ALONE : 0);
	blk64_t block = alloc_run(fs, 1);

	make_directory(fs, 0);
	ck_assert_ok(ext2fs_flush(fs));
	uint8_t *before = whole_image(&bytes);

	ck_assert_error(ways[_i % 2](fs, block), EIO);
	ck_assert_error(transaction_image_info(fs).why_over, EIO);
	ck_assert_error(write_run(fs, block, 1, 1), EXT2MB_ET_TRANSACTION_OVER);
	ck_assert_error(ext2mb_transaction_commit(fs), EXT2MB_ET_TRANSACTION_OVER);
	ck_assert_error(transaction_undo(fs), EXT2MB_ET_TRANSACTION_OVER);
	ext2fs_free(fs);
	uint8_t *after = whole_image(&bytes);

	ck_assert_mem_eq(before, after, bytes);
	free(before);
	free(after);
}
END_TEST

/* Two writes are in the disk at the same time, and the channel is used meanwhile. */
START_TEST(test_at_the_same_time)
{
	struct writer writers[2];

	mb_image_make(EXT4_1K, "16M");
	ext2_filsys fs = watched_disk_open(0, 0);
	blk64_t block = alloc_run(fs, 2);

	watched_disk_close_gate(block, 2);
	for (unsigned int index = 0; index < 2; index++) {
		writers[index] = (struct writer){ .fs = fs, .start = block + index, .count = 1, .byte = 1 };
		start_writer(&writers[index], write_once);
	}
	watched_disk_await(2);
	make_directory(fs, 0);
	ck_assert_ok(ext2fs_flush(fs));
	ck_assert_uint_eq(block_read(fs, some_used_block(fs))[0], block_on_disk(fs, some_used_block(fs))[0]);
	ck_assert_error(write_run(fs, block, 1, 2), EXT2MB_ET_CLAIMED);
	watched_disk_open_gate();
	for (unsigned int index = 0; index < 2; index++)
		ck_assert_ok(join_writer(&writers[index]));
	ck_assert_ok(ext2mb_transaction_commit(fs));
	ck_assert_ok(ext2fs_close(fs));
}
END_TEST

/* If only one thread at a time may use the disk, threads take turns. */
START_TEST(test_one_at_a_time)
{
	struct writer writers[WRITERS];
	struct random random = random_start("one at a time");

	mb_image_make(EXT4_1K, "16M");
	ext2_filsys fs = watched_disk_open(0, WATCHED_ALONE);

	ck_assert_error(ext2mb_transaction_claim_data(fs, some_free_block(fs), 1), EXT2_ET_OP_NOT_SUPPORTED);
	for (unsigned int index = 0; index < WRITERS; index++) {
		writers[index] =
			(struct writer){ fs, alloc_run(fs, 200), 200, (int)index + 1, 8, random_next(&random), 0, 0 };
		start_writer(&writers[index], write_in_parts);
	}
	make_directory(fs, 0);
	ck_assert_ok(ext2fs_flush(fs));
	for (unsigned int index = 0; index < WRITERS; index++)
		ck_assert_ok(join_writer(&writers[index]));
	ck_assert_ok(ext2mb_transaction_commit(fs));
	ck_assert_uint_eq(atomic_load(&watched_disk.most_users), 1);
	ck_assert(is_filled_on_disk(fs, writers[3].start + 199, 4));
	ck_assert_ok(ext2fs_close(fs));
}
END_TEST

struct ending {
	ext2_filsys fs;
	errcode_t (*end)(ext2_filsys fs);
	errcode_t error;
	atomic_bool has_ended;
};

static void *end_in_thread(void *context)
{
	struct ending *ending = context;

	ending->error = ending->end(ending->fs);
	atomic_store(&ending->has_ended, true);
	return NULL;
}

/* A commit, and an abort, that begins while a write is in the disk, ends after it, and knows that it has failed. */
START_TEST(test_waits)
{
	const struct timespec moment = { .tv_nsec = 100 * 1000 * 1000 };
	pthread_t thread;

	mb_image_make(EXT4_1K, "16M");
	ext2_filsys fs = watched_disk_open(0, 0);
	blk64_t block = alloc_run(fs, 1);
	struct writer writer = { .fs = fs, .start = block, .count = 1, .byte = 6 };
	struct ending ending = { .fs = fs, .end = _i == 1 ? ext2mb_transaction_abort : ext2mb_transaction_commit };

	if (_i == 2)
		watched_disk.failing_block = block;
	watched_disk_close_gate(block, 1);
	start_writer(&writer, write_once);
	watched_disk_await(1);
	ck_assert_int_eq(pthread_create(&thread, NULL, end_in_thread, &ending), 0);
	nanosleep(&moment, NULL);
	ck_assert(!atomic_load(&ending.has_ended));
	ck_assert_uint_eq(watched_disk_find(WATCHED_COMMIT_BLOCK, 0, 0), WATCHED_NEVER);
	watched_disk_open_gate();
	ck_assert_error(join_writer(&writer), _i == 2 ? EIO : 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	if (_i == 2) {
		ck_assert(ending.error == EIO || ending.error == EXT2MB_ET_TRANSACTION_OVER);
		ck_assert_uint_eq(watched_disk_find(WATCHED_COMMIT_BLOCK, 0, 0), WATCHED_NEVER);
		ext2fs_free(fs);
		return;
	}
	ck_assert_ok(ending.error);
	if (_i == 1) {
		ck_assert_error(write_run(fs, block, 1, 1), EXT2MB_ET_TRANSACTION_OVER);
		ext2fs_free(fs);
		return;
	}
	size_t data = watched_disk_find(WATCHED_WRITE, block, 0);

	ck_assert_uint_lt(data, watched_disk_find(WATCHED_FLUSH, 0, data));
	ck_assert_uint_lt(watched_disk_find(WATCHED_FLUSH, 0, data), watched_disk_find(WATCHED_COMMIT_BLOCK, 0, 0));
	ck_assert_error(write_run(fs, block, 1, 1), EXT2MB_ET_NOT_FREE);
	ck_assert_ok(ext2fs_close(fs));
}
END_TEST

/* How many descriptors of the image may be written, and how many of these have O_DIRECT. */
static void count_descriptors(unsigned int *writable, unsigned int *direct)
{
	struct stat image, status;

	*writable = *direct = 0;
	ck_assert_int_eq(stat(mb_image_path(), &image), 0);
	for (int descriptor = 0; descriptor < 256; descriptor++) {
		int flags = fcntl(descriptor, F_GETFL);

		if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY || fstat(descriptor, &status) ||
		    status.st_ino != image.st_ino || status.st_dev != image.st_dev)
			continue;
		++*writable;
		*direct += (flags & O_DIRECT) != 0;
	}
}

#define READERS 2
#define KEPT_BLOCKS 4

static atomic_bool writers_have_ended;

/* By way of memory that is not aligned. */
static void *read_kept(void *context)
{
	struct writer *reader = context;
	uint8_t read[KEPT_BLOCKS * MOST_BLOCK_BYTES + 1], kept[KEPT_BLOCKS * MOST_BLOCK_BYTES];
	size_t bytes = KEPT_BLOCKS * reader->fs->blocksize;

	memset(kept, reader->byte, sizeof(kept));
	while (!atomic_load(&writers_have_ended) && !reader->error) {
		reader->error = io_channel_read_blk64(reader->fs->io, reader->start, KEPT_BLOCKS, read + 1);
		if (!reader->error && memcmp(read + 1, kept, bytes))
			reader->error = EILSEQ;
	}
	return NULL;
}

/* Threads whose memory is not aligned, while others read by way of memory that is not. */
static void write_unaligned(ext2_filsys fs)
{
	const unsigned int count = 1200;
	struct random random = random_start("direct");
	struct writer writers[WRITERS], readers[READERS];

	for (unsigned int index = 0; index < READERS; index++) {
		readers[index] =
			(struct writer){ .fs = fs, .start = alloc_run(fs, KEPT_BLOCKS), .byte = 'k' + (int)index };
		ck_assert_ok(write_run(fs, readers[index].start, KEPT_BLOCKS, readers[index].byte));
		start_writer(&readers[index], read_kept);
	}
	for (unsigned int index = 0; index < WRITERS; index++) {
		writers[index] = (struct writer){ fs, alloc_run(fs, count), count, (int)index + 1,
			                          8,  random_next(&random), 0,     0 };
		start_writer(&writers[index], write_in_parts);
	}
	for (unsigned int index = 0; index < WRITERS; index++)
		ck_assert_ok(join_writer(&writers[index]));
	atomic_store(&writers_have_ended, true);
	for (unsigned int index = 0; index < READERS; index++)
		ck_assert_ok(join_writer(&readers[index]));
	for (unsigned int index = 0; index < WRITERS; index++)
		for (unsigned int block = 0; block < count; block++) {
			ck_assert_uint_eq(block_read(fs, writers[index].start + block)[0], index + 1);
			ck_assert(is_filled_on_disk(fs, writers[index].start + block, (int)index + 1));
		}
}

/* All goes through one descriptor, with O_DIRECT or without, as the program has opened the filesystem. */
START_TEST(test_direct)
{
	static const char *const options[] = { "-t ext4 -b 4096 -O ^orphan_file -J size=4 -N 128", EXT4_1K };
	unsigned int writable, direct;
	ext2_filsys fs;

	mb_image_make(options[_i], "48M");
	int file = open(mb_image_path(), O_RDWR | O_DIRECT | O_CLOEXEC);

	if (file < 0) {
		skip_part("O_DIRECT: the folder has none");
		return;
	}
	close(file);
	initialize_e2mb_error_table();
	ck_assert_ok(ext2fs_open(mb_image_path(), EXT2_FLAG_RW | EXT2_FLAG_64BITS | EXT2_FLAG_DIRECT_IO, 0, 0,
	                         ext2mb_transaction_io_manager(0), &fs));
	ck_assert_ok(ext2fs_read_bitmaps(fs));
	ck_assert_int_gt(fs->io->align, 0);
	write_unaligned(fs);
	if (fs->blocksize % (unsigned int)fs->io->align)
		ck_assert_error(ext2mb_transaction_claim_data(fs, some_free_block(fs), 1), EXT2_ET_OP_NOT_SUPPORTED);
	count_descriptors(&writable, &direct);
	ck_assert_uint_eq(writable, 1);
	ck_assert_uint_eq(direct, 1);
	ck_assert_ok(ext2mb_transaction_commit(fs));
	ck_assert_ok(ext2fs_close(fs));
	fs = transaction_image_open(0);
	ck_assert_ok(write_run(fs, some_free_block(fs), 1, 1));
	count_descriptors(&writable, &direct);
	ck_assert_uint_eq(writable, 1);
	ck_assert_uint_eq(direct, 0);
	ck_assert_ok(ext2fs_close(fs));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("transaction_disk");
	TCase *tests = mb_image_case(suite);

	tcase_add_loop_test(tests, test_order, 0, 2);
	tcase_add_loop_test(tests, test_failing_disk, 0, 3);
	tcase_add_test(tests, test_at_the_same_time);
	tcase_add_test(tests, test_one_at_a_time);
	tcase_add_loop_test(tests, test_waits, 0, 3);
	tcase_add_loop_test(tests, test_direct, 0, 2);
	return run_suite(suite);
}
