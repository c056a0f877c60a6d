/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/name_table.h"

#include <stdio.h>
#include <string.h>

#include "unit.h"

#define NAMES 100000u

static struct tree_node *make_entries(char (*names)[16])
{
	struct tree_node *entries = calloc(NAMES + 1, sizeof(*entries));

	for (uint32_t i = 1; entries && i <= NAMES; i++) {
		entries[i].name_bytes = (uint8_t)snprintf(names[i], sizeof(names[i]), "file-%u", i);
		entries[i].name = names[i];
	}
	return entries;
}

START_TEST(each_name_has_its_entry)
{
	char(*names)[16] = calloc(NAMES + 1, sizeof(*names));
	struct tree_node *entries = make_entries(names);
	struct name_table table = { 0 };

	ck_assert_uint_eq(name_table_find(&table, entries, name_hash(1, "a", 1), "a", 1), 0);
	for (uint32_t i = 1; i <= NAMES; i++) {
		uint32_t hash = name_hash(1, entries[i].name, entries[i].name_bytes);

		ck_assert_uint_eq(name_table_find(&table, entries, hash, entries[i].name, entries[i].name_bytes), 0);
		ck_assert_int_eq(name_table_put(&table, hash, 0, i), 0);
	}
	ck_assert_uint_eq(table.count, NAMES);
	ck_assert_uint_le(table.slot_count, 8 * NAMES / 3);
	for (uint32_t i = 1; i <= NAMES; i++) {
		uint32_t hash = name_hash(1, entries[i].name, entries[i].name_bytes);

		ck_assert_uint_eq(name_table_find(&table, entries, hash, entries[i].name, entries[i].name_bytes), i);
	}
	free(table.slots);
	free(entries);
	free(names);
}
END_TEST

/* Names that all have one hash are told apart by themselves, also where one is the beginning of another. */
START_TEST(equal_hashes_are_told_apart)
{
	struct tree_node entries[] = { { .name = "" },
		                       { .name = "a", .name_bytes = 1 },
		                       { .name = "ab", .name_bytes = 2 },
		                       { .name = "b", .name_bytes = 1 },
		                       { .name = "a", .name_bytes = 1 } };
	struct name_table table = { 0 };

	for (uint32_t i = 1; i <= 3; i++)
		ck_assert_int_eq(name_table_put(&table, 7, 0, i), 0);
	for (uint32_t i = 1; i <= 3; i++)
		ck_assert_uint_eq(name_table_find(&table, entries, 7, entries[i].name, entries[i].name_bytes), i);
	ck_assert_uint_eq(name_table_find(&table, entries, 7, "abc", 3), 0);
	/* A further entry takes the name of the first. */
	ck_assert_int_eq(name_table_put(&table, 7, 1, 4), 0);
	ck_assert_uint_eq(table.count, 3);
	ck_assert_uint_eq(name_table_find(&table, entries, 7, "a", 1), 4);
	free(table.slots);
}
END_TEST

START_TEST(hashes_depend_on_key_and_length)
{
	static const char zeros[9];

	ck_assert_uint_ne(name_hash(1, "file", 4), name_hash(2, "file", 4));
	for (size_t bytes = 1; bytes < sizeof(zeros); bytes++)
		ck_assert_uint_ne(name_hash(1, zeros, bytes), name_hash(1, zeros, bytes + 1));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("name table");
	TCase *tests = tcase_create("name table");

	tcase_add_test(tests, each_name_has_its_entry);
	tcase_add_test(tests, equal_hashes_are_told_apart);
	tcase_add_test(tests, hashes_depend_on_key_and_length);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
