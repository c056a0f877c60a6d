/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where things meet: borders of groups, ends of numbers, requests that contradict themselves. */
#include <errno.h>
#include <malloc.h>
#include <string.h>

#include "compare/orphan_slots_locked.h"
#include "mb_image.h"
#include "seeded_random.h"
#include "unit.h"

static void open_allocator(ext2_filsys *fs, struct ext2mb **mb, struct ext2mb_worker **worker)
{
	*fs = mb_image_open();
	ck_assert_ok(ext2mb_open(*fs, NULL, mb));
	ck_assert_ok(ext2mb_worker_open(*mb, worker));
}

static void close_allocator(ext2_filsys fs, struct ext2mb *mb, struct ext2mb_worker *worker)
{
	ext2mb_worker_close(worker);
	ext2mb_close(mb);
	ck_assert_ok(ext2fs_close(fs));
}

static errcode_t forget_text(void *context, const char *text, size_t bytes)
{
	(void)context, (void)text, (void)bytes;
	return 0;
}

/* Every group can be believed, and what is free is as much as was expected. */
static void expect_free(uint64_t expected)
{
	struct ext2mb_stats stats = { .struct_bytes = sizeof(stats) };
	struct ext2mb_worker *worker;
	struct ext2mb *mb;
	ext2_filsys fs;

	open_allocator(&fs, &mb, &worker);
	ck_assert_ok(ext2mb_write_mb_groups(mb, forget_text, NULL));
	ck_assert_ok(ext2mb_read_stats(mb, &stats));
	ck_assert_uint_eq(stats.corrupt_groups, 0);
	ck_assert_uint_eq(ext2mb_free_blocks(mb), expected);
	ck_assert_uint_eq(ext2fs_free_blocks_count(fs->super), expected);
	close_allocator(fs, mb, worker);
}

/*
 * Small files that were written in their middle only leave the beginnings and the ends of their windows to the pool of
 * their directory. Where a group ends, an end and a beginning touch, but each belongs to its own group.
 */
START_TEST(test_pool_at_border)
{
	static struct ext2mb_file *files[600];
	struct ext2mb_worker *worker;
	struct ext2mb *mb;
	ext2_filsys fs;

	mb_image_make("-t ext4 -b 1024 -g 512 -G 64 -O ^resize_inode,sparse_super2,^has_journal -N 512", "32M");
	open_allocator(&fs, &mb, &worker);
	for (unsigned int number = 0; number < 600; number++) {
		struct ext2mb_file_info info = { .struct_bytes = sizeof(info), .ino = 12, .parent = 2, .blocks = 16 };
		struct ext2mb_file_request request = {
			.struct_bytes = sizeof(request), .logical = 8, .count = 2, .hole_end = 16
		};
		struct ext2mb_extent extent;

		ck_assert_ok(ext2mb_file_open(worker, &info, &files[number]));
		ck_assert_ok(ext2mb_file_alloc(worker, files[number], &request, &extent));
	}
	for (unsigned int number = 0; number < 600; number++) {
		ext2mb_file_close(worker, files[number]);
		mb_check(mb);
	}
	ck_assert_ok(ext2mb_sync(mb));
	mb_check(mb);
	ck_assert_uint_eq(ext2mb_reserved_blocks(mb), 0);
	close_allocator(fs, mb, worker);
}
END_TEST

/* An unreplayed journal would overwrite a sync's writes. Opening for reading is allowed. */
START_TEST(test_needs_recovery)
{
	struct ext2mb *mb;

	mb_image_make("-t ext4 -b 1024", "16M");
	ext2_filsys fs = mb_image_open();
	ext2fs_set_feature_journal_needs_recovery(fs->super);
	ck_assert_error(ext2mb_open(fs, NULL, &mb), EXT2MB_ET_NEEDS_RECOVERY);
	fs->flags &= ~EXT2_FLAG_RW;
	ck_assert_ok(ext2mb_open(fs, NULL, &mb));
	ck_assert_error(ext2mb_sync(mb), EXT2_ET_RO_FILSYS);
	ext2mb_close(mb);
	ext2fs_free(fs);
}
END_TEST

/* The root directory and the other inodes of the filesystem itself would be to be had. */
static void lower_first_inode(ext2_filsys fs)
{
	fs->super->s_first_ino = 2;
}

static void cut_a_cluster(ext2_filsys fs)
{
	ext2fs_blocks_count_set(fs->super, ext2fs_blocks_count(fs->super) - 8);
}

static void add_an_inode(ext2_filsys fs)
{
	fs->super->s_inodes_count++;
}

static void drop_inodes(ext2_filsys fs)
{
	fs->super->s_inodes_per_group = fs->super->s_inodes_count = 0;
}

static void add_a_group(ext2_filsys fs)
{
	fs->group_desc_count++;
	fs->super->s_inodes_count += fs->super->s_inodes_per_group;
}

/* More clusters than a bitmap of one block has bits, and a filesystem that is no longer than one such group. */
static void outgrow_bitmap(ext2_filsys fs)
{
	fs->super->s_clusters_per_group = 8 * fs->blocksize + 8;
	fs->super->s_blocks_per_group = fs->super->s_clusters_per_group << fs->cluster_ratio_bits;
	fs->group_desc_count = 1;
	fs->super->s_inodes_count = fs->super->s_inodes_per_group;
}

static void (*const geometries[])(ext2_filsys) = { lower_first_inode, cut_a_cluster, add_an_inode,
	                                           drop_inodes,       add_a_group,   outgrow_bitmap };

START_TEST(test_bad_geometry)
{
	struct ext2mb *mb;

	mb_image_make("-t ext4 -b 1024 -O bigalloc,^has_journal -C 16384 -N 512", "64M");
	ext2_filsys fs = mb_image_open();
	ck_assert_ok(ext2mb_open(fs, NULL, &mb));
	ext2mb_close(mb);
	geometries[_i](fs);
	ck_assert_error(ext2mb_open(fs, NULL, &mb), EXT2MB_ET_BAD_GEOMETRY);
	ext2fs_free(fs);
}
END_TEST

/* With meta_bg every 16th group or so has a block of descriptors, and so have its neighbours. */
START_TEST(test_meta_bg)
{
	struct ext2mb_worker *worker;
	unsigned int found = 0;
	struct ext2mb *mb;
	ext2_filsys fs;

	mb_image_make("-t ext4 -b 1024 -g 1024 -O meta_bg,^resize_inode,^has_journal", "64M");
	fs = mb_image_open();
	uint64_t free_blocks = ext2fs_free_blocks_count(fs->super);
	ck_assert_ok(ext2mb_open(fs, NULL, &mb));
	ck_assert_ok(ext2mb_worker_open(mb, &worker));
	for (dgrp_t group = 0; group < fs->group_desc_count; group++) {
		blk64_t descriptors = 0;

		ck_assert_ok(ext2fs_super_and_bgd_loc2(fs, group, NULL, NULL, &descriptors, NULL));
		if (!descriptors)
			continue;
		found++;
		ck_assert_error(ext2mb_free(worker, descriptors, 1), EXT2MB_ET_METADATA_FREE);
	}
	ck_assert_uint_ge(found, 6);
	close_allocator(fs, mb, worker);
	expect_free(free_blocks);
}
END_TEST

/* Packing gives what comes first: all in one piece, or at one place only, are other wishes. */
START_TEST(test_contradictions)
{
	static const uint32_t flags[] = { EXT2MB_ALLOC_PACK | EXT2MB_ALLOC_WHOLE,
		                          EXT2MB_ALLOC_PACK | EXT2MB_ALLOC_GOAL_ONLY,
		                          EXT2MB_ALLOC_PACK | EXT2MB_ALLOC_STREAM };
	struct ext2mb_worker *worker;
	struct ext2mb_extent extent;
	struct ext2mb *mb;
	ext2_filsys fs;

	mb_image_make("-t ext4 -b 1024", "16M");
	open_allocator(&fs, &mb, &worker);
	for (size_t index = 0; index < sizeof(flags) / sizeof(*flags); index++) {
		struct ext2mb_request request = { .struct_bytes = sizeof(request),
			                          .count = 8000,
			                          .flags = flags[index] };

		ck_assert_error(ext2mb_alloc(worker, &request, &extent), EXT2MB_ET_BAD_ARGUMENT);
	}
	close_allocator(fs, mb, worker);
}
END_TEST

/* No file is so long; what it asks for next is served as for any other. */
START_TEST(test_truncate_beyond_end)
{
	static const enum ext2mb_normalization normalizations[] = { EXT2MB_NORMALIZE_EXT2MB, EXT2MB_NORMALIZE_TABLE,
		                                                    EXT2MB_NORMALIZE_POW2 };
	struct ext2mb_options options = { .struct_bytes = sizeof(options), .normalization = normalizations[_i] };
	struct ext2mb_file_info info = { .struct_bytes = sizeof(info), .ino = 12, .parent = 2 };
	struct ext2mb_file_request request = {
		.struct_bytes = sizeof(request), .logical = 64, .count = 20, .hole_end = UINT32_MAX
	};
	struct ext2mb_worker *worker;
	struct ext2mb_extent extent;
	struct ext2mb_file *file;
	struct ext2mb *mb;

	mb_image_make("-t ext4 -b 1024", "16M");
	ext2_filsys fs = mb_image_open();
	ck_assert_ok(ext2mb_open(fs, &options, &mb));
	ck_assert_ok(ext2mb_worker_open(mb, &worker));
	ck_assert_ok(ext2mb_file_open(worker, &info, &file));
	ext2mb_file_truncate(worker, file, UINT64_MAX);
	ck_assert_ok(ext2mb_file_alloc(worker, file, &request, &extent));
	ck_assert_uint_eq(extent.count, 20);
	ck_assert_uint_ne(ext2mb_reserved_blocks(mb), 0);
	ext2mb_file_truncate(worker, file, 0);
	ck_assert_uint_eq(ext2mb_reserved_blocks(mb), 0);
	ext2mb_file_close(worker, file);
	mb_check(mb);
	close_allocator(fs, mb, worker);
}
END_TEST

/*
 * A file that grows at the end of the filesystem, where less is left than its next extent: it goes on elsewhere, and
 * nothing is looked for beyond the last group (of which nothing but memory that is not the allocator's would tell).
 */
START_TEST(test_growth_at_end)
{
	static const char *const sizes[] = { "1G", "1000M", "900001K" };
	struct ext2mb_request used = { .struct_bytes = sizeof(used), .count = 1, .flags = EXT2MB_ALLOC_GOAL_ONLY };
	struct ext2mb_file_info info = { .struct_bytes = sizeof(info), .ino = 12, .parent = 2, .blocks = 32768 };
	struct ext2mb_file_request request = {
		.struct_bytes = sizeof(request), .logical = 32768, .count = 32768, .hole_end = 1 << 30
	};
	struct ext2mb_worker *worker;
	struct ext2mb_extent extent;
	struct ext2mb_file *file;
	struct ext2mb *mb;
	ext2_filsys fs;

	mallopt(M_PERTURB, 85);
	mb_image_make("-t ext4 -b 4096", sizes[_i]);
	open_allocator(&fs, &mb, &worker);
	uint64_t end = ext2fs_blocks_count(fs->super);
	used.goal = end - 1001;
	ck_assert_ok(ext2mb_alloc(worker, &used, &extent));
	request.hole_start = request.logical;
	for (uint64_t left = 0; left <= 1000; left += 500) {
		request.left_physical = end - left;
		ck_assert_ok(ext2mb_file_open(worker, &info, &file));
		ck_assert_ok(ext2mb_file_alloc(worker, file, &request, &extent));
		ck_assert_uint_ge(extent.start, fs->super->s_first_data_block);
		ck_assert_uint_le(extent.start + extent.count, end);
		ext2mb_file_close(worker, file);
		mb_check(mb);
	}
	close_allocator(fs, mb, worker);
}
END_TEST

/* Whatever neighbours a file has in the last groups, the last of which is short, it gets blocks that are there. */
START_TEST(test_neighbours_at_end)
{
	static const struct {
		const char *options;
		const char *size;
	} shapes[] = {
		{ "-t ext4 -b 1024 -g 1024 -G 4 -N 512", "9000K" },
		{ "-t ext4 -b 1024 -g 8192 -O bigalloc,^has_journal -C 8192 -N 512", "50M" },
		{ "-t ext4 -b 4096 -N 512 -E stride=8,stripe-width=24", "200M" },
	};
	enum { NORMALIZATIONS = EXT2MB_NORMALIZE_NONE };
	struct ext2mb_options options = { .struct_bytes = sizeof(options),
		                          .normalization = 1 + (enum ext2mb_normalization)(_i % NORMALIZATIONS) };
	struct ext2mb_file_info info = { .struct_bytes = sizeof(info), .ino = 12 };
	struct ext2mb_file_request request = { .struct_bytes = sizeof(request) };
	struct random random = random_start("neighbours at the end");
	struct small_image image;
	struct ext2mb_extent extent;
	struct ext2mb_file *file;

	mallopt(M_PERTURB, 85);
	mb_image_make(shapes[_i / NORMALIZATIONS].options, shapes[_i / NORMALIZATIONS].size);
	small_image_open(&image, &options);
	uint64_t first = image.fs->super->s_first_data_block, end = ext2fs_blocks_count(image.fs->super);
	uint64_t cluster = (uint64_t)EXT2FS_CLUSTER_RATIO(image.fs);
	uint64_t group = image.fs->super->s_blocks_per_group;

	info.parent = image.fs->super->s_inodes_count;
	for (unsigned int number = 0; number < 3000; number++) {
		uint64_t near = random_below(&random, 2) ? end / 3 : 20 * cluster;

		request.count =
			(1 + random_below(&random, random_below(&random, 2) ? 20 : end / 8 / cluster)) * cluster;
		request.hole_start = random_below(&random, 3) * 16 * cluster;
		request.logical = request.hole_start + random_below(&random, 3) * cluster;
		request.hole_end = request.logical + request.count + random_below(&random, 3) * group;
		request.left_physical = end - random_below(&random, near / cluster) * cluster;
		request.right_physical = end - random_below(&random, near / cluster) * cluster;
		request.flags = random_below(&random, 2) ? EXT2MB_FILE_UNWRITTEN : 0;
		info.flags = random_below(&random, 2) ? EXT2MB_FILE_FINAL : 0;
		info.blocks = random_below(&random, 2) * request.hole_end;
		ck_assert_ok(ext2mb_file_open(image.worker, &info, &file));
		ck_assert_ok(ext2mb_file_alloc(image.worker, file, &request, &extent));
		ext2mb_file_close(image.worker, file);
		if (extent.start < first || !extent.count || extent.start > end || extent.count > end - extent.start)
			ck_abort_msg("%llu blocks at %llu", (unsigned long long)extent.count,
			             (unsigned long long)extent.start);
		if (random_below(&random, 8))
			ck_assert_ok(ext2mb_free(image.worker, extent.start, extent.count));
		else if (ext2mb_free_blocks(image.mb) < end / 2)
			break;
		ck_assert_ok(ext2mb_commit(image.mb));
	}
	mb_check(image.mb);
	close_allocator(image.fs, image.mb, image.worker);
}
END_TEST

/* Bitmaps that are loaded count, not those on disk, and a sync brings them up to date. */
START_TEST(test_loaded_bitmaps)
{
	struct ext2mb_request request = { .struct_bytes = sizeof(request),
		                          .count = 16,
		                          .flags = EXT2MB_ALLOC_GOAL_ONLY };
	struct ext2mb_worker *worker;
	struct ext2mb_extent extent;
	struct ext2mb *mb;

	mb_image_make("-t ext4 -b 1024 -O bigalloc,^has_journal -C 16384 -N 512", "64M");
	ext2_filsys fs = mb_image_open();
	ck_assert_ok(ext2fs_read_bitmaps(fs));
	ext2fs_block_alloc_stats2(fs, 32000, 1);
	ck_assert_ok(ext2mb_open(fs, NULL, &mb));
	ck_assert_ok(ext2mb_worker_open(mb, &worker));
	request.goal = 32000;
	ck_assert_error(ext2mb_alloc(worker, &request, &extent), EXT2MB_ET_NO_SPACE);
	request.goal = 32016;
	ck_assert_ok(ext2mb_alloc(worker, &request, &extent));
	ck_assert_uint_eq(extent.start, 32016);
	ck_assert_error(ext2mb_free(worker, 32001, 16), EXT2MB_ET_BAD_RANGE);
	ck_assert_error(ext2mb_free(worker, 32016, 8), EXT2MB_ET_BAD_RANGE);
	ck_assert_ok(ext2mb_free(worker, 32000, 16));
	ck_assert(!ext2fs_test_block_bitmap2(fs->block_map, 32016));
	ck_assert_ok(ext2mb_sync(mb));
	ck_assert(ext2fs_test_block_bitmap2(fs->block_map, 32016));
	ck_assert(!ext2fs_test_block_bitmap2(fs->block_map, 32000));
	uint64_t expected = ext2mb_free_blocks(mb);
	close_allocator(fs, mb, worker);
	expect_free(expected);
}
END_TEST

/* --- Errors in writing --------------------------------------------------------------------------------------- */

static struct struct_io_manager failing_manager;
static io_manager working_manager;
static blk64_t failing_block;

static errcode_t fail_to_write(io_channel channel, unsigned long long block, int count, const void *bytes)
{
	if (block == failing_block)
		return EIO;
	return working_manager->write_blk64(channel, block, count, bytes);
}

static void let_writes_fail(ext2_filsys fs, blk64_t block)
{
	working_manager = fs->io->manager;
	failing_manager = *working_manager;
	failing_manager.write_blk64 = fail_to_write;
	failing_block = block;
	fs->io->manager = &failing_manager;
}

/* One bitmap cannot be written: the others are, with their descriptors, and the next sync writes what is missing. */
START_TEST(test_sync_again)
{
	uint64_t in_failing_group = 0;
	struct ext2mb_worker *worker;
	struct ext2mb *mb;
	ext2_filsys fs;

	mb_image_make("-t ext4 -b 1024 -g 1024", "16M");
	open_allocator(&fs, &mb, &worker);
	for (uint32_t group = 1; group < 8; group++) {
		struct ext2mb_request request = { .struct_bytes = sizeof(request),
			                          .goal = 1 + group * 1024 + 500,
			                          .count = 16 };
		struct ext2mb_extent extent;

		ck_assert_ok(ext2mb_alloc(worker, &request, &extent));
		if (ext2fs_group_of_blk2(fs, extent.start) == 4)
			in_failing_group += extent.count;
	}
	uint64_t expected = ext2mb_free_blocks(mb);
	ck_assert_uint_ne(in_failing_group, 0);
	let_writes_fail(fs, ext2fs_block_bitmap_loc(fs, 4));
	ck_assert_error(ext2mb_sync(mb), EIO);
	failing_block = 0;
	if (_i)
		ck_assert_ok(ext2mb_sync(mb));
	close_allocator(fs, mb, worker);
	expect_free(_i ? expected : expected + in_failing_group);
}
END_TEST

static void write_dtime(ext2_filsys fs, ext2_ino_t ino, uint32_t links, uint32_t dtime)
{
	struct ext2_inode inode = { .i_mode = LINUX_S_IFREG | 0644,
		                    .i_links_count = (uint16_t)links,
		                    .i_dtime = dtime };

	ck_assert_ok(ext2fs_write_inode(fs, ino, &inode));
}

static uint32_t read_dtime(ext2_filsys fs, ext2_ino_t ino)
{
	struct ext2_inode inode;

	ck_assert_ok(ext2fs_read_inode(fs, ino, &inode));
	return inode.i_dtime;
}

/* Inodes that leave the list: deleted ones need a time of deletion, others none, and one that its owner has set
 * stays. */
START_TEST(test_leaving_list)
{
	struct ext2mb_orphans *orphans;
	uint32_t indexes[3];

	mb_image_make("-t ext4 -b 1024 -O ^orphan_file", "16M");
	ext2_filsys fs = mb_image_open();
	ck_assert_ok(ext2mb_orphan_open(fs, NULL, NULL, 0, &orphans));
	for (ext2_ino_t number = 0; number < 3; number++) {
		write_dtime(fs, 100 + number, 1, 0);
		ck_assert_ok(ext2mb_orphan_add(orphans, 0, 100 + number, &indexes[number]));
	}
	ck_assert_ok(ext2mb_orphan_sync(orphans));
	ck_assert_uint_eq(read_dtime(fs, 101), 100);
	ck_assert_uint_eq(read_dtime(fs, 102), 101);
	fs->now = 1000000;
	write_dtime(fs, 101, 0, 100);
	write_dtime(fs, 100, 0, 123456);
	for (ext2_ino_t number = 0; number < 3; number++)
		ck_assert_ok(ext2mb_orphan_delete(orphans, indexes[number], 100 + number));
	ck_assert_ok(ext2mb_orphan_sync(orphans));
	ck_assert_uint_eq(read_dtime(fs, 100), 123456);
	ck_assert_uint_eq(read_dtime(fs, 101), 1000000);
	ck_assert_uint_eq(read_dtime(fs, 102), 0);
	ck_assert_uint_eq(fs->super->s_last_orphan, 0);
	ext2mb_orphan_close(orphans);
	ext2fs_free(fs);
}
END_TEST

/* A filesystem that was opened only for its superblock gets descriptors that fit the bitmaps nevertheless. */
START_TEST(test_super_only)
{
	struct ext2mb_request request = { .struct_bytes = sizeof(request), .count = 100 };
	struct ext2mb_worker *worker;
	struct ext2mb_extent extent;
	struct ext2mb *mb;
	ext2_filsys fs;

	mb_image_make("-t ext4 -b 1024 -g 1024", "16M");
	open_allocator(&fs, &mb, &worker);
	fs->flags |= EXT2_FLAG_SUPER_ONLY;
	ck_assert_ok(ext2mb_alloc(worker, &request, &extent));
	ck_assert_ok(ext2mb_sync(mb));
	uint64_t expected = ext2mb_free_blocks(mb);
	close_allocator(fs, mb, worker);
	expect_free(expected);
}
END_TEST

/* An orphan whose block could not be written is written by the next sync. */
START_TEST(test_orphan_sync_again)
{
	struct ext2mb_orphan_options options = { .struct_bytes = sizeof(options) };
	struct ext2mb_orphans *orphans;
	uint32_t index;
	blk64_t block;

	mb_image_make("-t ext4 -b 1024 -O orphan_file", "16M");
	ext2_filsys fs = mb_image_open();
	ck_assert_ok(ext2fs_bmap2(fs, fs->super->s_orphan_file_inum, NULL, NULL, 0, 0, NULL, &block));
	ck_assert_ok((_i ? orphan_open_locked : ext2mb_orphan_open)(fs, &options, NULL, 0, &orphans));
	ck_assert_ok(ext2mb_orphan_add(orphans, 0, 100, &index));
	let_writes_fail(fs, block);
	ck_assert_error(ext2mb_orphan_sync(orphans), EIO);
	ck_assert(!ext2fs_has_feature_orphan_present(fs->super));
	failing_block = 0;
	ck_assert_ok(ext2mb_orphan_sync(orphans));
	ck_assert(ext2fs_has_feature_orphan_present(fs->super));
	ext2mb_orphan_close(orphans);
	ck_assert_ok(ext2fs_close(fs));

	fs = mb_image_open();
	ck_assert_ok(ext2mb_orphan_open(fs, NULL, NULL, 0, &orphans));
	index = 0;
	ck_assert_uint_eq(ext2mb_orphan_next(orphans, &index), 100);
	ext2mb_orphan_close(orphans);
	ck_assert_ok(ext2fs_close(fs));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ext2mb_edges");
	TCase *tests = tcase_create("edges");

	tcase_set_timeout(tests, 60);
	tcase_add_unchecked_fixture(tests, mb_image_setup, mb_image_teardown);
	tcase_add_test(tests, test_pool_at_border);
	tcase_add_test(tests, test_needs_recovery);
	tcase_add_loop_test(tests, test_bad_geometry, 0, sizeof(geometries) / sizeof(*geometries));
	tcase_add_test(tests, test_meta_bg);
	tcase_add_test(tests, test_loaded_bitmaps);
	tcase_add_test(tests, test_contradictions);
	tcase_add_loop_test(tests, test_truncate_beyond_end, 0, 3);
	tcase_add_loop_test(tests, test_growth_at_end, 0, 3);
	tcase_add_loop_test(tests, test_neighbours_at_end, 0, 3 * EXT2MB_NORMALIZE_NONE);
	tcase_add_loop_test(tests, test_sync_again, 0, 2);
	tcase_add_test(tests, test_leaving_list);
	tcase_add_test(tests, test_super_only);
	tcase_add_loop_test(tests, test_orphan_sync_again, 0, 2);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
