/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The free space of filesystems with random bitmaps, counted by libext2fs bit by bit. */
#include "analyze/read/filesystem.h"
#include "analyze/read/free_space.h"

#include <string.h>

#include <ext2fs/ext2fs.h>

#include "mb_image.h"
#include "seeded_random.h"
#include "unit.h"

/* Counted naively; in blocks. */
struct naive {
	uint64_t extents, blocks, largest, largest_start, allocatable, chunks;
	uint64_t fragments; /* free runs within groups */
};

/* Uses up runs of random lengths. */
static void scatter(struct random *random)
{
	ext2_filsys fs = mb_image_open();
	uint64_t blocks = ext2fs_blocks_count(fs->super), ratio = EXT2FS_CLUSTER_RATIO(fs);

	ck_assert_ok(ext2fs_read_bitmaps(fs));
	for (uint64_t block = fs->super->s_first_data_block; block < blocks;) {
		uint64_t count = (1 + random_below(random, 1 + random_below(random, 3000))) * ratio;
		bool is_used = random_below(random, 2);

		for (; count && block < blocks; block += ratio, count -= ratio)
			if (is_used && !ext2fs_test_block_bitmap2(fs->block_map, block))
				ext2fs_block_alloc_stats2(fs, block, 1);
	}
	ck_assert_ok(ext2fs_close(fs));
}

static void end_run(struct naive *naive, uint64_t start, uint64_t count)
{
	if (!count)
		return;
	naive->extents++;
	naive->blocks += count;
	if (count > naive->largest) {
		naive->largest = count;
		naive->largest_start = start;
	}
}

static struct naive count_naively(uint64_t chunk_blocks)
{
	ext2_filsys fs = mb_image_open();
	uint64_t count, first = fs->super->s_first_data_block, ratio = EXT2FS_CLUSTER_RATIO(fs);
	uint64_t per_group = fs->super->s_clusters_per_group, blocks = ext2fs_blocks_count(fs->super);
	uint8_t *used = mb_image_read_clusters(&count);
	struct naive naive = { 0 };
	uint64_t run = 0, in_group = 0;

	for (uint64_t cluster = 0; cluster < count; cluster++) {
		if (cluster % per_group == 0)
			in_group = 0;
		if (used[cluster]) {
			end_run(&naive, first + (cluster - run) * ratio, run * ratio);
			run = in_group = 0;
			continue;
		}
		run++;
		naive.fragments += !in_group++;
		naive.allocatable = in_group * ratio > naive.allocatable ? in_group * ratio : naive.allocatable;
	}
	end_run(&naive, first + (count - run) * ratio, run * ratio);
	for (uint64_t chunk = 0; (chunk + 1) * chunk_blocks <= blocks; chunk++) {
		uint64_t free_blocks = 0;

		for (uint64_t block = chunk * chunk_blocks; block < (chunk + 1) * chunk_blocks; block++)
			free_blocks +=
				block >= first && (block - first) / ratio < count && !used[(block - first) / ratio];
		naive.chunks += free_blocks == chunk_blocks;
	}
	free(used);
	ck_assert_ok(ext2fs_close(fs));
	return naive;
}

static void compare(const struct naive *naive, unsigned int threads, uint64_t chunk_blocks)
{
	struct report *report = calloc(1, sizeof(*report));
	struct problem problem = { 0 };
	struct volume volume;
	struct pool *pool;
	uint64_t free_clusters = 0, fragments = 0, in_orders = 0, in_zones = 0;

	ck_assert_int_eq(volume_open(mb_image_path(), 0, &volume, &problem), 0);
	report_filesystem_describe(&volume, &report->filesystem);
	ck_assert_int_eq(pool_create(threads, &pool), 0);
	report->free.chunk_blocks = chunk_blocks;
	ck_assert_int_eq(free_space_read(&volume, pool, true, report), 0);
	ck_assert_uint_eq(report->damage.count, 0);
	ck_assert_uint_eq(report->free.sizes.count, naive->extents);
	ck_assert_uint_eq(report->free.sizes.sum, naive->blocks);
	ck_assert_uint_eq(report->free.sizes.sum, volume.free_blocks);
	ck_assert_uint_eq(report->free.sizes.maximum, naive->largest);
	ck_assert_uint_eq(report->free.largest_start, naive->largest_start);
	ck_assert_uint_eq(report->free.largest_allocatable, naive->allocatable);
	ck_assert_uint_eq(report->free.free_chunks, naive->chunks);
	for (uint32_t number = 0; number < report->filesystem.groups; number++) {
		const struct report_group *group = &report->free.groups[number];

		free_clusters += group->free_clusters;
		fragments += group->fragments;
		for (unsigned int order = 0; order < report->free.orders && order < REPORT_MAX_ORDERS; order++)
			in_orders += (uint64_t)group->orders[order] << order;
	}
	for (size_t zone = 0; zone < report->free.zone_count; zone++)
		in_zones += report->free.zones[zone].free_blocks;
	ck_assert_uint_eq(free_clusters * report->filesystem.cluster_blocks, naive->blocks);
	ck_assert_uint_eq(fragments, naive->fragments);
	ck_assert_uint_eq(in_orders, free_clusters);
	ck_assert_uint_eq(in_zones, naive->blocks);
	pool_destroy(pool);
	volume_close(&volume);
	report_destroy(report);
	free(report);
}

/* With a budget: how many groups are left out, and of how many in a row that is the most. */
static uint64_t left_out(uint64_t most_bytes, double end, uint32_t *in_a_row, struct report *report)
{
	struct read_budget budget = { .most_bytes = most_bytes, .end = end };
	struct problem problem = { 0 };
	struct volume volume;
	struct pool *pool;

	*report = (struct report){ 0 };
	ck_assert_int_eq(volume_open(mb_image_path(), 0, &volume, &problem), 0);
	report_filesystem_describe(&volume, &report->filesystem);
	ck_assert_int_eq(pool_create(0, &pool), 0);
	volume.budget = &budget;
	report->free.superblock_free_blocks = volume.free_blocks;
	ck_assert_int_eq(free_space_read(&volume, pool, true, report), 0);
	*in_a_row = 0;
	for (uint32_t row = 0, number = 0; number < report->filesystem.groups; number++) {
		row = report->free.groups[number].is_unreadable ? row + 1 : 0;
		*in_a_row = row > *in_a_row ? row : *in_a_row;
	}
	pool_destroy(pool);
	volume_close(&volume);
	report->quick.read_bytes = budget.read_bytes;
	return report->quick.groups;
}

START_TEST(a_budget_is_spent_evenly)
{
	struct random random = random_start("a_budget_is_spent_evenly");
	struct report *report = calloc(1, sizeof(*report));
	uint32_t in_a_row;

	mb_image_make("-t ext4 -b 1024 -g 256 -i 262144 -O ^has_journal,^flex_bg,^resize_inode,meta_bg,"
	              "^metadata_csum,^uninit_bg",
	              "160M");
	scatter(&random);
	ck_assert_uint_eq(left_out(UINT64_MAX, 1e300, &in_a_row, report), 0);
	ck_assert_uint_eq(report->filesystem.groups, 640);
	ck_assert_uint_eq(report->quick.read_bytes, 640 << 10);
	ck_assert_uint_eq(report->free.sizes.sum, report->free.superblock_free_blocks);
	report_destroy(report);
	/* Ten tasks of 64 groups, of which every other one is done. */
	ck_assert_uint_eq(left_out(320 << 10, 1e300, &in_a_row, report), 320);
	ck_assert_uint_eq(report->quick.read_bytes, 320 << 10);
	ck_assert_uint_le(in_a_row, 128);
	ck_assert_uint_eq(report->damage.count, 0);
	ck_assert_uint_eq(report->free.unreadable_groups, 0);
	uint64_t blocks = 0;

	for (size_t zone = 0; zone < report->free.zone_count; zone++)
		blocks += report->free.zones[zone].blocks;
	ck_assert_uint_eq(blocks, 320 * 256);
	report_destroy(report);
	ck_assert_uint_eq(left_out(UINT64_MAX, 0, &in_a_row, report), 640);
	ck_assert_uint_eq(report->quick.read_bytes, 0);
	report_destroy(report);
	free(report);
}
END_TEST

/* Each task comes once, whatever their number. */
START_TEST(each_task_has_its_turn)
{
	struct read_budget budget = { 0 };
	struct volume volume = { 0 };
	uint8_t seen[300];

	ck_assert_uint_eq(volume_spread(&volume, 7, 10), 7);
	volume.budget = &budget;
	for (size_t count = 1; count <= sizeof(seen); count++) {
		memset(seen, 0, sizeof(seen));
		for (size_t index = 0; index < count; index++)
			seen[volume_spread(&volume, index, count)]++;
		for (size_t task = 0; task < count; task++)
			ck_assert_uint_eq(seen[task], 1);
	}
}
END_TEST

START_TEST(all_kinds_of_filesystems)
{
	static const struct {
		const char *options, *size;
		uint64_t chunk_blocks;
	} cases[] = {
		{ "-t ext4 -b 1024 -g 1024 -O ^has_journal", "40M", 8 },
		{ "-t ext4 -b 1024 -g 512 -O ^has_journal,^flex_bg,^resize_inode,meta_bg", "20M", 16 },
		{ "-t ext2 -b 4096 -g 2048", "60M", 4 },
		{ "-t ext4 -b 1024 -O ^has_journal,bigalloc -C 2048", "70M", 64 },
		{ "-t ext4 -b 2048 -O ^has_journal,bigalloc,^flex_bg -C 16384 -g 8192", "400M", 64 },
		{ "-t ext4 -b 65536 -O ^has_journal", "400M", 2 },
	};
	struct random random = random_start("all_kinds_of_filesystems");

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		mb_image_make(cases[i].options, cases[i].size);
		/* Before, most groups' bitmaps have never been written. */
		for (unsigned int scattered = 0; scattered < 2; scattered++) {
			struct naive naive;

			if (scattered)
				scatter(&random);
			naive = count_naively(cases[i].chunk_blocks);
			compare(&naive, 0, cases[i].chunk_blocks);
			compare(&naive, 3, cases[i].chunk_blocks);
		}
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("free_space");
	TCase *tests = tcase_create("free_space");

	tcase_add_unchecked_fixture(tests, mb_image_setup, mb_image_teardown);
	tcase_set_timeout(tests, 120);
	tcase_add_test(tests, all_kinds_of_filesystems);
	tcase_add_test(tests, a_budget_is_spent_evenly);
	tcase_add_test(tests, each_task_has_its_turn);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
