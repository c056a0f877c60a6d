/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Each policy's documented examples and edges, and what must hold for any request. */
#include <string.h>

#include "allocator/core/arithmetic.h"
#include "allocator/preallocation/normalize.h"
#include "seeded_random.h"
#include "unit.h"

#define T EXT2MB_NORMALIZE_TABLE
#define P EXT2MB_NORMALIZE_POW2
#define E EXT2MB_NORMALIZE_EXT2MB

enum {
	UNWRITTEN = 1,
	FINAL = 2,
	FULL = 4,     /* 10 000 blocks are free, largest order 6 */
	FRAGILE = 8,  /* much is free, largest order 6 */
	CROWDED = 16, /* 2^22 blocks are free, for 64 windows */
	CONTENDED = 32,
};

struct example {
	enum ext2mb_normalization policy;
	unsigned int block_bits;
	uint32_t stripe;
	uint64_t start, count, file; /* the request */
	uint64_t hole_start, hole_end, left, right;
	unsigned int flags;
	uint64_t whole;
	uint64_t goal, length, physical, try_count; /* what is expected */
};

#define END NORMALIZE_END
#define NONE 0, END, 0, 0

/* clang-format off */
static const struct example examples[] = {
	/* The table with 4 KiB blocks: powers of two from 16 KiB up to 1 MiB, from the file's beginning. */
	{ T, 12, 0,     0,    1,    1, NONE, 0, 0,     0,     4, 0, 0 },
	{ T, 12, 0,     0,    4,    4, NONE, 0, 0,     0,     4, 0, 0 },
	{ T, 12, 0,     0,    5,    5, NONE, 0, 0,     0,     8, 0, 0 },
	{ T, 12, 0,   100,    1,  101, NONE, 0, 0,     0,   128, 0, 0 },
	{ T, 12, 0,   100,    1,  256, NONE, 0, 0,     0,   256, 0, 0 },
	{ T, 12, 0,   255,    1,  256, 255, END, 9000, 0, 0, 0, 255, 1, 9000, 1 },
	{ T, 12, 0,   256,    1,  257, NONE, 0, 0,     0,   512, 0, 0 }, /* 2 MiB */
	{ T, 12, 0,  1023,    1, 1024, NONE, 0, 0,   512,   512, 0, 0 },
	{ T, 12, 0,  1024,    1, 1025, NONE, 0, 0,  1024,  1024, 0, 0 }, /* 4 MiB */
	{ T, 12, 0,  2047,    1, 2048, NONE, 0, 0,  1024,  1024, 0, 0 },
	{ T, 12, 0,  2048,    1, 2049, NONE, 0, 0,  2048,  2048, 0, 0 }, /* 8 MiB */
	/* The bug of 2014: long requests are cut at 8 MiB, and at their alignment. */
	{ T, 12, 0,     0, 2048, 2048, NONE, 0, 0,     0,  1024, 0, 0 },
	{ T, 12, 0,     0, 2049, 2049, NONE, 0, 0,     0,  2048, 0, 0 },
	{ T, 12, 0,     0, 8192, 8192, NONE, 0, 0,     0,  2048, 0, 0 },
	{ T, 12, 0,  5000, 9000, 14000, NONE, 0, 0, 4096,  2048, 0, 0 },
	/* 2 KiB blocks: 4 MiB, 1 KiB blocks: 2 MiB, whatever is asked for. */
	{ T, 11, 0,     0, 16000, 16000, NONE, 0, 0,   0,  2048, 0, 0 },
	{ T, 11, 0,     0, 1000, 1000, NONE, 0, 0,     0,  1024, 0, 0 },
	{ T, 10, 0,  7000, 8000, 15000, NONE, 0, 0, 6144,  2048, 0, 0 },
	{ T, 10, 0,     0,    1,    1, NONE, 0, 0,     0,    16, 0, 0 },
	/* 64 KiB blocks have an end of the table: 128 blocks are 8 MiB. */
	{ T, 16, 0,     0,    1,    1, NONE, 0, 0,     0,     1, 0, 0 },
	{ T, 16, 0,     0,   17,   17, NONE, 0, 0,     0,    32, 0, 0 },
	{ T, 16, 0,   300,  128, 1000, NONE, 0, 0,   256,   128, 0, 0 },
	{ T, 16, 0,   300,  129, 1000, NONE, 0, 0,   300,   129, 0, 0 },
	/* fallocate that fits in one extent is left alone, and does not even try the next block. */
	{ T, 12, 0,     7,     1,     8, 7, END, 900, 0, UNWRITTEN, 0,     7,     1, 0, 0 },
	{ T, 12, 0,     0, 32767, 32767, NONE, UNWRITTEN, 0,               0, 32767, 0, 0 },
	{ T, 12, 0,     0, 32768, 32768, NONE, UNWRITTEN, 0,               0,  2048, 0, 0 },
	{ T, 12, 0, 32768,   100, 32868, NONE, UNWRITTEN, 32868,       32768,  2048, 0, 0 },
	/* The last request of a closed file is left alone, unless the filesystem is busy; what comes before it is not. */
	{ T, 12, 0,     0,   18,   18, NONE, FINAL, 0,                  0,    18, 0, 0 },
	{ T, 12, 0,     0,   18,   18, NONE, FINAL | CONTENDED, 0,      0,    32, 0, 0 },
	{ T, 12, 0,     0,   18,   19, NONE, FINAL, 0,                  0,    32, 0, 0 },
	{ T, 12, 0,  2048,  700, 2748, 2048, END, 70000, 0, FINAL, 0, 2048,  700, 0, 0 },
	{ T, 12, 0,     0, 2048, 2748, NONE, FINAL, 0,                  0,  2048, 0, 0 },
	{ T, 12, 0,     0, 32768, 32768, NONE, FINAL, 0,                0, 32768, 0, 0 },
	{ T, 12, 0,     0, 32769, 32769, NONE, FINAL, 0,                0,  2048, 0, 0 },
	{ T, 12, 0,     0,   18,   18, NONE, FINAL | UNWRITTEN, 40000,  0,    32, 0, 0 },
	/* Neighbours: the hole is kept to, and continued on the left first. */
	{ T, 12, 0,  5000,    1, 9000, 4900, 5100, 0, 0, 0, 0,          4900,   200, 0, 0 },
	{ T, 12, 0,  5000,    1, 9000, 4900, 5100, 70000, 80000, 0, 0,  4900,   200, 70000, 200 },
	{ T, 12, 0,  5000,    1, 9000, 4000, 5100, 70000, 80000, 0, 0,  4096,  1004, 78996, 1004 },
	{ T, 12, 0,  5000,    1, 9000, 4000, 5100, 70000, 1004, 0, 0,   4096,  1004, 0, 0 },
	{ T, 12, 0,  5000,    1, 9000, 4900, 5100, 52428800, 0, 0, 0,   4900,   200, 0, 0 }, /* behind the end */
	{ T, 12, 0, END - 1,  1,  END, NONE, 0, 0,              END - 2047,  2047, 0, 0 },

	/* 2014: from the request's own start to the next power of two of the assumed end, in blocks. */
	{ P, 12, 0,     0,    1,    1, NONE, 0, 0,     0,     1, 0, 0 },
	{ P, 12, 0,     3,    1,    4, NONE, 0, 0,     3,     1, 0, 0 },
	{ P, 12, 0,     4,    1,    5, 4, END, 700, 0, 0, 0, 4, 4, 700, 4 },
	{ P, 12, 0,   100,    1,  101, NONE, 0, 0,   100,    28, 0, 0 },
	{ P, 12, 0,     0, 9000, 9000, NONE, 0, 0,     0, 16384, 0, 0 },
	{ P, 12, 0,     0, 32768, 32768, NONE, 0, 0,   0, 32768, 0, 0 },
	{ P, 12, 0,     0, 32769, 32769, NONE, 0, 0,   0, 32768, 0, 0 },
	{ P, 12, 0, 40000,    1, 40001, NONE, 0, 0, 40000, 25536, 0, 0 },
	{ P, 12, 0, 65536,    1, 65537, NONE, 0, 0, 65536, 32768, 0, 0 },
	{ P, 10, 0,     0, 9000, 9000, NONE, 0, 0,     0,  8192, 0, 0 },
	{ P, 11, 0,     0, 9000, 9000, NONE, 0, 0,     0, 16384, 0, 0 },
	{ P, 16, 0,     0, 9000, 9000, NONE, 0, 0,     0, 16384, 0, 0 },
	{ P, 12, 0, END - 1,  1,  END, NONE, 0, 0, END - 1,   1, 0, 0 },
	{ P, 12, 0,     0,   18,   18, NONE, FINAL, 0,     0,    18, 0, 0 }, /* a closed file */
	{ P, 12, 0,     0,   18,   18, NONE, FINAL | CONTENDED, 0, 0, 32, 0, 0 },
	{ P, 12, 0,     0,   18,   19, NONE, FINAL, 0,     0,    32, 0, 0 },
	/* ... aligned to stripes afterwards, ... */
	{ P, 12, 96,   20,    1,   21, NONE, 0, 0,    20,    76, 0, 0 },
	{ P, 12, 96, 40000,   1, 40001, NONE, 0, 0, 40000, 25568, 0, 0 },
	{ P, 12, 80, 65536,   1, 65537, NONE, 0, 0, 65536, 32704, 0, 0 },
	/* ... but not what fallocate asks for, but for half an extent. */
	{ P, 12, 0,     7,     1,     8, 7, END, 900, 0, UNWRITTEN, 0, 7,     1, 0, 0 },
	{ P, 12, 96,    0, 16384, 16384, NONE, UNWRITTEN, 0,           0, 16384, 0, 0 },
	{ P, 12, 0,     0, 16385, 16385, NONE, UNWRITTEN, 0,           0, 16384, 0, 0 },
	{ P, 10, 0,     0, 16385, 16385, NONE, UNWRITTEN, 0,           0,  8192, 0, 0 },

	/* Ours: 16 blocks or the next power of two at first, ... */
	{ E, 12, 0,     0,    1,    1, NONE, 0, 0,     0,    16, 0, 0 },
	{ E, 12, 0,     0,   16,   16, NONE, 0, 0,     0,    16, 0, 0 },
	{ E, 12, 0,     0,   17,   17, NONE, 0, 0,     0,    32, 0, 0 },
	/* ... then four times the file, behind what it has, ... */
	{ E, 12, 0,    16,    1,   17, 16, END, 65600, 0, 0, 0, 16, 64, 65600, 64 },
	{ E, 12, 0,    80,    1,   81, 80, END, 65600, 0, 0, 0, 80, 256, 65600, 256 },
	{ E, 12, 0,  8191,    1, 8192, 8191, END, 65600, 0, 0, 0, 8191, 16384, 65600, 16384 },
	/* ... up to a whole group, of which only what is left in this group is tried for. */
	{ E, 12, 0,  8192,    1, 8193, 8192, END, 65536, 0, 0, 0, 8192, 32768, 65536, 32768 },
	{ E, 12, 0,  8192,    1, 8193, 8192, END, 65537, 0, 0, 0, 8192, 32768, 65537, 32767 },
	{ E, 12, 0,  8192,    1, 8193, 8192, END, 98303, 0, 0, 0, 8192, 32768, 98303, 1 },
	{ E, 12, 0,  8192,    1, 8193, 8192, END, 98304, 0, 0, 0, 8192, 32768, 98304, 32768 },
	{ E, 12, 0, 80000,    1, 80001, 80000, END, 52428690, 0, 0, 0, 80000, 32768, 52428690, 10 },
	{ E, 10, 0, 80000,    1, 80001, 80000, END, 8193, 0, 0, 0, 80000, 8192, 8193, 8192 }, /* first block 1 */
	{ E, 16, 0, 80000,    1, 80001, 80000, END, 524288, 0, 0, 0, 80000, 32768, 524288, 32768 },
	{ E, 12, 0, END - 1,  1,  END, NONE, 0, 0, END - 1,   1, 0, 0 },
	/* Requests longer than a group. */
	{ E, 12, 0,     3, 32768, 32771, NONE, 0, 0,   3, 32768, 0, 0 },
	{ E, 12, 0,     3, 32769, 32772, NONE, 0, 0,   3, 32768, 0, 0 },
	{ E, 12, 96,    3, 32769, 32772, NONE, 0, 0,   3, 32733, 0, 0 }, /* to a stripe's end */
	/* Known ends are not passed, even where they are far away; small closed files waste nothing. */
	{ E, 12, 0,     0,    3,    3, NONE, FINAL, 0,  0,     3, 0, 0 },
	{ E, 12, 256,   0,    3,    3, NONE, FINAL, 0,  0,     3, 0, 0 },
	{ E, 12, 96,    0,    1, 5000, NONE, FINAL, 0,  0,  5000, 0, 0 },
	{ E, 12, 0,     0,    1, 5000, NONE, FINAL, 0,  0,  5000, 0, 0 },
	{ E, 12, 0,  1000,    1, 5000, NONE, FINAL, 0, 1000,   1, 0, 0 },
	{ E, 12, 0,  1000,    1, 5000, 1000, END, 65600, 0, FINAL, 0, 1000, 4000, 65600, 4000 },
	/* Inside a file: chunks of up to 8 MiB, aligned, to its end; or what goes on like an append. */
	{ E, 12, 0,  5000,    1, 100000, NONE, 0, 0, 4096,  2048, 0, 0 },
	{ E, 12, 0,    50,    1,  100, NONE, 0, 0,     0,   100, 0, 0 },
	{ E, 12, 0,  6143,    2, 100000, NONE, 0, 0, 4096,  2049, 0, 0 },
	{ E, 12, 0,  5000, 3000, 100000, NONE, 0, 0, 4096,  4096, 0, 0 },
	{ E, 10, 0,  9000,    1, 100000, NONE, 0, 0, 8192,  8192, 0, 0 },
	{ E, 16, 0,  9000,    1, 100000, NONE, 0, 0, 8960,   128, 0, 0 },
	{ E, 12, 0,  5000,    1, 100000, 5000, END, 65600, 0, 0, 0, 5000, 16384, 65600, 16384 },
	{ E, 12, 0,  5000,    1, 6000, 5000, END, 65600, 0, 0, 0, 5000, 1000, 65600, 1000 },
	{ E, 12, 0,  5000,    1, 100000, 4000, 5100, 0, 90000, 0, 0, 4096, 1004, 88996, 1004 },
	{ E, 12, 0,  5000,    1, 100000, 4000, 5100, 0, 65600, 0, 0, 4096, 1004, 64596, 0 }, /* another group */
	/* fallocate is left alone, but for the next block ... */
	{ E, 12, 0,     0,  100,  100, NONE, UNWRITTEN, 0,              0, 100, 0, 0 },
	{ E, 12, 0,     0, 32767, 32767, NONE, UNWRITTEN, 0,            0, 32767, 0, 0 },
	{ E, 12, 0,     0, 40000, 40000, NONE, UNWRITTEN, 0,            0, 32768, 0, 0 },
	{ E, 12, 0,    10,  100,  110, 10, END, 65600, 0, UNWRITTEN, 0, 10, 100, 65600, 100 },
	{ E, 12, 0,    10,    5,  500, 10, END, 65600, 0, UNWRITTEN, 0, 10, 5, 65600, 5 },
	{ E, 12, 0,    10,    5,   15, 10, END, 65600, 0, UNWRITTEN, 15, 10, 5, 65600, 5 },
	/* ... unless it appends step by step, with steps no longer than the file. */
	{ E, 12, 0,    10,   10,   20, 10, END, 65600, 0, UNWRITTEN, 0, 10, 32, 65600, 32 },
	{ E, 12, 0,    10,   11,   21, 10, END, 65600, 0, UNWRITTEN, 0, 10, 11, 65600, 11 },
	{ E, 12, 0,     1,    1,    2, 1, END, 65600, 0, UNWRITTEN, 0, 1, 16, 65600, 16 },
	/* The rest of a step is one, whatever is left of it. */
	{ E, 12, 0,   110,    6,  116, 110, END, 65600, 0, UNWRITTEN, 16, 110, 256, 65600, 256 },
	{ E, 12, 0,   110,    6,  116, 110, END, 65600, 0, UNWRITTEN, 58, 110, 256, 65600, 256 },
	{ E, 12, 0,   110,    6,  116, 110, END, 65600, 0, UNWRITTEN, 59, 110, 6, 65600, 6 },
	{ E, 12, 0,   110,    6,  116, 110, END, 65600, 0, UNWRITTEN, END << 31, 110, 6, 65600, 6 },
	{ E, 12, 0,   100,    5,  105, NONE, UNWRITTEN, 0,            100,   5, 0, 0 }, /* behind a hole */
	/* Little free space: a quarter of it for all windows, and no more than the longest buddy. */
	{ E, 12, 0, 80000,    1, 80001, 80000, END, 65600, 0, FULL, 0, 80000, 64, 65600, 64 },
	{ E, 12, 0, 80000,    1, 80001, 80000, END, 65600, 0, FRAGILE, 0, 80000, 64, 65600, 64 },
	{ E, 12, 0, 80000,    1, 80001, 80000, END, 65600, 0, CROWDED, 0, 80000, 8192, 65600, 8192 },
	{ E, 12, 0, 80000,  100, 80100, 80000, END, 65600, 0, FULL, 0, 80000, 100, 65600, 100 },
	/* Stripes: from a window of one stripe on, its end lies on one. */
	{ E, 12, 96,    0,    1,    1, NONE, 0, 0,     0,    16, 0, 0 },
	{ E, 12, 96,   80,    1,   81, 80, END, 65648, 0, 0, 0, 80, 304, 65648, 304 }, /* congruent: 80 + 683 * 96 */
	{ E, 12, 96,   80,    1,   81, 80, END, 65649, 0, 0, 0, 80, 16, 65649, 16 },   /* not: to the stripe's end */
	{ E, 12, 96,   96,    1,   97, 96, END, 65665, 0, 0, 0, 96, 288, 65665, 0 },   /* then elsewhere */
	{ E, 12, 96,   80,   20,  100, 80, END, 65649, 0, 0, 0, 80, 304, 65649, 304 },
	{ E, 12, 96, 5000,    1, 100000, NONE, 0, 0, 4032,  2112, 0, 0 },
	{ E, 12, 80, 80000,   1, 80001, 80000, END, 65600, 0, 0, 0, 80000, 32720, 65600, 32704 }, /* a group */
};
/* clang-format on */

static struct geometry make_geometry(unsigned int block_bits, unsigned int cluster_bits)
{
	return (struct geometry){
		.first_block = block_bits == 10 && !cluster_bits,
		.end_block = 52428700, /* the last group is short */
		.clusters_per_group = 8u << block_bits,
		.cluster_bits = cluster_bits,
		.block_bits = block_bits,
	};
}

START_TEST(test_example)
{
	const struct example *example = &examples[_i];
	struct geometry geometry = make_geometry(example->block_bits, 0);
	struct normalize_request request = {
		.geometry = &geometry,
		.stripe_blocks = example->stripe,
		.start = example->start,
		.count = example->count,
		.whole_count = example->whole,
		.file_blocks = example->file,
		.unwritten = example->flags & UNWRITTEN,
		.final_size = example->flags & FINAL,
		.is_contended = example->flags & CONTENDED,
		.hole_start = example->hole_start,
		.hole_end = example->hole_end,
		.left_physical = example->left,
		.right_physical = example->right,
		.hints = { 52428800, 0, -1 },
	};
	if (example->flags & FULL)
		request.hints = (struct normalize_hints){ 10000, 30, 13 };
	if (example->flags & FRAGILE)
		request.hints.largest_order = 6;
	if (example->flags & CROWDED)
		request.hints = (struct normalize_hints){ UINT64_C(1) << 22, 64, 13 };

	struct normalize_goal goal = normalize(example->policy, &request);
	ck_assert_msg(goal.start == example->goal && goal.count == example->length, "example %d: [%llu, +%llu)", _i,
	              (unsigned long long)goal.start, (unsigned long long)goal.count);
	ck_assert_msg(goal.try_count == example->try_count, "example %d: tries %llu", _i,
	              (unsigned long long)goal.try_count);
	if (goal.try_count)
		ck_assert_msg(goal.physical == example->physical, "example %d: at %llu", _i,
		              (unsigned long long)goal.physical);
}
END_TEST

static struct normalize_goal table_goal(const struct geometry *geometry, uint64_t start, uint64_t count, bool unwritten)
{
	struct normalize_request request = {
		.geometry = geometry,
		.start = start,
		.count = count,
		.unwritten = unwritten,
		.hole_end = NORMALIZE_END,
	};
	return normalize(EXT2MB_NORMALIZE_TABLE, &request);
}

/* 64 KiB blocks in clusters of 16: the kernel takes 128 clusters for 8 MiB, and extents end with a cluster. */
START_TEST(test_table_clusters)
{
	struct geometry geometry = make_geometry(16, 4);

	ck_assert_uint_eq(table_goal(&geometry, 4000, 128 * 16, false).count, 128);
	ck_assert_uint_eq(table_goal(&geometry, 4000, 129 * 16, false).count, 129 * 16);
	ck_assert_uint_eq(table_goal(&geometry, 4000, 32768, false).count, 32768);
	ck_assert_uint_eq(table_goal(&geometry, 4000, 32768, true).count, 32752);
}
END_TEST

/* Groups shorter than a chunk: it begins where a group of the file would, and keeps its length as it can. */
START_TEST(test_table_small_groups)
{
	struct geometry geometry = make_geometry(12, 0);

	geometry.clusters_per_group = 1000;
	struct normalize_goal goal = table_goal(&geometry, 2040, 1, false);
	ck_assert_uint_eq(goal.start, 2000);
	ck_assert_uint_eq(goal.count, 1000);
	goal = table_goal(&geometry, 2048, 1, false);
	ck_assert_uint_eq(goal.start, 2048);
	ck_assert_uint_eq(goal.count, 1000);
}
END_TEST

/* A file of 1 GiB, block by block: which windows? */
START_TEST(test_windows)
{
	static const uint64_t expected[] = { 16, 64, 256, 1024, 4096, 16384 };
	struct geometry geometry = make_geometry(12, 0);
	uint64_t position = 0, windows = 0;

	for (; position < 262144; windows++) {
		struct normalize_request request = {
			.geometry = &geometry,
			.start = position,
			.count = 1,
			.hole_start = position,
			.hole_end = NORMALIZE_END,
			.left_physical = position,
			.hints = { 52428800, 63, -1 },
		};
		struct normalize_goal goal = normalize(EXT2MB_NORMALIZE_EXT2MB, &request);

		ck_assert_uint_eq(goal.count, windows < 6 ? expected[windows] : 32768);
		position += goal.count;
	}
	ck_assert_uint_eq(windows, 14);
}
END_TEST

/* --- What must hold for any request -------------------------------------------------------------------------- */

/* Small numbers are as likely as large ones. */
static uint64_t any_number(struct random *random, unsigned int bits)
{
	return random_below(random, UINT64_C(1) << random_below(random, bits + 1));
}

static const uint32_t stripes[] = { 0, 0, 16, 96, 128, 4096, 40000 };

static void any_request(struct random *random, struct geometry *geometry, struct normalize_request *request)
{
	static const unsigned int block_bits[] = { 10, 11, 12, 16 };
	unsigned int cluster_bits = random_below(random, 3) ? 0 : 4;

	*geometry = make_geometry(block_bits[random_below(random, 4)], cluster_bits);
	if (!random_below(random, 4))
		geometry->clusters_per_group = 8 * (uint32_t)(1 + random_below(random, 500));
	uint64_t cluster = UINT64_C(1) << cluster_bits, end = NORMALIZE_END / cluster;
	uint64_t hole_start = random_below(random, 2) ? any_number(random, 31) : end - 1 - any_number(random, 18);

	hole_start = hole_start < end ? hole_start : end - 1;
	uint64_t hole = random_below(random, 2) ? end - hole_start : 1 + any_number(random, 18);
	hole = hole < end - hole_start ? hole : end - hole_start;
	uint64_t offset = random_below(random, 2) ? 0 : any_number(random, 18) % hole;
	uint64_t count = 1 + any_number(random, 17) % (hole - offset);

	*request = (struct normalize_request){
		.geometry = geometry,
		.stripe_blocks = stripes[random_below(random, 7)],
		.start = (hole_start + offset) * cluster,
		.count = count * cluster,
		.file_blocks = random_below(random, 2) ? any_number(random, 32) : 0,
		.unwritten = random_below(random, 2),
		.final_size = !random_below(random, 4),
		.hole_start = hole_start * cluster,
		.hole_end = hole_start + hole == end ? NORMALIZE_END : (hole_start + hole) * cluster,
		.is_contended = !random_below(random, 4),
		.hints = { any_number(random, 26), (uint32_t)any_number(random, 7), (int)random_below(random, 19) - 1 },
	};
	if (!random_below(random, 4))
		request->file_blocks = request->start + request->count;
	uint64_t clusters = (geometry->end_block - geometry->first_block) / cluster;
	if (hole_start && random_below(random, 4))
		request->left_physical = geometry->first_block + (1 + random_below(random, clusters)) * cluster;
	if (request->hole_end != NORMALIZE_END && random_below(random, 4))
		request->right_physical =
			geometry->first_block + (1 + any_number(random, 25) % (clusters - 1)) * cluster;
}

static uint64_t least(uint64_t first, uint64_t second)
{
	return first < second ? first : second;
}

/* ck_assert() is a write() each: too slow for so many. */
#define HOLDS(condition)                                                                                               \
	do {                                                                                                           \
		if (!(condition))                                                                                      \
			ck_abort_msg("does not hold (TEST_SEED): %s", #condition);                                     \
	} while (0)

/* Holds for any policy. */
static void check_goal(const struct normalize_request *request, const struct normalize_goal *goal)
{
	const struct geometry *geometry = request->geometry;
	uint64_t cluster = UINT64_C(1) << geometry->cluster_bits, group = geometry->clusters_per_group * cluster;
	uint64_t end = goal->start + goal->count;

	HOLDS(goal->start >= request->hole_start && end <= request->hole_end);
	HOLDS(goal->start <= request->start && request->start < end);
	HOLDS(goal->count <= group);
	HOLDS(goal->start % cluster == 0 && goal->count % cluster == 0);
	HOLDS(goal->try_least <= goal->try_count && goal->try_count <= goal->count);
	HOLDS(!goal->try_count == !goal->try_least);
	HOLDS(goal->try_count % cluster == 0 && goal->try_least % cluster == 0);
	if (!goal->try_count)
		return;
	HOLDS(goal->physical >= geometry->first_block && goal->physical < geometry->end_block);
	bool left = goal->start == request->hole_start && goal->physical == request->left_physical;
	bool right = end == request->hole_end && goal->physical + goal->count == request->right_physical;
	HOLDS(left || right);
}

/* Holds for the two policies that do not cut. */
static void check_whole(const struct normalize_request *request, const struct normalize_goal *goal, uint64_t limit)
{
	uint64_t group = (uint64_t)request->geometry->clusters_per_group << request->geometry->cluster_bits;
	uint64_t end = goal->start + goal->count;

	if (request->count > group && request->stripe_blocks && limit == UINT64_MAX)
		HOLDS(goal->start == request->start && goal->count + request->stripe_blocks > group);
	else
		HOLDS(end >= request->start + least(request->count, least(group, limit)));
}

static void check_ext2mb(const struct normalize_request *request, const struct normalize_goal *goal)
{
	const struct geometry *geometry = request->geometry;
	uint64_t cluster = UINT64_C(1) << geometry->cluster_bits, group = geometry->clusters_per_group * cluster;
	uint64_t stripe = request->stripe_blocks, end = goal->start + goal->count;
	uint64_t request_end = request->start + request->count;
	bool joins_left =
		goal->try_count && goal->start == request->hole_start && goal->physical == request->left_physical;

	/* Never out of the group that it tries, never past a known end. */
	if (goal->try_count)
		HOLDS((goal->physical - geometry->first_block) / group ==
		      (goal->physical + goal->try_count - 1 - geometry->first_block) / group);
	if (joins_left)
		HOLDS(goal->try_least == cluster);
	if (request->final_size && !request->unwritten)
		HOLDS(end <= request_end || end < request->file_blocks + cluster);

	/* More than the request only within limits: the windows' share, the longest buddy, and a stripe. */
	uint64_t slack = goal->count > request->count ? goal->count - request->count : 0;
	uint64_t share = request->hints.free_blocks / (4 * ((uint64_t)request->hints.open_preallocations + 1));
	HOLDS(slack <= least(32768, (share > cluster ? share : cluster)) + 2 * stripe);
	if (request->hints.largest_order >= 0 && request->hints.largest_order < (int)geometry->block_bits + 2)
		HOLDS(slack <= (request->hints.largest_order > (int)geometry->block_bits ?
		                        group :
		                        cluster << request->hints.largest_order) +
		                       2 * stripe);

	/* Where a window of a stripe or more is not cut by something else, its end is a stripe's. */
	bool window = goal->count > request->count && !request->final_size && !request->unwritten;
	if (stripe && stripe % cluster == 0 && window && goal->count >= 3 * stripe && goal->count + stripe <= group &&
	    end != request->hole_end && end < NORMALIZE_END - cluster && request_end >= request->file_blocks)
		HOLDS(end % stripe == 0);
	/* What begins with a stripe may not be tried for where no stripe begins. */
	if (stripe && goal->count >= stripe && goal->start % stripe == 0 && goal->try_count)
		HOLDS(goal->physical % stripe == 0);
	/* Without stripes, known ends and files that are there already, what grows is a power of two or cut. */
	if (!stripe && window && cluster == 1 && request_end >= request->file_blocks && end != request->hole_end &&
	    end != NORMALIZE_END)
		HOLDS((goal->count & (goal->count - 1)) == 0);
}

/*
 * The kernel's rule for closed files, from what it does to a request: a length that one extent and one group may have,
 * then the end, then who writes.
 */
static void check_closed(const struct normalize_request *request, const struct normalize_goal *goal)
{
	uint64_t cluster = UINT64_C(1) << request->geometry->cluster_bits;
	uint64_t group = (uint64_t)request->geometry->clusters_per_group << request->geometry->cluster_bits;
	uint64_t count = least(least(request->count, 32768), group);
	bool is_last = request->start + count == request->file_blocks;
	bool has_writers = !request->final_size || request->unwritten;

	if (request->start + count > NORMALIZE_END / cluster * cluster)
		return;
	if (is_last && !has_writers && !request->is_contended)
		HOLDS(goal->start == request->start && goal->count == count && !goal->try_count);
	HOLDS(normalize_ends_closed(request) == (is_last && !has_writers && !request->is_contended));
}

START_TEST(test_any_request)
{
	struct random random = random_start("normalize");

	for (unsigned int turn = 0; turn < 100000; turn++) {
		struct geometry geometry;
		struct normalize_request request;

		any_request(&random, &geometry, &request);
		for (enum ext2mb_normalization policy = EXT2MB_NORMALIZE_EXT2MB; policy <= EXT2MB_NORMALIZE_POW2;
		     policy++) {
			struct normalize_goal goal = normalize(policy, &request), again = normalize(policy, &request);

			check_goal(&request, &goal);
			HOLDS(!memcmp(&goal, &again, sizeof(goal)));
			if (policy == EXT2MB_NORMALIZE_POW2)
				check_whole(&request, &goal, request.unwritten ? 16384 : UINT64_C(1) << 40);
			if (policy != EXT2MB_NORMALIZE_EXT2MB)
				check_closed(&request, &goal);
			if (policy == EXT2MB_NORMALIZE_EXT2MB) {
				check_whole(&request, &goal, UINT64_MAX);
				check_ext2mb(&request, &goal);
			}
			if (policy == EXT2MB_NORMALIZE_TABLE && request.unwritten && request.count <= 32767)
				HOLDS(goal.start == request.start && !goal.try_count);
		}
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("normalize");
	TCase *tests = tcase_create("policies");

	tcase_set_timeout(tests, 60);
	tcase_add_loop_test(tests, test_example, 0, sizeof(examples) / sizeof(examples[0]));
	tcase_add_test(tests, test_table_clusters);
	tcase_add_test(tests, test_table_small_groups);
	tcase_add_test(tests, test_windows);
	tcase_add_test(tests, test_any_request);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
