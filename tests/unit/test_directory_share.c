/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where directories, their files' inodes and their small files' blocks lie: 64 groups of 512 inodes and 2048 blocks,
 * so that a group has four shares of 128 inodes.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "allocator/core/allocator.h"
#include "allocator/group/inode_group.h"
#include "allocator/preallocation/directory_locality.h"
#include "mb_image.h"
#include "seeded_random.h"
#include "unit.h"

#define GROUPS 64
#define GROUP_INODES 512
#define GROUP_BLOCKS 2048
#define SHARE 128
#define TABLE_BLOCK 16 /* inodes */
#define MOST_DIRECTORIES 1000

static struct {
	ext2_filsys fs;
	struct ext2mb *mb;
	struct ext2mb_worker *worker;
	ext2_ino_t parent;
	ext2_ino_t directories[MOST_DIRECTORIES];
	unsigned int count;
} test;

static ext2_ino_t take(ext2_ino_t parent, uint32_t flags)
{
	const struct ext2mb_inode_request request = {
		.struct_bytes = sizeof(request), .parent = parent, .name = "name", .flags = flags
	};
	ext2_ino_t ino;

	ck_assert_ok(ext2mb_inode_alloc(test.worker, &request, &ino));
	return ino;
}

static uint32_t group_of(ext2_ino_t ino)
{
	return (ino - 1) / GROUP_INODES;
}

static void open_empty(uint32_t choices_dropped)
{
	const struct policy_options options = { .choices_dropped = choices_dropped };

	mb_image_make("-t ext4 -b 4096 -g 2048 -G 16 -N 32768 -O ^has_journal,^resize_inode", "512M");
	test.fs = mb_image_open();
	test.count = 0;
	ck_assert_uint_eq(test.fs->super->s_inodes_per_group, GROUP_INODES);
	ck_assert_uint_eq(test.fs->group_desc_count, GROUPS);
	ck_assert_ok(policy_open(test.fs, &options, &test.mb));
	ck_assert_ok(ext2mb_worker_open(test.mb, &test.worker));
	test.parent = take(EXT2_ROOT_INO, EXT2MB_INODE_DIRECTORY);
}

static void close_all(void)
{
	mb_check(test.mb);
	ext2mb_worker_close(test.worker);
	ext2mb_close(test.mb);
	ck_assert_ok(ext2fs_close(test.fs));
}

static ext2_ino_t make_directory(void)
{
	return test.directories[test.count++] = take(test.parent, EXT2MB_INODE_DIRECTORY);
}

static uint32_t most_in_a_group(void)
{
	uint32_t in_group[GROUPS] = { 0 }, most = 0;

	for (unsigned int number = 0; number < test.count; number++)
		if (++in_group[group_of(test.directories[number])] > most)
			most++;
	return most;
}

/* Directories that are made before their files: each has a share, wherever the files of others go. */
START_TEST(test_before_files)
{
	struct random random = { _i };

	open_empty(0);
	while (test.count < 100)
		ck_assert_uint_eq((make_directory() - 1) % SHARE, 0);
	ck_assert_uint_eq(most_in_a_group(), GROUP_INODES / SHARE);
	for (unsigned int number = 0; number < 100 * 60; number++) {
		ext2_ino_t directory = test.directories[random_below(&random, 100)];
		ext2_ino_t file = take(directory, 0);

		/* Chance gives some of them more than 60, but none twice as many. */
		ck_assert(file > directory && file < directory + SHARE);
	}
	close_all();
}
END_TEST

/* Without shares all are in the first groups that have free inodes, one behind the other: as in the kernel. */
START_TEST(test_without_shares)
{
	open_empty(CHOICE_DIRECTORY_SHARES);
	while (test.count < 100)
		make_directory();
	ck_assert_uint_ge(most_in_a_group(), 100 - 1);
	close_all();
}
END_TEST

/* Where no group has a whole share left, half of one must do, and so on; and then any inode. */
START_TEST(test_smaller_shares)
{
	open_empty(0);
	while (test.count < GROUPS * 4 + 20)
		make_directory();
	ck_assert_uint_gt(most_in_a_group(), 4);
	ck_assert_uint_le(most_in_a_group(), 8);
	for (unsigned int number = 0; number < test.count; number++)
		ck_assert_uint_eq((test.directories[number] - 1) % (SHARE / 2), 0);
	while (test.count < MOST_DIRECTORIES)
		ck_assert_uint_eq((make_directory() - 1) % TABLE_BLOCK, 0);
	while (ext2mb_free_inodes(test.mb))
		take(test.parent, ext2mb_free_inodes(test.mb) % 2 * EXT2MB_INODE_DIRECTORY);
	close_all();
}
END_TEST

/* Directories that get 16 files or more before the next one is made lie as densely as without shares. */
START_TEST(test_trees)
{
	open_empty(0);
	for (unsigned int number = 0; number < 100; number++) {
		ext2_ino_t directory = make_directory();

		for (unsigned int file = 0; file < 17; file++)
			ck_assert_uint_eq(group_of(take(directory, 0)), group_of(directory));
	}
	ck_assert_uint_le(group_of(test.directories[99]), group_of(test.parent) + 100 * 18 / GROUP_INODES + 1);
	close_all();
}
END_TEST

/* What does not fit a share goes on behind it, and a group's last inodes are found. */
START_TEST(test_large_directory)
{
	ext2_ino_t directory, last = 0;

	open_empty(0);
	directory = make_directory();
	uint32_t group = group_of(directory), left = inode_group_free(test.mb, group);
	for (uint32_t number = 0; number < left; number++) {
		last = take(directory, 0);
		ck_assert_uint_eq(group_of(last), group);
	}
	ck_assert_uint_lt(last, directory);
	close_all();
}
END_TEST

static void fill_groups(uint32_t first, uint32_t end)
{
	for (uint32_t group = first; group < end; group++)
		while (inode_group_free(test.mb, group)) {
			const struct ext2mb_inode_request request = { .struct_bytes = sizeof(request),
				                                      .goal = group * GROUP_INODES + 1,
				                                      .flags = EXT2MB_INODE_PACK };
			ext2_ino_t ino;

			ck_assert_ok(ext2mb_inode_alloc(test.worker, &request, &ino));
		}
}

/* Half a flex group away, and when that is full half the filesystem: neighbours by directory stay neighbours. */
START_TEST(test_full_parent)
{
	open_empty(0);
	while (test.count < 8)
		make_directory();
	ext2_ino_t one = test.directories[6], other = test.directories[7];
	uint32_t group = group_of(one), flex = group / 16 * 16;
	ck_assert_uint_eq(group_of(other), group);
	fill_groups(group, group + 1);
	uint32_t displaced = flex + (group - flex + 8) % 16;
	ck_assert_uint_eq(take(other, 0), displaced * GROUP_INODES + (other - 1) % GROUP_INODES + 2);
	ck_assert_uint_eq(take(one, 0), displaced * GROUP_INODES + (one - 1) % GROUP_INODES + 2);
	fill_groups(flex, flex + 16);
	displaced = (group + GROUPS / 2) % GROUPS;
	ck_assert_uint_eq(take(other, 0), displaced * GROUP_INODES + (other - 1) % GROUP_INODES + 2);
	fill_groups(displaced, displaced + 1);
	displaced = (group + GROUPS / 4) % GROUPS;
	ck_assert_uint_eq(take(one, 0), displaced * GROUP_INODES + (one - 1) % GROUP_INODES + 2);
	close_all();
}
END_TEST

static struct ext2mb_extent write_file(ext2_ino_t directory, ext2_ino_t ino)
{
	const struct ext2mb_file_info info = {
		.struct_bytes = sizeof(info), .ino = ino, .parent = directory, .blocks = 1, .flags = EXT2MB_FILE_FINAL
	};
	const struct ext2mb_file_request request = { .struct_bytes = sizeof(request), .count = 1 };
	struct ext2mb_extent extent;
	struct ext2mb_file *file;

	ck_assert_ok(ext2mb_file_open(test.worker, &info, &file));
	ck_assert_ok(ext2mb_file_alloc(test.worker, file, &request, &extent));
	ext2mb_file_close(test.worker, file);
	return extent;
}

/*
 * The blocks of small files that are written to and fro: in their directory's group, whose directories' first
 * preallocations lie side by side. Only the first files are where their directory's inode is.
 */
START_TEST(test_windows)
{
	struct random random = { 1 };
	uint64_t used[GROUPS] = { 0 };

	open_empty(0);
	while (test.count < 100)
		used[group_of(make_directory())] += DIRECTORY_LOCALITY_FIRST_CLUSTERS;
	for (unsigned int number = 0; number < 100 * 60; number++) {
		ext2_ino_t directory = test.directories[random_below(&random, 100)];
		struct ext2mb_extent extent = write_file(directory, take(directory, 0));
		uint32_t group = group_of(directory);
		uint64_t share_start = (uint64_t)(directory - 1) * (GROUP_BLOCKS / GROUP_INODES);

		ck_assert_uint_eq(extent.start / GROUP_BLOCKS, group);
		used[group] += extent.count;
		/* A flex group's first group has tables, around which the windows have to lie. */
		if (group % 16 && extent.start % GROUP_BLOCKS >= used[group])
			ck_assert_uint_lt(extent.start - share_start, GROUP_BLOCKS / 4);
	}
	close_all();
}
END_TEST

static pthread_barrier_t has_lock;

static void *hold_group(void *argument)
{
	struct lock *lock = argument;

	lock_wait(lock);
	pthread_barrier_wait(&has_lock);
	nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
	lock_release(lock);
	return NULL;
}

/* A group that is busy is waited for: elsewhere, the window would dirty another bitmap. */
START_TEST(test_busy)
{
	pthread_t holder;

	open_empty(0);
	ext2_ino_t directory = make_directory();
	pthread_barrier_init(&has_lock, NULL, 2);
	ck_assert_int_eq(pthread_create(&holder, NULL, hold_group, &test.mb->groups[group_of(directory)].lock), 0);
	pthread_barrier_wait(&has_lock);
	ck_assert_uint_eq(write_file(directory, directory + 1).start / GROUP_BLOCKS, group_of(directory));
	pthread_join(holder, NULL);
	pthread_barrier_destroy(&has_lock);
	close_all();
}
END_TEST

/*
 * What the group still has is used, however short. Where it is full, a window lies elsewhere in the flex group, and
 * the next one behind it.
 */
START_TEST(test_full_group)
{
	open_empty(0);
	ext2_ino_t directory = make_directory();
	uint64_t start = (uint64_t)group_of(directory) * GROUP_BLOCKS;
	struct ext2mb_request request = { .struct_bytes = sizeof(request),
		                          .goal = start,
		                          .limit = start + GROUP_BLOCKS,
		                          .count = GROUP_BLOCKS,
		                          .flags = EXT2MB_ALLOC_PACK };
	struct ext2mb_extent extent;

	while (!ext2mb_alloc(test.worker, &request, &extent))
		;
	ck_assert_ok(ext2mb_free(test.worker, start + 1000, 8));
	ck_assert_ok(ext2mb_commit(test.mb));
	for (unsigned int number = 0; number < 8; number++)
		ck_assert_uint_eq(write_file(directory, directory + 1).start, start + 1000 + number);
	uint64_t last = write_file(directory, directory + 1).start;
	ck_assert_uint_ne(last / GROUP_BLOCKS, group_of(directory));
	for (unsigned int number = 0; number < 40; number++, last++)
		ck_assert_uint_eq(write_file(directory, directory + 2).start, last + 1);
	close_all();
}
END_TEST

static Suite *share_suite(void)
{
	Suite *suite = suite_create("directory_share");
	TCase *tests = tcase_create("directory_share");

	tcase_set_timeout(tests, 300);
	tcase_add_unchecked_fixture(tests, mb_image_setup, mb_image_teardown);
	tcase_add_loop_test(tests, test_before_files, 0, 3);
	tcase_add_test(tests, test_without_shares);
	tcase_add_test(tests, test_smaller_shares);
	tcase_add_test(tests, test_trees);
	tcase_add_test(tests, test_large_directory);
	tcase_add_test(tests, test_full_parent);
	tcase_add_test(tests, test_windows);
	tcase_add_test(tests, test_busy);
	tcase_add_test(tests, test_full_group);
	suite_add_tcase(suite, tests);
	return suite;
}

int main(void)
{
	return run_suite(share_suite());
}
