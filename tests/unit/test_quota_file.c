/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Quota files, read as the kernel reads them: from the header down the tree to the block with the entry. */
#include <endian.h>
#include <string.h>

#include "ondisk/quota_file.h"
#include "ondisk/usage_by_id.h"
#include "seeded_random.h"
#include "unit.h"

/* The n-th 32-bit word of a block. */
static uint32_t word(const uint8_t *bytes, uint32_t block, unsigned int number)
{
	uint32_t value;

	memcpy(&value, bytes + (size_t)block * 1024 + 4 * number, 4);
	return le32toh(value);
}

static uint64_t long_word(const uint8_t *bytes)
{
	uint64_t value;

	memcpy(&value, bytes, 8);
	return le64toh(value);
}

/* The entry's 72 bytes; NULL: the tree does not lead to one. */
static const uint8_t *find(const uint8_t *bytes, uint32_t blocks, uint32_t id)
{
	uint32_t block = 1;

	for (int shift = 24; shift >= 0; shift -= 8) {
		block = word(bytes, block, id >> shift & 0xff);
		if (!block)
			return NULL;
		ck_assert_uint_gt(block, 1);
		ck_assert_uint_lt(block, blocks);
	}
	for (unsigned int slot = 0; slot < (word(bytes, block, 2) & 0xffff); slot++) {
		const uint8_t *entry = bytes + (size_t)block * 1024 + 16 + 72 * slot;

		if (word(entry, 0, 0) == id)
			return entry;
	}
	return NULL;
}

static const uint32_t magic_numbers[] = { 0xd9c01f11, 0xd9c01927, 0xd9c03f14 };

/* Encodes and looks for each entry, for the ids beside it, and at the header. */
static void check(enum quota_type type, const struct quota_entry *entries, size_t count)
{
	size_t byte_count = quota_file_bytes(entries, count), in_blocks = 0;
	uint8_t *bytes = malloc(byte_count);
	uint32_t blocks = (uint32_t)(byte_count / 1024);

	ck_assert_uint_eq(byte_count % 1024, 0);
	memset(bytes, 0xa5, byte_count);
	quota_file_encode(type, entries, count, bytes);
	ck_assert_uint_eq(word(bytes, 0, 0), magic_numbers[type]);
	ck_assert_uint_eq(word(bytes, 0, 1), 1);
	ck_assert_uint_eq(word(bytes, 0, 2), 604800);
	ck_assert_uint_eq(word(bytes, 0, 3), 604800);
	ck_assert_uint_eq(word(bytes, 0, 5), blocks);
	ck_assert_uint_eq(word(bytes, 0, 6), 0);
	for (size_t number = 0; number < count; number++) {
		const struct quota_entry *wanted = &entries[number];
		const uint8_t *entry = find(bytes, blocks, wanted->id);

		ck_assert_ptr_nonnull(entry);
		ck_assert_uint_eq(long_word(entry + 24), wanted->inodes);
		ck_assert_uint_eq(long_word(entry + 48), wanted->space_bytes);
		if (wanted->id != UINT32_MAX && (number + 1 == count || entries[number + 1].id != wanted->id + 1))
			ck_assert_ptr_null(find(bytes, blocks, wanted->id + 1));
	}
	/* The list of blocks with room for an entry has one with 1 to 13 of them, or none. */
	uint32_t entry_block = word(bytes, 0, 7);

	if (entry_block) {
		in_blocks = word(bytes, entry_block, 2) & 0xffff;
		ck_assert_uint_gt(in_blocks, 0);
		ck_assert_uint_eq(word(bytes, entry_block, 0), 0);
		ck_assert_uint_eq(word(bytes, entry_block, 1), 0);
	}
	ck_assert_uint_eq(in_blocks, count % 14);
	free(bytes);
}

START_TEST(files_have_each_entry)
{
	const struct quota_entry some[] = {
		{ 0, 12, 4096 },        { 1, 1, 0 },          { 255, 0, 1024 },
		{ 256, 5, 5 },          { 65535, 1, 1 },      { 65536, UINT64_C(1) << 40, UINT64_C(1) << 60 },
		{ 0xfffffeff, 1, 512 }, { UINT32_MAX, 2, 2 },
	};

	for (int type = 0; type < QUOTA_TYPES; type++)
		for (size_t count = 0; count <= sizeof(some) / sizeof(*some); count++)
			check((enum quota_type)type, some, count);
	/* The header, the root, three blocks of the tree below it and one of entries. */
	ck_assert_uint_eq(quota_file_bytes(some, 1), 6 * 1024);
	ck_assert_uint_eq(quota_file_bytes(some, 0), 2 * 1024);
}
END_TEST

START_TEST(files_have_thousands_of_entries)
{
	enum { MOST = 5000 };
	static struct quota_entry entries[MOST];
	struct random random = random_start("quota_file");

	for (size_t count = 13; count <= MOST; count += 997) {
		uint32_t id = (uint32_t)random_below(&random, 1000);

		for (size_t number = 0; number < count; number++) {
			entries[number] = (struct quota_entry){ id, 1 + random_below(&random, 1000), number * 1024 };
			id += 1 + (uint32_t)random_below(&random, number % 3 ? 5 : 800000);
		}
		check(QUOTA_OF_USERS, entries, count);
	}
}
END_TEST

/* The same charges in one map and shared out among three, against plain arrays. */
START_TEST(usage_adds_up)
{
	enum { IDS = 3000, CHARGES = 40000 };
	static struct quota_entry wanted[IDS];
	struct usage_by_id all = { 0 }, parts[3] = { { 0 } };
	struct random random = random_start("quota_file");

	for (unsigned int number = 0; number < CHARGES; number++) {
		uint32_t index = (uint32_t)random_below(&random, IDS), id = index * 1048573u;
		uint64_t inodes = random_below(&random, 3), bytes = random_below(&random, 1 << 20);

		wanted[index].inodes += inodes;
		wanted[index].space_bytes += bytes;
		ck_assert_int_eq(usage_by_id_add(&all, id, inodes, bytes), 0);
		ck_assert_int_eq(usage_by_id_add(&parts[number % 3], id, inodes, bytes), 0);
	}
	for (int part = 1; part < 3; part++)
		ck_assert_int_eq(usage_by_id_join(&parts[0], &parts[part]), 0);
	usage_by_id_sort(&all);
	usage_by_id_sort(&parts[0]);
	ck_assert_uint_eq(all.count, parts[0].count);
	ck_assert_int_eq(memcmp(all.entries, parts[0].entries, all.count * sizeof(*all.entries)), 0);
	uint64_t inodes = 0;

	for (size_t number = 0; number < all.count; number++) {
		const struct quota_entry *entry = &all.entries[number];
		bool found = false;

		ck_assert(!number || entry[-1].id < entry->id);
		for (uint32_t index = 0; index < IDS && !found; index++) {
			found = index * 1048573u == entry->id;
			if (found) {
				ck_assert_uint_eq(entry->inodes, wanted[index].inodes);
				ck_assert_uint_eq(entry->space_bytes, wanted[index].space_bytes);
			}
		}
		ck_assert(found);
		inodes += entry->inodes;
	}
	for (uint32_t index = 0; index < IDS; index++)
		inodes -= wanted[index].inodes;
	ck_assert_uint_eq(inodes, 0);
	usage_by_id_free(&all);
	for (int part = 0; part < 3; part++)
		usage_by_id_free(&parts[part]);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("quota_file");
	TCase *cases = tcase_create("all");

	tcase_add_test(cases, files_have_each_entry);
	tcase_add_test(cases, files_have_thousands_of_entries);
	tcase_add_test(cases, usage_adds_up);
	suite_add_tcase(suite, cases);
	return run_suite(suite);
}
