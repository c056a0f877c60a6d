/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Workers of an allocator that serves libext2fs: what the program marks in the map without a word is not handed out. */
#include <pthread.h>
#include <string.h>

#include "attach_judge.h"
#include "unit.h"

#define ROUNDS 200

static const char *const kinds[] = {
	"-t ext4 -b 1024 -g 1024 -N 256 -O ^has_journal,^orphan_file,^resize_inode,^flex_bg",
	"-t ext4 -b 4096 -O bigalloc,^orphan_file,^has_journal -C 16384",
};

struct taken {
	ext2_filsys fs;
	struct ext2mb_worker *worker;
	ext2fs_block_bitmap owned; /* what this test has marked */
	uint64_t cluster;          /* blocks */
};

static struct taken begin(const char *options)
{
	struct taken taken = { .fs = attach_open_image(options, "16M") };

	taken.cluster = (uint64_t)EXT2FS_CLUSTER_RATIO(taken.fs);
	ck_assert_ok(ext2mb_worker_open(ext2mb_attached(taken.fs), &taken.worker));
	ck_assert_ok(ext2fs_allocate_block_bitmap(taken.fs, "owned", &taken.owned));
	return taken;
}

static void mark(struct taken *taken, uint64_t start, uint64_t count)
{
	ext2fs_mark_block_bitmap_range2(taken->fs->block_map, start, (unsigned int)count);
	ext2fs_mark_block_bitmap_range2(taken->owned, start, (unsigned int)count);
}

/* The clusters that it marks are those that come next, or one of them: 0, 1, ... of each four. */
static void mark_after(struct taken *taken, const struct ext2mb_extent *extent, unsigned int round)
{
	for (uint64_t step = 0; step < 4; step++) {
		uint64_t block = extent->start + extent->count + step * taken->cluster;

		if (((round >> step) & 1) && block + taken->cluster < ext2fs_blocks_count(taken->fs->super) &&
		    ext2fs_test_block_bitmap_range2(taken->fs->block_map, block, (unsigned int)taken->cluster))
			mark(taken, block, taken->cluster);
	}
}

static void take(struct taken *taken, const struct ext2mb_extent *extent)
{
	ck_assert(ext2fs_test_block_bitmap_range2(taken->fs->block_map, extent->start, (unsigned int)extent->count));
	mark(taken, extent->start, extent->count);
}

static void end(struct taken *taken)
{
	ext2_ino_t ino;

	/* Nor do libext2fs's own calls, and the books are whole. */
	ext2mb_worker_close(taken->worker);
	ck_assert_ok(ext2fs_mkdir(taken->fs, EXT2_ROOT_INO, 0, "directory"));
	ck_assert_ok(ext2fs_namei(taken->fs, EXT2_ROOT_INO, EXT2_ROOT_INO, "directory", &ino));
	attach_check_books(taken->fs);
	ck_assert_ok(ext2mb_detach(taken->fs));
	ext2fs_free_block_bitmap(taken->owned);
	ext2fs_free(taken->fs);
}

START_TEST(test_blocks)
{
	struct taken taken = begin(kinds[_i]);
	struct ext2mb_request request = { .struct_bytes = sizeof(request) };
	struct ext2mb_extent extent;

	for (unsigned int round = 0; round < ROUNDS; round++) {
		request.count = (1 + round % 7) * taken.cluster;
		request.goal = round % 3 ? 0 : extent.start + extent.count;
		errcode_t error = ext2mb_alloc(taken.worker, &request, &extent);

		if (error == EXT2MB_ET_NO_SPACE)
			break;
		ck_assert_ok(error);
		take(&taken, &extent);
		mark_after(&taken, &extent, round);
	}
	end(&taken);
}
END_TEST

/* Also from a preallocation, which the map shows as free. */
START_TEST(test_files)
{
	struct taken taken = begin(kinds[_i]);
	struct ext2mb_file_info info = { .struct_bytes = sizeof(info), .ino = 12 };
	struct ext2mb_file_request request = { .struct_bytes = sizeof(request) };
	struct ext2mb_stats stats = { .struct_bytes = sizeof(stats) };
	struct ext2mb_extent extent;
	struct ext2mb_file *file;

	ck_assert_ok(ext2mb_file_open(taken.worker, &info, &file));
	for (unsigned int round = 0; round < ROUNDS; round++) {
		request.count = (1 + round % 3) * taken.cluster;
		ck_assert_ok(ext2mb_file_alloc(taken.worker, file, &request, &extent));
		take(&taken, &extent);
		request.logical += extent.count;
		if (round % 10 == 9)
			mark_after(&taken, &extent, round);
	}
	ck_assert_ok(ext2mb_read_stats(ext2mb_attached(taken.fs), &stats));
	ck_assert_uint_gt(stats.preallocation_hits, ROUNDS / 4);
	ext2mb_file_close(taken.worker, file);
	end(&taken);
}
END_TEST

/* What is left of the last free piece is handed out, and no more than that. */
START_TEST(test_to_the_end)
{
	struct taken taken = begin(kinds[_i]);
	struct ext2mb_request request = { .struct_bytes = sizeof(request), .count = 5 * taken.cluster };
	uint64_t first = taken.fs->super->s_first_data_block, end_block = ext2fs_blocks_count(taken.fs->super);
	struct ext2mb_extent extent;
	errcode_t error;

	/* Every third cluster, in groups that the allocator has read and in others. */
	ck_assert_ok(ext2mb_alloc(taken.worker, &request, &extent));
	take(&taken, &extent);
	for (uint64_t block = first; block + taken.cluster <= end_block; block += 3 * taken.cluster)
		if (ext2fs_test_block_bitmap_range2(taken.fs->block_map, block, (unsigned int)taken.cluster))
			mark(&taken, block, taken.cluster);
	while (!(error = ext2mb_alloc(taken.worker, &request, &extent)))
		take(&taken, &extent);
	ck_assert_error(error, EXT2MB_ET_NO_SPACE);
	for (uint64_t block = first; block + 2 * taken.cluster <= end_block; block += taken.cluster)
		ck_assert(!ext2fs_test_block_bitmap_range2(taken.fs->block_map, block, (unsigned int)taken.cluster));
	ext2mb_worker_close(taken.worker);
	attach_check_books(taken.fs);
	ck_assert_ok(ext2mb_detach(taken.fs));
	ext2fs_free_block_bitmap(taken.owned);
	ext2fs_free(taken.fs);
}
END_TEST

#define THREADS 4
#define MOST_EXTENTS 2000

struct thread {
	pthread_t thread;
	struct ext2mb *mb;
	struct ext2mb_extent extents[MOST_EXTENTS];
	unsigned int count;
};

static void *take_all(void *argument)
{
	struct ext2mb_request request = { .struct_bytes = sizeof(request), .count = 16 };
	struct thread *thread = argument;
	struct ext2mb_worker *worker;

	if (ext2mb_worker_open(thread->mb, &worker))
		return NULL;
	while (thread->count < MOST_EXTENTS && !ext2mb_alloc(worker, &request, &thread->extents[thread->count]))
		thread->count++;
	ext2mb_worker_close(worker);
	return thread;
}

static errcode_t forget_text(void *context, const char *text, size_t bytes)
{
	(void)context, (void)text, (void)bytes;
	return 0;
}

/* Several threads at the same time, after the program has marked: each block once, and none that was marked. */
START_TEST(test_threads)
{
	static struct thread threads[THREADS];
	struct taken taken = begin(kinds[0]);
	uint64_t first = taken.fs->super->s_first_data_block, end_block = ext2fs_blocks_count(taken.fs->super);

	ck_assert_ok(ext2mb_write_mb_groups(ext2mb_attached(taken.fs), forget_text, NULL)); /* reads all groups */
	for (uint64_t block = first; block < end_block; block += 5)
		if (ext2fs_test_block_bitmap_range2(taken.fs->block_map, block, 1))
			mark(&taken, block, 1);
	for (unsigned int index = 0; index < THREADS; index++) {
		threads[index].mb = ext2mb_attached(taken.fs);
		ck_assert_int_eq(pthread_create(&threads[index].thread, NULL, take_all, &threads[index]), 0);
	}
	for (unsigned int index = 0; index < THREADS; index++) {
		void *result;

		pthread_join(threads[index].thread, &result);
		ck_assert_ptr_nonnull(result);
	}
	for (unsigned int index = 0; index < THREADS; index++)
		for (unsigned int number = 0; number < threads[index].count; number++)
			take(&taken, &threads[index].extents[number]);
	ext2mb_worker_close(taken.worker);
	attach_check_books(taken.fs);
	ck_assert_ok(ext2mb_detach(taken.fs));
	ext2fs_free_block_bitmap(taken.owned);
	ext2fs_free(taken.fs);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("workers of attached allocators");
	TCase *tests = mb_image_case(suite);

	tcase_add_loop_test(tests, test_blocks, 0, sizeof(kinds) / sizeof(*kinds));
	tcase_add_loop_test(tests, test_files, 0, sizeof(kinds) / sizeof(*kinds));
	tcase_add_loop_test(tests, test_to_the_end, 0, sizeof(kinds) / sizeof(*kinds));
	tcase_add_test(tests, test_threads);
	return run_suite(suite);
}
