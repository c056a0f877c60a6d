/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file is written into a filesystem that exists, by what e2populate writes a new image with: contents by run writers
 * of two threads, the inode's block read, changed and written, all of it to a sink. e2fsck and libext2fs's own reader
 * judge.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "image/run_writer.h"
#include "image/transaction_sink.h"
#include "ondisk/inode.h"
#include "output/image_sink.h"
#include "transaction_image.h"
#include "unit.h"

#define FILE_BLOCKS 700u

/* Half of the file, by one thread. */
struct half {
	struct sink *sink;
	uint64_t start; /* the file's first block */
	uint32_t from, end;
	errcode_t error;
};

static void fill(void *bytes, uint32_t block, uint32_t block_bytes)
{
	for (uint32_t i = 0; i < block_bytes; i++)
		((uint8_t *)bytes)[i] = (uint8_t)(block * 7 + i / 5);
}

static void *write_half(void *context)
{
	struct half *half = context;
	struct run_writer writer = run_writer_create(half->sink);

	for (uint32_t block = half->from; !half->error && block < half->end; block++) {
		void *bytes;

		half->error = run_writer_reserve(&writer, half->start + block, 1, &bytes);
		if (!half->error)
			fill(bytes, block, half->sink->block_bytes);
	}
	if (!half->error)
		half->error = run_writer_flush(&writer);
	run_writer_free(&writer);
	return NULL;
}

static void write_contents(struct sink *sink, uint64_t start)
{
	struct half halves[] = {
		{ sink, start, 0, FILE_BLOCKS / 2, 0 },
		{ sink, start, FILE_BLOCKS / 2, FILE_BLOCKS, 0 },
	};
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, write_half, &halves[0]), 0);
	write_half(&halves[1]);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert_ok(halves[0].error);
	ck_assert_ok(halves[1].error);
}

/* In the inode's block there are others, which stay as they are. */
static void write_inode(struct sink *sink, ext2_filsys fs, uint32_t ino, uint64_t start)
{
	struct inode_value value = {
		.mode = LINUX_S_IFREG | 0644,
		.size_bytes = (uint64_t)FILE_BLOCKS * fs->blocksize - 3,
		.mtime = { 1700000000, 5 },
		.links = 1,
		.blocks = FILE_BLOCKS,
		.flags = EXT4_EXTENTS_FL,
	};
	const struct file_extent extent = { .logical = 0, .physical = start, .count = FILE_BLOCKS };
	uint64_t in_group = (ino - 1) % fs->super->s_inodes_per_group * EXT2_INODE_SIZE(fs->super);
	uint64_t block =
		ext2fs_inode_table_loc(fs, (ino - 1) / fs->super->s_inodes_per_group) + in_group / fs->blocksize;
	struct ondisk_format format;
	uint8_t *bytes = malloc(fs->blocksize);

	ck_assert_ok(ondisk_format_read(fs->super, &format));
	ck_assert_ok(file_map_build(&format, ino, 0, &extent, 1, NULL, value.root, NULL));
	ck_assert_ok(sink_read(sink, block, 1, bytes));
	ck_assert_ok(inode_encode(&format, ino, &value, NULL, bytes + in_group % fs->blocksize));
	ck_assert_ok(sink_write(sink, block, 1, bytes));
	free(bytes);
}

static void expect_file(const char *name)
{
	ext2_filsys fs = transaction_image_open(0);
	uint8_t *found = malloc(fs->blocksize), *expected = malloc(fs->blocksize);
	ext2_file_t file;
	ext2_ino_t ino;

	ck_assert_ok(ext2fs_namei(fs, EXT2_ROOT_INO, EXT2_ROOT_INO, name, &ino));
	ck_assert_ok(ext2fs_file_open(fs, ino, 0, &file));
	for (uint32_t block = 0; block < FILE_BLOCKS; block++) {
		unsigned int wanted = fs->blocksize - (block == FILE_BLOCKS - 1 ? 3 : 0), got;

		fill(expected, block, fs->blocksize);
		ck_assert_ok(ext2fs_file_read(file, found, fs->blocksize, &got));
		ck_assert_uint_eq(got, wanted);
		ck_assert_msg(!memcmp(found, expected, got), "block %u", block);
	}
	ck_assert_ok(ext2fs_file_close(file));
	ck_assert_ok(ext2fs_close(fs));
	free(found);
	free(expected);
}

START_TEST(one_file_into_a_filesystem_that_exists)
{
	mb_image_make("-t ext4 -b 1024 -O ^inline_data", "16M");
	ext2_filsys fs = transaction_image_open(0);
	struct transaction_sink transaction;
	blk64_t start, count;
	ext2_ino_t ino;

	transaction_sink_init(&transaction, fs);
	struct sink *sink = &transaction.sink;

	ck_assert_ok(sink->operations->begin(sink));
	ck_assert_ok(ext2fs_new_inode(fs, EXT2_ROOT_INO, LINUX_S_IFREG, NULL, &ino));
	ext2fs_inode_alloc_stats2(fs, ino, 1, 0);
	ck_assert_ok(ext2fs_new_range(fs, 0, 0, FILE_BLOCKS, NULL, &start, &count));
	ck_assert_uint_eq(count, FILE_BLOCKS);
	ext2fs_block_alloc_stats_range(fs, start, FILE_BLOCKS, 1);
	write_contents(sink, start);
	write_inode(sink, fs, ino, start);
	ck_assert_ok(ext2fs_link(fs, EXT2_ROOT_INO, "file", ino, EXT2_FT_REG_FILE));
	ck_assert_ok(sink->operations->end(sink));
	ck_assert_ok(sink->operations->barrier(sink));
	/* The blocks belong to a file, and are metadata to everything else. */
	uint8_t *bytes = calloc(1, fs->blocksize);

	ck_assert_int_eq(sink_write_data(sink, start, 1, bytes), EXT2MB_ET_NOT_FREE);
	free(bytes);
	ck_assert_ok(ext2fs_close(fs));
	run_on_image("e2fsck -fn $IMAGE >/dev/null 2>&1");
	expect_file("/file");
}
END_TEST

START_TEST(an_image_reads_what_it_was_given)
{
	int descriptor = memfd_create("image", 0);
	const struct image image = { descriptor, -1, 4096 };
	uint8_t written[3 * 1024], found[3 * 1024];
	struct image_sink own;

	ck_assert_int_ge(descriptor, 0);
	image_sink_init(&own, &image, 1024);
	struct sink *sink = &own.sink;

	fill(written, 1, sizeof(written));
	ck_assert_ok(sink_write(sink, 5, 2, written));
	ck_assert_ok(sink_write_data(sink, 7, 1, written + 2048));
	ck_assert_ok(sink->operations->barrier(sink));
	ck_assert_ok(sink_read(sink, 5, 3, found));
	ck_assert_mem_eq(found, written, sizeof(written));
	ck_assert_int_eq(sink_read(sink, 8, 1, found), ENODATA);
	sink->operations->discard(sink, 5, 1);
	memset(written, 0, 1024);
	ck_assert_ok(sink_read(sink, 5, 3, found));
	ck_assert_mem_eq(found, written, sizeof(written));
	close(descriptor);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("sink");
	TCase *tests = mb_image_case(suite);

	tcase_add_test(tests, one_file_into_a_filesystem_that_exists);
	tcase_add_test(tests, an_image_reads_what_it_was_given);
	return run_suite(suite);
}
