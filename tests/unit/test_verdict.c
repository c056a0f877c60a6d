/* SPDX-License-Identifier: GPL-2.0-or-later */
/* e2frag's verdicts and advice by figures. */
#include "analyze/report/verdict.h"

#include <ext2fs/ext2_fs.h>

#include "unit.h"

#define MIB 256 /* in blocks of 4 KiB */

/* So many files alike: each of so many pieces of so many blocks, after `gap` blocks on the disk and `hole` in the file.
 */
struct alike {
	unsigned int files, pieces, blocks;
	unsigned int gap, hole;
	unsigned int map_blocks;
};

struct figures {
	struct alike files[2];
	uint64_t free_runs, free_run_blocks;
	uint64_t filesystem_blocks; /* 0: twice what is free */
	enum verdict_kind kind;
	const char *advice;
};

static const struct figures cases[] = {
	{ { { 100, 1, 100, 0, 0, 0 } }, 2, 500 * MIB, 0, VERDICT_FINE, "Nothing needs to be done." },
	{ { { 0 } }, 2, 500 * MIB, 0, VERDICT_FINE, "Nothing needs to be done." },
	/* A hundredth of the blocks; and less. */
	{ { { 1, 10, 10, 5, 0, 0 }, { 1, 1, 9900, 0, 0, 0 } },
	  2,
	  500 * MIB,
	  0,
	  VERDICT_FILES,
	  "e4defrag on the scattered files (mounted) can join them." },
	{ { { 1, 10, 10, 5, 0, 0 }, { 1, 1, 9901, 0, 0, 0 } },
	  2,
	  500 * MIB,
	  0,
	  VERDICT_FINE,
	  "Nothing needs to be done." },
	/* A tenth of the larger files, though they hold little; one less. */
	{ { { 10, 6, 10, 5, 0, 0 }, { 90, 1, 9000, 0, 0, 0 } },
	  2,
	  500 * MIB,
	  0,
	  VERDICT_FILES,
	  "e4defrag on the scattered files (mounted) can join them." },
	{ { { 9, 6, 10, 5, 0, 0 }, { 2, 1, 90000, 0, 0, 0 } },
	  2,
	  500 * MIB,
	  0,
	  VERDICT_FINE,
	  "Nothing needs to be done." },
	/* Five pieces are few; of 256 KiB they are long. */
	{ { { 1, 5, 10, 5, 0, 0 } }, 2, 500 * MIB, 0, VERDICT_FINE, "Nothing needs to be done." },
	{ { { 1, 6, 10, 5, 0, 0 } },
	  2,
	  500 * MIB,
	  0,
	  VERDICT_FILES,
	  "e4defrag on the scattered files (mounted) can join them." },
	{ { { 1, 60, 64, 5, 0, 0 } }, 2, 500 * MIB, 0, VERDICT_FINE, "Nothing needs to be done." },
	{ { { 1, 60, 63, 5, 0, 0 } },
	  2,
	  500 * MIB,
	  0,
	  VERDICT_FILES,
	  "e4defrag on the scattered files (mounted) can join them." },
	/* Past blocks of the map, at most as many as there are. */
	{ { { 1, 60, 10, 1, 0, 51 } }, 2, 500 * MIB, 0, VERDICT_FINE, "Nothing needs to be done." },
	{ { { 1, 60, 10, 1, 0, 50 } },
	  2,
	  500 * MIB,
	  0,
	  VERDICT_FILES,
	  "e4defrag on the scattered files (mounted) can join them." },
	{ { { 1, 60, 10, 4, 0, 59 } },
	  2,
	  500 * MIB,
	  0,
	  VERDICT_FILES,
	  "e4defrag on the scattered files (mounted) can join them." },
	{ { { 1, 60, 10, 1000, 7, 0 } },
	  2,
	  500 * MIB,
	  0,
	  VERDICT_SPARSE,
	  "Nothing needs to be done: holes and unwritten parts make the pieces." },
	{ { { 10, 2, 1, 5, 0, 0 }, { 90, 1, 90, 0, 0, 0 } },
	  2,
	  500 * MIB,
	  0,
	  VERDICT_SPLIT,
	  "Nothing needs to be done: they cost a seek more each." },
	{ { { 10, 2, 1, 5, 0, 0 }, { 91, 1, 90, 0, 0, 0 } },
	  2,
	  500 * MIB,
	  0,
	  VERDICT_FINE,
	  "Nothing needs to be done." },
	/* Extents of 4 MiB are good enough. */
	{ { { 100, 1, 100, 0, 0, 0 } }, 500, 4 * MIB, 0, VERDICT_FINE, "Nothing needs to be done." },
	{ { { 100, 1, 100, 0, 0, 0 } },
	  500,
	  2 * MIB,
	  0,
	  VERDICT_FREE_SPACE,
	  "New files will be in short pieces: free more, or copy everything." },
	{ { { 1, 10, 10, 5, 0, 0 } },
	  5000,
	  3,
	  0,
	  VERDICT_BOTH,
	  "The free space is in pieces as short as theirs: free more first, or copy everything (e2populate -d)." },
	/* A sixty-fourth of little free space. */
	{ { { 100, 1, 100, 0, 0, 0 } }, 64, 16, 0, VERDICT_FINE, "Nothing needs to be done." },
	{ { { 100, 1, 100, 0, 0, 0 } },
	  68,
	  16,
	  0,
	  VERDICT_FREE_SPACE,
	  "New files will be in short pieces: free more, or copy everything." },
	/* Nearly full. */
	{ { { 100, 1, 100, 0, 0, 0 } },
	  5000,
	  3,
	  15000 * 20 + 1,
	  VERDICT_FINE,
	  "It is nearly full: new files will be in short pieces. Free some space." },
	{ { { 1, 10, 10, 5, 0, 0 } },
	  0,
	  0,
	  1000,
	  VERDICT_FILES,
	  "Too little is free to join more than a few pieces of files: free some space first, or copy everything "
	  "(e2populate -d)." },
	/* Little of a large filesystem, which is long, is enough. */
	{ { { 1, 10, 10, 5, 0, 0 } },
	  2,
	  20,
	  1000,
	  VERDICT_FILES,
	  "e4defrag on the scattered files (mounted) can join them." },
	{ { { 1, 10, 10, 5, 0, 0 } },
	  2,
	  6,
	  1000,
	  VERDICT_FILES,
	  "Too little is free to join more than a few pieces of files: free some space first, or copy everything "
	  "(e2populate -d)." },
};

static void take(struct report_kinds *kinds, const struct alike *alike)
{
	struct file_layout layout = { 0 };
	struct map_record record = { .physical = 1000, .count = alike->blocks };

	for (unsigned int piece = 0; piece < alike->pieces; piece++) {
		layout_add(&layout, &record, 32768, NULL);
		record.physical += alike->blocks + alike->gap;
		record.logical += alike->blocks + alike->hole;
	}
	for (unsigned int file = 0; file < alike->files; file++)
		verdict_decide(kinds, &layout, alike->map_blocks, 1, OBSTACLE_NONE, 4096);
}

START_TEST(test_verdict)
{
	const struct figures *figures = &cases[_i];
	static struct report report;
	uint64_t free_blocks = figures->free_runs * figures->free_run_blocks;

	report = (struct report){
		.filesystem = { .block_bytes = 4096,
		                .blocks_per_group = 32768,
		                .has_extents = true,
		                .blocks = figures->filesystem_blocks ? figures->filesystem_blocks : 2 * free_blocks },
		.has_free = true,
		.has_files = true,
	};
	take(&report.files.kinds, &figures->files[0]);
	take(&report.files.kinds, &figures->files[1]);
	for (uint64_t run = 0; run < figures->free_runs; run++)
		histogram_add(&report.free.sizes, figures->free_run_blocks);
	verdict_make(&report);
	ck_assert_str_eq(verdict_words(report.verdict.kind), verdict_words(figures->kind));
	ck_assert_uint_eq(report.verdict.advice_count, 1);
	ck_assert_str_eq(report.verdict.advice[0], figures->advice);
}
END_TEST

struct obstacle_case {
	struct report_filesystem filesystem;
	uint32_t flags;
	uint64_t size_bytes, blocks;
	enum file_obstacle obstacle;
};

#define FREE_BLOCKS 1000

static const struct obstacle_case obstacles[] = {
	{ { .has_extents = true, .cluster_blocks = 1 }, EXT4_EXTENTS_FL, 1, 1000, OBSTACLE_NONE },
	{ { .has_extents = true, .cluster_blocks = 1 }, EXT4_EXTENTS_FL, 1, 1001, OBSTACLE_SIZE },
	{ { .has_extents = false, .cluster_blocks = 1 }, 0, 1, 1001, OBSTACLE_SIZE },
	{ { .has_extents = false, .cluster_blocks = 1 }, 0, 1, 1, OBSTACLE_KIND },
	{ { .has_extents = true, .cluster_blocks = 1 }, 0, 1, 1, OBSTACLE_KIND },
	{ { .has_extents = true, .cluster_blocks = 2 }, EXT4_EXTENTS_FL, 1, 1, OBSTACLE_KIND },
	{ { .has_extents = true, .cluster_blocks = 1, .journals_data = true }, EXT4_EXTENTS_FL, 1, 1, OBSTACLE_KIND },
	{ { .has_extents = true, .cluster_blocks = 1 }, EXT4_EXTENTS_FL, 0, 1, OBSTACLE_KIND },
	{ { .has_extents = true, .cluster_blocks = 1 }, EXT4_EXTENTS_FL | EXT2_IMMUTABLE_FL, 1, 1, OBSTACLE_KIND },
	{ { .has_extents = true, .cluster_blocks = 1 }, EXT4_EXTENTS_FL | EXT3_JOURNAL_DATA_FL, 1, 1, OBSTACLE_KIND },
};

START_TEST(test_obstacles)
{
	const struct obstacle_case *given = &obstacles[_i];
	static struct report report;

	report = (struct report){ .filesystem = given->filesystem, .has_free = true };
	histogram_add(&report.free.sizes, FREE_BLOCKS);
	ck_assert_int_eq(verdict_obstacle(&report, given->flags, given->size_bytes, given->blocks), given->obstacle);
	/* Where bitmaps are not read, the superblock knows it. */
	report = (struct report){ .filesystem = given->filesystem, .free.superblock_free_blocks = FREE_BLOCKS };
	ck_assert_int_eq(verdict_obstacle(&report, given->flags, given->size_bytes, given->blocks), given->obstacle);
}
END_TEST

/* What could not be read has a reason. */
START_TEST(test_damage)
{
	static struct report report;

	report = (struct report){ .filesystem = { .block_bytes = 4096 }, .damage.count = 1 };
	verdict_make(&report);
	ck_assert_str_eq(report.verdict.advice[0], "Parts of it cannot be read: run e2fsck first.");
	report.filesystem.is_mounted = true;
	verdict_make(&report);
	ck_assert_str_eq(report.verdict.advice[0],
	                 "It is mounted and changes while it is read: parts could not be read.");
	report.filesystem.missing_blocks = 1;
	verdict_make(&report);
	ck_assert_str_eq(report.verdict.advice[0], "It is cut off: what is missing is left out. Copy the whole of it.");
	ck_assert_uint_eq(report.verdict.advice_count, 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("verdict");
	TCase *tests = tcase_create("verdict");

	tcase_add_loop_test(tests, test_verdict, 0, sizeof(cases) / sizeof(*cases));
	tcase_add_loop_test(tests, test_obstacles, 0, sizeof(obstacles) / sizeof(*obstacles));
	tcase_add_test(tests, test_damage);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
