/* SPDX-License-Identifier: GPL-2.0-or-later */
/* BISECT(): the first index for which a condition is true, wherever that is. */
#include "support/bisect.h"

#include "unit.h"

START_TEST(every_place_of_every_length)
{
	for (size_t count = 0; count < 40; count++) {
		for (size_t first = 0; first <= count; first++) {
			size_t asked = 0;

			ck_assert_uint_eq(BISECT(count, index, (asked++, index >= first)), first);
			ck_assert_uint_le(asked, 6);
		}
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("bisect");
	TCase *tests = tcase_create("bisect");

	tcase_add_test(tests, every_place_of_every_length);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
