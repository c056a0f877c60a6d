/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests of few blocks where free space is scarce and in pieces: what they look at, and how they come to lie. Time is
 * not measured here (bench/aged_bench.c does that) but what takes it: the runs and groups that are considered.
 */
#include <stdbool.h>
#include <stdio.h>

#include "mb_image.h"
#include "seeded_random.h"
#include "unit.h"

#define FILES 16
#define FEW 8

/* In blocks: one run in 64 is long, the others are short. */
static uint64_t next_length(struct random *random)
{
	return random_below(random, 64) ? 1 + random_below(random, 12) : 32 + random_below(random, 100);
}

/* Takes all, and frees runs far from each other until one block in 32 is free. */
static uint64_t age(struct small_image *image)
{
	struct ext2mb_request request = { .struct_bytes = sizeof(request),
		                          .count = 1 << 20,
		                          .flags = EXT2MB_ALLOC_PACK };
	struct random random = random_start("aged");
	struct ext2mb_extent extent;
	uint64_t freed = 0;

	while (!ext2mb_alloc(image->worker, &request, &extent)) {
		uint64_t from = extent.start, end = extent.start + extent.count;

		for (;;) {
			uint64_t length = next_length(&random);

			from += length + random_below(&random, 60 * length + 1);
			if (from + length >= end)
				break;
			ck_assert_ok(ext2mb_free(image->worker, from, length));
			freed += length;
			from += length + 1;
		}
	}
	ck_assert_ok(ext2mb_commit(image->mb));
	ck_assert_uint_eq(ext2mb_free_blocks(image->mb), freed);
	return freed;
}

static uint64_t open_aged(struct small_image *image)
{
	mb_image_make("-t ext4 -b 4096 -g 4096 -O ^resize_inode,^has_journal", "8G");
	small_image_open_policy(image, &(struct policy_options){ 0 });
	return age(image);
}

static void close_image(struct small_image *image)
{
	mb_check(image->mb);
	ext2mb_worker_close(image->worker);
	ext2mb_close(image->mb);
	ck_assert_ok(ext2fs_close(image->fs));
}

static struct ext2mb_stats read_stats(struct small_image *image)
{
	struct ext2mb_stats stats = { .struct_bytes = sizeof(stats) };

	ck_assert_ok(ext2mb_read_stats(image->mb, &stats));
	return stats;
}

/* Runs looked at and groups considered, by the criteria, since the allocator was opened. */
static uint64_t effort(struct small_image *image)
{
	uint64_t sum = read_stats(image).extents_scanned;

	for (unsigned int criterion = 0; criterion < 5; criterion++)
		sum += mb_criterion_stats(image->mb, criterion).groups;
	return sum;
}

struct grown_file {
	struct ext2mb_file *file;
	uint64_t logical;
	uint64_t end;
};

/* Returns how many extents the file gets more. */
static uint64_t append(struct small_image *image, struct grown_file *grown)
{
	uint64_t until = grown->logical + FEW, extents = 0;

	while (grown->logical < until) {
		struct ext2mb_file_request request = {
			.struct_bytes = sizeof(request),
			.logical = grown->logical,
			.count = until - grown->logical,
		};
		struct ext2mb_extent extent;

		ck_assert_ok(ext2mb_file_alloc(image->worker, grown->file, &request, &extent));
		extents += extent.start != grown->end;
		grown->end = extent.start + extent.count;
		grown->logical += extent.count;
	}
	return extents;
}

/* Files that grow side by side until half of the free space is theirs: the longest runs first, hardly any search. */
START_TEST(test_files)
{
	struct grown_file files[FILES] = { 0 };
	struct small_image image;
	uint64_t blocks = open_aged(&image) / 2, extents = 0, before = effort(&image), done = 0;

	for (unsigned int index = 0; index < FILES; index++) {
		struct ext2mb_file_info info = { .struct_bytes = sizeof(info), .ino = 12 + index, .parent = 2 };

		ck_assert_ok(ext2mb_file_open(image.worker, &info, &files[index].file));
	}
	for (; done < blocks; done += FEW)
		extents += append(&image, &files[done / FEW % FILES]);
	printf("# %.2f blocks in an extent, %.2f runs and groups for an append\n", (double)done / (double)extents,
	       (double)(effort(&image) - before) * FEW / (double)done);
	ck_assert_uint_ge(done, 10 * extents);
	ck_assert_uint_le(effort(&image) - before, 8 * done / FEW);
	for (unsigned int index = 0; index < FILES; index++)
		ext2mb_file_close(image.worker, files[index].file);
	close_image(&image);
}
END_TEST

/* Blocks one by one or a few at a time, without a goal, until all are taken. */
START_TEST(test_plain)
{
	struct ext2mb_request request = { .struct_bytes = sizeof(request), .count = _i ? FEW : 1 };
	struct small_image image;
	struct ext2mb_extent extent;
	uint64_t blocks = open_aged(&image), before = effort(&image), done = 0, requests = 0, extents = 0, end = 0;

	for (; !ext2mb_alloc(image.worker, &request, &extent); requests++) {
		extents += extent.start != end;
		end = extent.start + extent.count;
		done += extent.count;
		if (done * 2 < blocks && done * 2 + 2 * request.count >= blocks) {
			printf("# %.2f blocks in an extent, %.2f runs and groups for a request\n",
			       (double)done / (double)extents, (double)(effort(&image) - before) / (double)requests);
			ck_assert_uint_le(effort(&image) - before, 6 * requests);
		}
	}
	ck_assert_uint_eq(done, blocks);
	ck_assert_uint_eq(ext2mb_free_blocks(image.mb), 0);
	close_image(&image);
}
END_TEST

static Suite *aged_suite(void)
{
	Suite *suite = suite_create("aged");
	TCase *aged = mb_image_case(suite);

	tcase_add_test(aged, test_files);
	tcase_add_loop_test(aged, test_plain, 0, 2);
	return suite;
}

int main(void)
{
	return run_suite(aged_suite());
}
