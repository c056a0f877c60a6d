/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tests readers of extent nodes, directory blocks and inodes, with right and with untrusted bytes. */
#include <endian.h>
#include <string.h>

#include <ext2fs/ext2_fs.h>
#include <ext2fs/ext3_extents.h>

#include "ondisk/views.h"
#include "ondisk/file_map.h"
#include "seeded_random.h"
#include "unit.h"

static const struct ondisk_format format = {
	.block_bytes = 1024,
	.block_bits = 10,
	.inode_bytes = 256,
	.extents = true,
};

START_TEST(trees_are_read_as_they_were_built)
{
	enum { EXTENTS = 200 };
	struct file_extent extents[EXTENTS];
	uint64_t map_blocks[8];
	uint8_t root[INODE_ROOT_BYTES], blocks[8 * 1024];
	struct extent_node node, leaf;
	unsigned int seen = 0;

	for (unsigned int n = 0; n < EXTENTS; n++)
		extents[n] = (struct file_extent){ n * 10, 1 + n % 7, UINT64_C(0x123400000000) + n * 20 };
	uint64_t count = file_map_blocks(&format, extents, EXTENTS);

	ck_assert_uint_le(count, 8);
	for (uint64_t n = 0; n < count; n++)
		map_blocks[n] = UINT64_C(0x00ab00000000) + n;
	ck_assert_int_eq(file_map_build(&format, 12, 0, extents, EXTENTS, map_blocks, root, blocks), 0);
	ck_assert(extent_node_read(root, sizeof(root), &node));
	ck_assert_uint_eq(node.depth, 1);
	ck_assert_uint_eq(node.count, count);
	for (unsigned int child = 0; child < node.count; child++) {
		struct extent_node_index index = extent_node_index(&node, child);

		ck_assert_uint_eq(index.block, map_blocks[child]);
		ck_assert_uint_eq(index.logical, extents[seen].logical);
		ck_assert(extent_node_read(blocks + child * 1024, 1024, &leaf));
		ck_assert_uint_eq(leaf.depth, 0);
		for (unsigned int n = 0; n < leaf.count; n++, seen++) {
			struct extent_node_leaf extent = extent_node_leaf(&leaf, n);

			ck_assert_uint_eq(extent.logical, extents[seen].logical);
			ck_assert_uint_eq(extent.count, extents[seen].count);
			ck_assert_uint_eq(extent.physical, extents[seen].physical);
			ck_assert(!extent.is_unwritten);
		}
	}
	ck_assert_uint_eq(seen, EXTENTS);
}
END_TEST

START_TEST(lengths_say_what_is_unwritten)
{
	struct {
		struct ext3_extent_header header;
		struct ext3_extent extents[4];
	} leaf = { .header = { htole16(EXT3_EXT_MAGIC), htole16(4), htole16(4), 0, 0 } };
	static const uint16_t raw[] = { 32768, 32769, 65535, 0 };
	static const uint32_t counts[] = { 32768, 1, 32767, 0 };
	struct extent_node node;

	for (unsigned int n = 0; n < 4; n++)
		leaf.extents[n].ee_len = htole16(raw[n]);
	ck_assert(extent_node_read(&leaf, sizeof(leaf), &node));
	for (unsigned int n = 0; n < 4; n++) {
		ck_assert_uint_eq(extent_node_leaf(&node, n).count, counts[n]);
		ck_assert(extent_node_leaf(&node, n).is_unwritten == (n == 1 || n == 2));
	}
}
END_TEST

START_TEST(what_is_no_node_is_refused)
{
	static const struct {
		uint16_t magic, entries, max, depth;
		bool is_node;
	} cases[] = {
		{ EXT3_EXT_MAGIC, 4, 4, 0, true },          { EXT3_EXT_MAGIC, 0, 4, 5, true },
		{ EXT3_EXT_MAGIC, 5, 5, 0, false },         { EXT3_EXT_MAGIC, 4, 3, 0, false },
		{ EXT3_EXT_MAGIC, 1, 4, 6, false },         { EXT3_EXT_MAGIC + 1, 1, 4, 0, false },
		{ EXT3_EXT_MAGIC, 65535, 65535, 0, false },
	};
	struct extent_node node;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		uint8_t root[INODE_ROOT_BYTES] = { 0 };
		struct ext3_extent_header header = { htole16(cases[i].magic), htole16(cases[i].entries),
			                             htole16(cases[i].max), htole16(cases[i].depth), 0 };

		memcpy(root, &header, sizeof(header));
		ck_assert_msg(extent_node_read(root, sizeof(root), &node) == cases[i].is_node, "case %zu", i);
	}
	ck_assert(!extent_node_read(cases, 11, &node));
}
END_TEST

static void put_entry(uint8_t *at, uint32_t ino, uint16_t raw_record, const char *name)
{
	uint32_t raw_ino = htole32(ino);

	raw_record = htole16(raw_record);
	memcpy(at, &raw_ino, 4);
	memcpy(at + 4, &raw_record, 2);
	at[6] = (uint8_t)strlen(name);
	at[7] = 0;
	memcpy(at + 8, name, strlen(name));
}

/* The names that are read, each with a comma. */
static const char *names_in(const uint8_t *bytes, size_t count, bool *is_damaged)
{
	static char names[256];
	struct directory_cursor cursor = { .bytes = bytes, .byte_count = count };
	struct directory_entry entry;

	*names = '\0';
	while (directory_entries_next(&cursor, &entry)) {
		strncat(names, entry.name, entry.name_bytes);
		strcat(names, ",");
	}
	*is_damaged = cursor.is_damaged;
	return names;
}

START_TEST(entries_are_read)
{
	uint8_t block[1024] = { 0 };
	bool is_damaged;

	put_entry(block, 2, 12, ".");
	put_entry(block + 12, 2, 12, "..");
	put_entry(block + 24, 0, 16, "unused");
	put_entry(block + 40, 12, 1024 - 40 - 12, "last");
	put_entry(block + 1012, 0, 12, ""); /* where a checksum is kept */
	ck_assert_str_eq(names_in(block, sizeof(block), &is_damaged), ".,..,last,");
	ck_assert(!is_damaged);
}
END_TEST

START_TEST(records_that_make_no_sense_end_it)
{
	static const uint16_t records[] = { 0, 4, 10, 2000, 8 };
	bool is_damaged;

	for (size_t i = 0; i < sizeof(records) / sizeof(*records); i++) {
		uint8_t block[1024] = { 0 };

		put_entry(block, 11, 12, "ok");
		put_entry(block + 12, 12, records[i], "a");
		ck_assert_str_eq(names_in(block, sizeof(block), &is_damaged), "ok,");
		ck_assert_msg(is_damaged, "record of %u bytes", records[i]);
	}
}
END_TEST

START_TEST(large_blocks_have_their_own_lengths)
{
	static uint8_t block[65536];
	static const struct {
		uint16_t first;
		uint32_t second_offset; /* 0: there is none */
	} cases[] = { { 65535, 0 }, { 0, 0 }, { 12, 12 }, { 32768, 32768 } };
	bool is_damaged;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		memset(block, 0, sizeof(block));
		put_entry(block, 11, cases[i].first, "a");
		if (cases[i].second_offset)
			put_entry(block + cases[i].second_offset, 12, (uint16_t)(65536 - cases[i].second_offset), "b");
		ck_assert_str_eq(names_in(block, sizeof(block), &is_damaged), cases[i].second_offset ? "a,b," : "a,");
		ck_assert(!is_damaged);
	}
}
END_TEST

START_TEST(index_roots_tell_their_levels)
{
	uint8_t block[1024] = { 0 };
	struct ext2_dx_root_info info = { .info_length = 8, .indirect_levels = 2 };

	memcpy(block + 24, &info, sizeof(info));
	ck_assert_int_eq(directory_entries_index_levels(block, sizeof(block)), 2);
	ck_assert_int_eq(directory_entries_index_levels(block, 28), -1);
	block[24 + 6] = 4;
	ck_assert_int_eq(directory_entries_index_levels(block, sizeof(block)), -1);
	block[24 + 6] = 0;
	block[24 + 5] = 9;
	ck_assert_int_eq(directory_entries_index_levels(block, sizeof(block)), -1);
}
END_TEST

/* With any bytes reads stay inside, which the address sanitizer checks. */
START_TEST(noise_is_survived)
{
	struct random random = random_start("noise_is_survived");
	uint8_t *bytes = malloc(256);
	struct inode_view view;
	struct extent_node node;
	bool is_damaged;
	size_t count;

	for (unsigned int round = 0; round < 20000; round++) {
		for (unsigned int n = 0; n < 256; n++)
			bytes[n] = random_below(&random, 3) ? 0 : (uint8_t)random_next(&random);
		uint32_t magic = htole32(0xea020000);

		bytes[128] = 32;
		memcpy(bytes + 160, &magic, sizeof(magic));
		inode_view_read(&format, bytes, &view);
		const uint8_t *rest = inode_view_inline_rest(&format, bytes, &count);

		ck_assert(!rest || (rest >= bytes + 164 && rest + count <= bytes + 256));
		ck_assert(!extent_node_read(bytes, 60, &node) || node.count <= 4);
		(void)names_in(bytes, 100, &is_damaged);
	}
	free(bytes);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("views");
	TCase *tests = tcase_create("views");

	tcase_add_test(tests, trees_are_read_as_they_were_built);
	tcase_add_test(tests, lengths_say_what_is_unwritten);
	tcase_add_test(tests, what_is_no_node_is_refused);
	tcase_add_test(tests, entries_are_read);
	tcase_add_test(tests, records_that_make_no_sense_end_it);
	tcase_add_test(tests, large_blocks_have_their_own_lengths);
	tcase_add_test(tests, index_roots_tell_their_levels);
	tcase_add_test(tests, noise_is_survived);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
