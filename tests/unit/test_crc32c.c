/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "support/crc32c.h"

#include <ext2fs/ext2fs.h>
#include <string.h>

#include "seeded_random.h"
#include "unit.h"

#define BUFFER_BYTES (64 << 10)

static unsigned char buffer[BUFFER_BYTES];

static void fill(struct random *random)
{
	for (size_t i = 0; i < BUFFER_BYTES; i++)
		buffer[i] = (unsigned char)random_next(random);
}

/* "123456789" is the check value that CRC catalogues give, for the usual inversion before and after. */
START_TEST(the_known_value)
{
	ck_assert_uint_eq(~crc32c(~0u, "123456789", 9), 0xe3069283);
	ck_assert_uint_eq(crc32c(4711, "", 0), 4711);
}
END_TEST

START_TEST(short_ones_agree_at_every_alignment)
{
	struct random random = random_start("short_ones_agree_at_every_alignment");

	fill(&random);
	for (size_t start = 0; start < 16; start++) {
		for (size_t count = 0; count < 600; count++) {
			uint32_t crc = (uint32_t)random_next(&random);

			ck_assert_uint_eq(crc32c(crc, buffer + start, count),
			                  ext2fs_crc32c_le(crc, buffer + start, count));
		}
	}
}
END_TEST

START_TEST(random_ones_agree)
{
	struct random random = random_start("random_ones_agree");

	fill(&random);
	for (int i = 0; i < 2000; i++) {
		size_t start = random_below(&random, BUFFER_BYTES);
		size_t count = random_below(&random, BUFFER_BYTES - start + 1);
		uint32_t crc = (uint32_t)random_next(&random);

		ck_assert_uint_eq(crc32c(crc, buffer + start, count), ext2fs_crc32c_le(crc, buffer + start, count));
	}
}
END_TEST

START_TEST(it_can_be_continued)
{
	struct random random = random_start("it_can_be_continued");

	fill(&random);
	for (int i = 0; i < 500; i++) {
		size_t cut = random_below(&random, 20000);
		uint32_t crc = crc32c(crc32c(~0u, buffer, cut), buffer + cut, 20000 - cut);

		ck_assert_uint_eq(crc, crc32c(~0u, buffer, 20000));
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("crc32c");
	TCase *tests = tcase_create("crc32c");

	tcase_add_test(tests, the_known_value);
	tcase_add_test(tests, short_ones_agree_at_every_alignment);
	tcase_add_test(tests, random_ones_agree);
	tcase_add_test(tests, it_can_be_continued);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
