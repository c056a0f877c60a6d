/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "allocator/group/pending_free.h"

#include <string.h>

#include "seeded_random.h"
#include "unit.h"

#define CLUSTERS 600

static void add(struct pending_free *pending, uint32_t start, uint32_t count, uint32_t tid)
{
	ck_assert_int_eq(pending_free_reserve(pending), 0);
	pending_free_add(pending, start, count, tid);
}

/* Merged with both neighbours, but only with those of the same tid. */
START_TEST(test_merging)
{
	struct pending_free pending = { 0 };

	add(&pending, 10, 5, 1);
	add(&pending, 20, 5, 1);
	ck_assert_uint_eq(pending.count, 2);
	add(&pending, 15, 5, 1);
	ck_assert_uint_eq(pending.count, 1);
	ck_assert_uint_eq(pending.runs[0].start, 10);
	ck_assert_uint_eq(pending.runs[0].count, 15);
	add(&pending, 25, 1, 2);
	add(&pending, 9, 1, 2);
	ck_assert_uint_eq(pending.count, 3);
	add(&pending, 26, 4, 2);
	add(&pending, 5, 4, 2);
	ck_assert_uint_eq(pending.count, 3);
	ck_assert_uint_eq(pending.runs[0].start, 5);
	ck_assert_uint_eq(pending.runs[2].count, 5);
	ck_assert(pending_free_overlaps(&pending, 0, 6));
	ck_assert(!pending_free_overlaps(&pending, 0, 5));
	ck_assert(!pending_free_overlaps(&pending, 30, 100));
	pending_free_destroy(&pending);
}
END_TEST

struct visitor {
	uint8_t *tids;
	uint32_t end;
};

static void visit(void *context, uint32_t start, uint32_t count)
{
	struct visitor *visitor = context;

	/* Ascending, and apart: what touches comes as one. */
	ck_assert(start > visitor->end || (!visitor->end && !start));
	visitor->end = start + count;
	for (uint32_t cluster = start; cluster < start + count; cluster++)
		visitor->tids[cluster] = 0;
}

/* Against an array that holds, for every cluster, the tid (from 1) in which it was freed. */
START_TEST(test_model)
{
	struct random random = random_start("pending free");
	struct pending_free pending = { 0 };
	uint32_t base = _i ? UINT32_MAX - 3 : 0; /* the second time across the counter's end */

	for (unsigned int round = 0; round < 300; round++) {
		uint8_t tids[CLUSTERS] = { 0 };

		for (uint8_t tid = 1; tid <= 6; tid++) {
			for (unsigned int turn = 0; turn < 30; turn++) {
				uint32_t start = (uint32_t)random_below(&random, CLUSTERS);
				uint32_t count = 1 + (uint32_t)random_below(&random, 12);

				if (start + count > CLUSTERS)
					continue;
				bool overlaps = false;
				for (uint32_t cluster = start; cluster < start + count; cluster++)
					overlaps |= tids[cluster] != 0;
				ck_assert(pending_free_overlaps(&pending, start, count) == overlaps);
				if (overlaps)
					continue;
				add(&pending, start, count, base + tid);
				memset(tids + start, tid, count);
			}
			if (tid < 3 || random_below(&random, 2))
				continue;
			uint8_t expected[CLUSTERS];
			struct visitor visitor = { tids, 0 };
			uint32_t count = 0;
			for (uint32_t cluster = 0; cluster < CLUSTERS; cluster++) {
				bool goes = tids[cluster] && tids[cluster] <= tid - 1;
				count += goes;
				expected[cluster] = goes ? 0 : tids[cluster];
			}
			ck_assert_uint_eq(pending_free_release(&pending, base + tid - 1, visit, &visitor), count);
			ck_assert_mem_eq(tids, expected, sizeof(tids));
		}
		pending_free_destroy(&pending);
	}
}
END_TEST

static Suite *pending_free_suite(void)
{
	Suite *suite = suite_create("pending_free");
	TCase *pending_free = tcase_create("pending_free");

	tcase_add_test(pending_free, test_merging);
	tcase_add_loop_test(pending_free, test_model, 0, 2);
	suite_add_tcase(suite, pending_free);
	return suite;
}

int main(void)
{
	return run_suite(pending_free_suite());
}
