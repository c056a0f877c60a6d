/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which free extents an update takes: the shortest that holds the request, also when others take blocks meanwhile. */
#include "allocator/allocator.h"
#include "mb_image.h"
#include "seeded_random.h"
#include "unit.h"
#include "update/target/free_extents.h"

#define RUN 100u

static void take(struct ext2mb_worker *worker, uint64_t start, uint64_t count)
{
	ck_assert_ok(ext2mb_mark_used(worker, start, count));
}

static uint64_t longest_end(struct ext2mb *mb)
{
	struct ext2mb_extent extent, longest = { 0 };

	for (uint64_t from = 1; !ext2mb_next_free(mb, from, &extent); from = extent.start + extent.count)
		if (extent.count > longest.count)
			longest = extent;
	ck_assert_uint_ge(longest.count, 2 * RUN);
	return longest.start;
}

/* Leaves holes of 7, 3 and 5 blocks in a long free extent, from `start` on. */
static void leave_holes(struct ext2mb_worker *worker, uint64_t start)
{
	take(worker, start, 10);
	take(worker, start + 17, 10);
	take(worker, start + 30, 10);
	take(worker, start + 45, 10);
}

START_TEST(the_shortest_hole_that_holds_it)
{
	struct small_image image;
	struct free_extents list;
	struct ext2mb_extent extent;

	mb_image_make("-t ext4 -b 1024 -O ^resize_inode", "16M");
	small_image_open(&image, NULL);
	uint64_t start = longest_end(image.mb);

	leave_holes(image.worker, start);
	ck_assert_ok(free_extents_open(&list, image.mb, image.worker, &image.mb->geometry));
	ck_assert_ok(free_extents_take(&list, start, 5, &extent));
	ck_assert_uint_eq(extent.start, start + 40);
	ck_assert_uint_eq(extent.count, 5);
	/* Six fit the hole of seven, one of which is left. */
	ck_assert_ok(free_extents_take(&list, start, 6, &extent));
	ck_assert_uint_eq(extent.start, start + 10);
	ck_assert_ok(free_extents_take(&list, start, 1, &extent));
	ck_assert_uint_eq(extent.start, start + 16);
	/* Others have taken a part of this one. */
	take(image.worker, start + 28, 1);
	ck_assert_ok(free_extents_take(&list, start, 3, &extent));
	ck_assert_uint_ne(extent.start, start + 27);
	ck_assert_uint_eq(extent.count, 3);
	ck_assert_ok(free_extents_take(&list, start, 1, &extent));
	ck_assert_uint_eq(extent.start, start + 27);
	free_extents_close(&list);
	ext2mb_worker_close(image.worker);
	ck_assert_ok(ext2mb_close(image.mb));
	ext2fs_free(image.fs);
}
END_TEST

/* All of it is handed out, each block once, the long extents first for requests that nothing can hold. */
START_TEST(everything_that_is_free)
{
	struct small_image image;
	struct free_extents list;
	struct ext2mb_extent extent;
	uint64_t last = UINT64_MAX;

	mb_image_make("-t ext4 -b 1024", "40M");
	small_image_open(&image, NULL);
	ck_assert_ok(free_extents_open(&list, image.mb, image.worker, &image.mb->geometry));
	uint64_t left = ext2mb_free_blocks(image.mb);

	while (left) {
		ck_assert_ok(free_extents_take(&list, 1, UINT64_C(1) << 20, &extent));
		ck_assert_uint_le(extent.count, last);
		ck_assert_uint_le(extent.count, left);
		last = extent.count;
		left -= extent.count;
	}
	ck_assert_error(free_extents_take(&list, 1, 1, &extent), EXT2MB_ET_NO_SPACE);
	/* Only a commit makes it free again. */
	ck_assert_ok(ext2mb_free(image.worker, extent.start, extent.count));
	free_extents_forget(&list);
	ck_assert_error(free_extents_take(&list, 1, 1, &extent), EXT2MB_ET_NO_SPACE);
	ck_assert_ok(ext2mb_commit(image.mb));
	free_extents_forget(&list);
	ck_assert_ok(free_extents_take(&list, 1, 1, &extent));
	free_extents_close(&list);
	ext2mb_worker_close(image.worker);
	ck_assert_ok(ext2mb_close(image.mb));
	ext2fs_free(image.fs);
}
END_TEST

/* Clusters, and a request near the end of a filesystem of several windows. */
START_TEST(clusters_and_windows)
{
	struct small_image image;
	struct free_extents list;
	struct ext2mb_extent extent;

	mb_image_make("-t ext4 -b 1024 -O bigalloc -C 4096", "1200M");
	small_image_open(&image, NULL);
	ck_assert_ok(free_extents_open(&list, image.mb, image.worker, &image.mb->geometry));
	ck_assert_uint_gt(list.windows, 2);
	uint64_t near = image.mb->geometry.end_block - 1;

	ck_assert_ok(free_extents_take(&list, near, 8, &extent));
	ck_assert_uint_eq(extent.count, 8);
	ck_assert_uint_eq(extent.start % 4, 0);
	ck_assert_uint_eq(*list.is_listed, UINT64_C(1) << (list.windows - 1));
	free_extents_close(&list);
	ext2mb_worker_close(image.worker);
	ck_assert_ok(ext2mb_close(image.mb));
	ext2fs_free(image.fs);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("free extents");
	TCase *cases = mb_image_case(suite);

	tcase_add_test(cases, the_shortest_hole_that_holds_it);
	tcase_add_test(cases, everything_that_is_free);
	tcase_add_test(cases, clusters_and_windows);
	return run_suite(suite);
}
