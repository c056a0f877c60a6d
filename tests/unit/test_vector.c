/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "support/vector.h"

#include <errno.h>
#include <stdint.h>

#include "unit.h"

START_TEST(items_keep_their_values)
{
	uint32_t *items = NULL;
	size_t capacity = 0, count = 0, reallocations = 0;

	for (; count < 30000; count++) {
		size_t before = capacity;

		ck_assert_int_eq(vector_reserve(&items, &capacity, count + 1, sizeof(*items)), 0);
		ck_assert_uint_gt(capacity, count);
		reallocations += capacity != before;
		items[count] = (uint32_t)count * 7;
	}
	for (size_t i = 0; i < count; i++)
		ck_assert_uint_eq(items[i], i * 7);
	ck_assert_uint_le(reallocations, 20);
	free(items);
}
END_TEST

START_TEST(room_that_is_there_is_left_alone)
{
	uint64_t *items = NULL;
	size_t capacity = 0;

	ck_assert_int_eq(vector_reserve(&items, &capacity, 0, sizeof(*items)), 0);
	ck_assert_ptr_null(items);
	ck_assert_int_eq(vector_reserve(&items, &capacity, 1000, sizeof(*items)), 0);
	ck_assert_uint_ge(capacity, 1000);
	uint64_t *same = items;
	size_t old = capacity;

	ck_assert_int_eq(vector_reserve(&items, &capacity, capacity, sizeof(*items)), 0);
	ck_assert_ptr_eq(items, same);
	ck_assert_uint_eq(capacity, old);
	free(items);
}
END_TEST

START_TEST(overflow_leaves_everything)
{
	uint64_t *items = NULL;
	size_t capacity = 0;

	ck_assert_int_eq(vector_reserve(&items, &capacity, 3, sizeof(*items)), 0);
	uint64_t *same = items;
	size_t old = capacity;
	static const size_t sizes[] = { SIZE_MAX, SIZE_MAX / 2, SIZE_MAX / 8, SIZE_MAX / 8 + 2, SIZE_MAX / 16 + 1 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		ck_assert_int_eq(vector_reserve(&items, &capacity, sizes[i], sizeof(*items)), ENOMEM);
		ck_assert_ptr_eq(items, same);
		ck_assert_uint_eq(capacity, old);
	}
	free(items);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("vector");
	TCase *tests = tcase_create("vector");

	tcase_add_test(tests, items_keep_their_values);
	tcase_add_test(tests, room_that_is_there_is_left_alone);
	tcase_add_test(tests, overflow_leaves_everything);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
