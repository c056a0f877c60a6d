/* SPDX-License-Identifier: GPL-2.0-or-later */
/* block_runs: which blocks a file's data is rounded out to. */
#include "contents/block_runs.h"

#include "unit.h"

static const struct ondisk_format plain = { .block_bytes = 4096, .block_bits = 12 };
static const struct ondisk_format clustered = { .block_bytes = 4096, .block_bits = 12, .cluster_bits = 4 };

static struct tree_data_map *make_map(uint32_t count, const struct tree_segment *segments)
{
	struct tree_data_map *map = malloc(sizeof(*map) + count * sizeof(*segments));

	map->count = count;
	for (uint32_t segment = 0; segment < count; segment++)
		map->segments[segment] = segments[segment];
	return map;
}

/* With blocks [start, end) after the data. */
static void expect_added(const struct ondisk_format *format, const struct tree_node *node, uint64_t start, uint64_t end,
                         uint32_t count, const uint32_t (*expected)[2])
{
	struct block_runs runs;
	uint32_t logical, blocks;

	block_runs_start(&runs, format, node);
	runs.added_start = start;
	runs.added_end = end;
	for (uint32_t run = 0; run < count; run++) {
		ck_assert(block_runs_next(&runs, &logical, &blocks));
		ck_assert_uint_eq(logical, expected[run][0]);
		ck_assert_uint_eq(blocks, expected[run][1]);
	}
	ck_assert(!block_runs_next(&runs, &logical, &blocks));
	ck_assert(!block_runs_next(&runs, &logical, &blocks));
}

static void expect_runs(const struct ondisk_format *format, const struct tree_node *node, uint32_t count,
                        const uint32_t (*expected)[2])
{
	expect_added(format, node, 0, 0, count, expected);
}

START_TEST(dense_file_is_one_run)
{
	static const uint64_t sizes[] = { 1, 4095, 4096, 4097, 1ull << 40 };

	for (size_t size = 0; size < sizeof(sizes) / sizeof(*sizes); size++) {
		struct tree_node node = { .size_bytes = sizes[size] };
		const uint32_t expected[1][2] = { { 0, (uint32_t)((sizes[size] + 4095) / 4096) } };

		expect_runs(&plain, &node, 1, expected);
	}
}
END_TEST

START_TEST(empty_file_has_none)
{
	struct tree_node node = { .size_bytes = 0 };
	struct tree_data_map *map = make_map(0, NULL);
	struct tree_node hole = { .size_bytes = 1 << 20, .is_sparse = true, .data_map = map };

	expect_runs(&plain, &node, 0, NULL);
	expect_runs(&plain, &hole, 0, NULL);
	free(map);
}
END_TEST

START_TEST(segments_are_rounded_out_and_joined)
{
	/* 100..200 and 300..400 share block 0; 4096 follows it at once; 20000 stands alone. */
	const struct tree_segment segments[] = { { 100, 100 }, { 300, 100 }, { 4096, 1 }, { 20000, 10 } };
	struct tree_data_map *map = make_map(4, segments);
	struct tree_node node = { .size_bytes = 1 << 20, .is_sparse = true, .data_map = map };
	const uint32_t expected[2][2] = { { 0, 2 }, { 4, 1 } };
	const uint32_t in_clusters[1][2] = { { 0, 16 } };

	expect_runs(&plain, &node, 2, expected);
	expect_runs(&clustered, &node, 1, in_clusters);
	free(map);
}
END_TEST

START_TEST(a_cluster_is_cut_at_the_end_of_the_file)
{
	const struct tree_segment segments[] = { { 0, 10 }, { 200000, 10 } };
	struct tree_data_map *map = make_map(2, segments);
	struct tree_node node = { .size_bytes = 200010, .is_sparse = true, .data_map = map };
	const uint32_t expected[2][2] = { { 0, 16 }, { 48, 1 } };

	expect_runs(&clustered, &node, 2, expected);
	free(map);
}
END_TEST

/* The blocks of fs-verity, which end with a block, not with a cluster. */
START_TEST(what_protects_a_file_comes_after_its_data)
{
	const struct tree_segment segments[] = { { 0, 10 }, { 200000, 10 } };
	struct tree_data_map *map = make_map(2, segments);
	struct tree_node empty = { .size_bytes = 0 }, small = { .size_bytes = 5000 }, exact = { .size_bytes = 65536 };
	struct tree_node sparse = { .size_bytes = 200010, .is_sparse = true, .data_map = map };

	expect_added(&plain, &empty, 0, 1, 1, (const uint32_t[][2]){ { 0, 1 } });
	expect_added(&plain, &small, 16, 18, 2, (const uint32_t[][2]){ { 0, 2 }, { 16, 2 } });
	expect_added(&plain, &exact, 16, 18, 1, (const uint32_t[][2]){ { 0, 18 } });
	expect_added(&plain, &sparse, 64, 66, 3, (const uint32_t[][2]){ { 0, 1 }, { 48, 1 }, { 64, 2 } });
	/* In the cluster in which the data end, or in a later one. */
	expect_added(&clustered, &small, 0, 18, 1, (const uint32_t[][2]){ { 0, 18 } });
	expect_added(&clustered, &small, 16, 18, 2, (const uint32_t[][2]){ { 0, 2 }, { 16, 2 } });
	expect_added(&clustered, &sparse, 48, 66, 2, (const uint32_t[][2]){ { 0, 16 }, { 48, 18 } });
	free(map);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("block_runs");
	TCase *tests = tcase_create("runs");

	tcase_add_test(tests, dense_file_is_one_run);
	tcase_add_test(tests, empty_file_has_none);
	tcase_add_test(tests, segments_are_rounded_out_and_joined);
	tcase_add_test(tests, a_cluster_is_cut_at_the_end_of_the_file);
	tcase_add_test(tests, what_protects_a_file_comes_after_its_data);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
