/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "support/text/units.h"

#include <errno.h>

#include "unit.h"

START_TEST(bytes_are_read)
{
	static const struct {
		const char *text;
		uint64_t unit, bytes;
		errcode_t error;
	} cases[] = {
		{ "0", 1024, 0, 0 },
		{ "7", 1024, 7168, 0 },
		{ "7", 4096, 28672, 0 },
		{ "7s", 4096, 3584, 0 },
		{ "64K", 1024, 65536, 0 },
		{ "64k", 4096, 65536, 0 },
		{ "3m", 1, 3 << 20, 0 },
		{ "20G", 1024, UINT64_C(20) << 30, 0 },
		{ "5t", 1024, UINT64_C(5) << 40, 0 },
		{ "16383P", 1024, UINT64_C(16383) << 50, 0 },
		{ "16384P", 1024, 0, ERANGE },
		{ "18446744073709551615", 1, UINT64_MAX, 0 },
		{ "18446744073709551616", 1, 0, ERANGE },
		{ "18446744073709551615", 2, 0, ERANGE },
		{ "99999999999999999999999K", 1, 0, ERANGE },
		{ "99999999999999999999999x", 1, 0, EINVAL },
		{ "", 1, 0, EINVAL },
		{ "K", 1, 0, EINVAL },
		{ "-1", 1, 0, EINVAL },
		{ "+1", 1, 0, EINVAL },
		{ " 1", 1, 0, EINVAL },
		{ "1 ", 1, 0, EINVAL },
		{ "1.5G", 1, UINT64_C(3) << 29, 0 },
		{ "1.5GiB", 4096, UINT64_C(3) << 29, 0 },
		{ "1.5GB", 1, 1500000000, 0 },
		{ "10MB", 1024, 10000000, 0 },
		{ "10MiB", 1, 10 << 20, 0 },
		{ "3kB", 1, 3000, 0 },
		{ "3kiB", 1, 3072, 0 },
		{ "9TB", 1, UINT64_C(9000000000000), 0 },
		{ "2PB", 1, UINT64_C(2000000000000000), 0 },
		/* 1.1 * 1024 is 1126.4. */
		{ "1.1K", 1, 1126, 0 },
		{ "0.9999999999999999999999999999K", 1, 1023, 0 },
		{ "0.5s", 1, 0, EINVAL },
		{ "1.5", 1024, 0, EINVAL },
		{ "1.G", 1, 0, EINVAL },
		{ ".5G", 1, 0, EINVAL },
		{ "1.5.5G", 1, 0, EINVAL },
		{ "1,5G", 1, 0, EINVAL },
		{ "16383.99P", 1, UINT64_C(18446732814710483189), 0 },
		{ "18446744073709551615.5K", 1, 0, ERANGE },
		{ "10Mb", 1, 0, EINVAL },
		{ "10MIB", 1, 0, EINVAL },
		{ "10MiBs", 1, 0, EINVAL },
		{ "10B", 1, 0, EINVAL },
		{ "10iB", 1, 0, EINVAL },
		{ "10sB", 1, 0, EINVAL },
		{ "1KK", 1, 0, EINVAL },
		{ "1Kx", 1, 0, EINVAL },
		{ "1S", 1, 0, EINVAL },
		{ "0x10", 1, 0, EINVAL },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t bytes = 4711;

		ck_assert_msg(units_parse_bytes(cases[i].text, cases[i].unit, &bytes) == cases[i].error, "\"%s\"",
		              cases[i].text);
		ck_assert_msg(bytes == (cases[i].error ? 4711 : cases[i].bytes), "\"%s\"", cases[i].text);
	}
}
END_TEST

START_TEST(numbers_are_bounded)
{
	uint64_t number = 4711;

	ck_assert_int_eq(units_parse_number("12", 12, 12, &number), 0);
	ck_assert_uint_eq(number, 12);
	ck_assert_int_eq(units_parse_number("18446744073709551615", 0, UINT64_MAX, &number), 0);
	ck_assert_uint_eq(number, UINT64_MAX);
	number = 4711;
	ck_assert_int_eq(units_parse_number("11", 12, 12, &number), ERANGE);
	ck_assert_int_eq(units_parse_number("13", 12, 12, &number), ERANGE);
	ck_assert_int_eq(units_parse_number("18446744073709551616", 0, UINT64_MAX, &number), ERANGE);
	ck_assert_int_eq(units_parse_number("", 0, 9, &number), EINVAL);
	ck_assert_int_eq(units_parse_number("1K", 0, 9999, &number), EINVAL);
	ck_assert_int_eq(units_parse_number("-1", 0, 9, &number), EINVAL);
	ck_assert_uint_eq(number, 4711);
}
END_TEST

START_TEST(bytes_are_written_for_people)
{
	static const struct {
		uint64_t bytes;
		const char *text;
	} cases[] = {
		{ 0, "0 B" },
		{ 512, "512 B" },
		{ 1023, "1023 B" },
		{ 1024, "1.0 KiB" },
		{ 1536, "1.5 KiB" },
		{ 1024 * 1024 - 60, "1023.9 KiB" },
		{ 1024 * 1024 - 1, "1.0 MiB" },
		{ UINT64_C(20) << 30, "20.0 GiB" },
		{ (UINT64_C(1) << 40) - 1, "1.0 TiB" },
		{ UINT64_C(3) << 49, "1.5 PiB" },
		{ UINT64_C(3) << 60, "3.0 EiB" },
		{ UINT64_MAX, "16.0 EiB" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct units_text size = units_bytes(cases[i].bytes);

		ck_assert_str_eq(size.text, cases[i].text);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("units");
	TCase *tests = tcase_create("units");

	tcase_add_test(tests, bytes_are_read);
	tcase_add_test(tests, numbers_are_bounded);
	tcase_add_test(tests, bytes_are_written_for_people);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
