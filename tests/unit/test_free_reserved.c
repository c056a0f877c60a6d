/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Blocks in windows of all kinds are refused by ext2mb_free(), those that were handed out are not. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "allocator/group/group.h"
#include "allocator/core/allocator.h"
#include "allocator/group/group_reserved.h"
#include "mb_image.h"
#include "seeded_random.h"
#include "unit.h"

#define FILES 24
#define REQUESTS 400

static const struct policy_options cases[] = {
	{ 0 },
	{ .allocator.locality = EXT2MB_LOCALITY_THREAD },
	{ .allocator.locality = EXT2MB_LOCALITY_NONE },
	{ .allocator.normalization = EXT2MB_NORMALIZE_POW2 },
	{ .policy = POLICY_SERIES },
	{ .policy = POLICY_BASE, .allocator.normalization = EXT2MB_NORMALIZE_EXT2MB },
};

#define CASES ((int)(sizeof(cases) / sizeof(*cases)))

static const char *const shapes[] = { "-t ext4 -b 4096 -g 1024 -N 512", "-t ext4 -b 1024 -O bigalloc -C 4096 -N 512" };

struct writer {
	struct small_image image;
	struct random random;
	struct ext2mb_file *files[FILES];
	uint64_t ends[FILES];
	uint64_t cluster;
	uint8_t *is_mine; /* a byte for every block */
};

/* Small, growing and known whole; appends, and parts of what is to come. */
static void write_some(struct writer *writer)
{
	for (unsigned int number = 0; number < REQUESTS; number++) {
		unsigned int index = (unsigned int)random_below(&writer->random, FILES);
		struct ext2mb_file_info info = { .struct_bytes = sizeof(info),
			                         .ino = 12 + index,
			                         .parent = 2 + index % 3 };
		struct ext2mb_file_request request = { .struct_bytes = sizeof(request) };
		struct ext2mb_extent extent;

		if (index % 4 == 1) {
			info.flags = EXT2MB_FILE_FINAL;
			info.blocks = 40 * writer->cluster;
		}
		if (!writer->files[index])
			ck_assert_ok(ext2mb_file_open(writer->image.worker, &info, &writer->files[index]));
		request.logical = writer->ends[index] + random_below(&writer->random, 2) * 3 * writer->cluster;
		request.count = (1 + random_below(&writer->random, index % 4 == 2 ? 2 : 9)) * writer->cluster;
		ck_assert_ok(ext2mb_file_alloc(writer->image.worker, writer->files[index], &request, &extent));
		writer->ends[index] = request.logical + extent.count;
		memset(writer->is_mine + extent.start, 1, extent.count);
		if (random_below(&writer->random, 16))
			continue;
		ext2mb_file_close(writer->image.worker, writer->files[index]);
		writer->files[index] = NULL;
		writer->ends[index] = 0;
	}
}

static void open_writer(struct writer *writer, const struct policy_options *choices)
{
	small_image_open_policy(&writer->image, choices);
	writer->cluster = (uint64_t)EXT2FS_CLUSTER_RATIO(writer->image.fs);
	writer->is_mine = calloc(ext2fs_blocks_count(writer->image.fs->super), 1);
}

static void close_writer(struct writer *writer)
{
	for (unsigned int index = 0; index < FILES; index++)
		ext2mb_file_close(writer->image.worker, writer->files[index]);
	ck_assert_ok(ext2mb_sync(writer->image.mb));
	mb_check(writer->image.mb);
	ext2mb_worker_close(writer->image.worker);
	ext2mb_close(writer->image.mb);
	ck_assert_ok(ext2fs_close(writer->image.fs));
	free(writer->is_mine);
}

/* What was handed out can be freed, once, while its file is open; what was not is refused and stays as it is. */
START_TEST(test_every_block)
{
	struct writer writer = { .random = random_start("every block") };
	uint64_t refused = 0;

	mb_image_make(shapes[_i / CASES], "32M");
	open_writer(&writer, &cases[_i % CASES]);
	write_some(&writer);
	uint64_t reserved = ext2mb_reserved_blocks(writer.image.mb);
	ck_assert_uint_ne(reserved, 0);
	uint64_t end = ext2fs_blocks_count(writer.image.fs->super);
	for (uint64_t pass = 0; pass < 2; pass++) {
		for (uint64_t block = writer.image.fs->super->s_first_data_block; block < end;
		     block += writer.cluster) {
			errcode_t error = 0;

			if (pass == 0 && !writer.is_mine[block] && ext2mb_free_blocks(writer.image.mb))
				error = ext2mb_free(writer.image.worker, block, writer.cluster);
			else if (pass == 1 && writer.is_mine[block])
				ck_assert_ok(ext2mb_free(writer.image.worker, block, writer.cluster));
			if (error == EXT2MB_ET_RESERVED_FREE)
				refused += writer.cluster;
			if (pass == 1 && writer.is_mine[block])
				ck_assert_error(ext2mb_free(writer.image.worker, block, writer.cluster),
				                EXT2MB_ET_DOUBLE_FREE);
		}
		mb_check(writer.image.mb);
		ck_assert_uint_eq(refused, reserved);
		ck_assert_uint_eq(ext2mb_reserved_blocks(writer.image.mb), reserved);
	}
	close_writer(&writer);
}
END_TEST

/* A free that begins in what is the caller's and ends in a window is refused whole. */
START_TEST(test_whole_range)
{
	struct ext2mb_file_info info = { .struct_bytes = sizeof(info), .ino = 12, .parent = 2 };
	struct ext2mb_file_request request = { .struct_bytes = sizeof(request), .count = 64 };
	struct writer writer = { 0 };
	struct ext2mb_extent extent, next;

	mb_image_make(shapes[0], "32M");
	open_writer(&writer, &cases[_i]);
	struct ext2mb_worker *worker = writer.image.worker;
	ck_assert_ok(ext2mb_file_open(worker, &info, &writer.files[0]));
	ck_assert_ok(ext2mb_file_alloc(worker, writer.files[0], &request, &extent));
	request.logical = extent.count;
	request.count = 1;
	ck_assert_ok(ext2mb_file_alloc(worker, writer.files[0], &request, &next));
	ck_assert_uint_eq(next.start, extent.start + extent.count);
	uint64_t reserved = ext2mb_reserved_blocks(writer.image.mb);
	ck_assert_uint_ne(reserved, 0);
	ck_assert_error(ext2mb_free(worker, extent.start, extent.count + 2), EXT2MB_ET_RESERVED_FREE);
	ck_assert_ok(ext2mb_free(worker, extent.start, extent.count + 1));
	ck_assert_ok(ext2mb_commit(writer.image.mb));
	ck_assert_uint_eq(ext2mb_reserved_blocks(writer.image.mb), reserved);
	mb_check(writer.image.mb);
	close_writer(&writer);
}
END_TEST

static void expect_complaint(struct ext2mb *mb, const char *part)
{
	char why[256] = "";

	ck_assert_error(ext2mb_check(mb, why, sizeof(why)), EXT2MB_ET_CHECK_FAILED);
	ck_assert_msg(strstr(why, part) != NULL, "%s", why);
}

/* What could not happen is seen by the check: a window's block that waits for a commit, or that looks handed out. */
START_TEST(test_check)
{
	struct ext2mb_file_info info = { .struct_bytes = sizeof(info), .ino = 12, .parent = 2 };
	struct ext2mb_file_request request = { .struct_bytes = sizeof(request), .count = 64 };
	struct writer writer = { 0 };
	struct ext2mb_extent extent;

	mb_image_make(shapes[0], "32M");
	open_writer(&writer, &cases[_i]);
	struct ext2mb *mb = writer.image.mb;
	ck_assert_ok(ext2mb_file_open(writer.image.worker, &info, &writer.files[0]));
	ck_assert_ok(ext2mb_file_alloc(writer.image.worker, writer.files[0], &request, &extent));
	request.logical = extent.count;
	request.count = 1;
	ck_assert_ok(ext2mb_file_alloc(writer.image.worker, writer.files[0], &request, &extent));
	uint64_t position = extent.start + extent.count - mb->geometry.first_block;
	uint32_t number = (uint32_t)(position / mb->geometry.clusters_per_group);
	uint32_t start = (uint32_t)(position % mb->geometry.clusters_per_group);

	mb_check(mb);
	group_reserved_clear(mb, position, 1);
	expect_complaint(mb, "not marked as reserved");
	ck_assert_ok(ext2mb_free(writer.image.worker, extent.start + extent.count, 1));
	expect_complaint(mb, "lies in what is to be freed");
	group_reserved_set(mb, number, start, 1);
	group_reserved_set(mb, number, start - 1, 1);
	ck_assert_ok(ext2mb_commit(mb));
	expect_complaint(mb, "lies in free space");
	buddy_alloc(mb->groups[number].buddy, start, 1);
	group_leave_changed(mb, number);
	atomic_fetch_sub(&mb->clusters_released, 1);
	expect_complaint(mb, "are marked");
	group_reserved_clear(mb, position - 1, 1);
	close_writer(&writer);
}
END_TEST

/* Threads that free whatever there is while others write break no more than each other's files. */
struct vandal {
	struct writer *writer;
	pthread_t thread;
	struct random random;
	bool writes;
};

static void append_at_random(struct vandal *vandal, struct ext2mb_worker *worker)
{
	struct ext2mb_file_info info = { .struct_bytes = sizeof(info),
		                         .ino = 12 + (ext2_ino_t)random_below(&vandal->random, 90),
		                         .parent = 2 };
	struct ext2mb_file_request request = { .struct_bytes = sizeof(request) };
	struct ext2mb_extent extent;
	struct ext2mb_file *file;

	ck_assert_ok(ext2mb_file_open(worker, &info, &file));
	for (unsigned int number = 0; number < 20; number++) {
		request.count = (1 + random_below(&vandal->random, 8)) * vandal->writer->cluster;
		if (ext2mb_file_alloc(worker, file, &request, &extent))
			break;
		request.logical += extent.count;
	}
	ext2mb_file_close(worker, file);
}

static void *break_things(void *argument)
{
	struct vandal *vandal = argument;
	struct writer *writer = vandal->writer;
	uint64_t cluster = writer->cluster, clusters = ext2fs_blocks_count(writer->image.fs->super) / cluster;
	struct ext2mb_worker *worker;

	ck_assert_ok(ext2mb_worker_open(writer->image.mb, &worker));
	for (unsigned int number = 0; number < mb_operations(20000); number++) {
		uint64_t start = random_below(&vandal->random, clusters - 2);

		if (vandal->writes && number % 20 == 0)
			append_at_random(vandal, worker);
		else if (!vandal->writes)
			(void)!ext2mb_free(worker, start * cluster, (1 + number % 2) * cluster);
		if (number % 64 == 0)
			ck_assert_ok(ext2mb_commit(writer->image.mb));
	}
	ext2mb_worker_close(worker);
	return NULL;
}

START_TEST(test_vandals)
{
	struct random random = random_start("vandals");
	struct writer writer = { 0 };
	struct vandal vandals[4];

	mb_image_make(shapes[_i / CASES], "32M");
	open_writer(&writer, &cases[_i % CASES]);
	for (unsigned int number = 0; number < 4; number++) {
		vandals[number] = (struct vandal){ &writer, 0, { random_next(&random) }, number % 2 };
		ck_assert_int_eq(pthread_create(&vandals[number].thread, NULL, break_things, &vandals[number]), 0);
	}
	for (unsigned int number = 0; number < 4; number++)
		pthread_join(vandals[number].thread, NULL);
	mb_check(writer.image.mb);
	close_writer(&writer);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("free_reserved");
	TCase *tests = mb_image_case(suite);

	tcase_add_loop_test(tests, test_every_block, 0, 2 * CASES);
	tcase_add_loop_test(tests, test_whole_range, 0, CASES);
	tcase_add_loop_test(tests, test_check, 0, CASES);
	tcase_add_loop_test(tests, test_vandals, 0, 2 * CASES);
	return run_suite(suite);
}
