/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Directories whose entries store their hashes: those that are encrypted and case-insensitive. */
#include <endian.h>
#include <string.h>

#include <ext2fs/ext2fs.h>

#include "directory_names.h"
#include "ondisk/directory_parts.h"
#include "ondisk/views.h"
#include "unit.h"

#define INFO_OFFSET 24 /* of an index's root: after "." and ".." */
#define COUNT_OFFSET 32

/* Few values, so that some are equal; the minor hashes differ. */
static struct directory_hashes hashes_of(uint32_t entry)
{
	uint32_t hash = (entry * 2654435761u) >> 16 << 17;

	return (struct directory_hashes){ hash, entry * 40503u };
}

static struct directory_hashes stored(const void *context, uint32_t entry)
{
	(void)context;
	return hashes_of(entry);
}

static struct ondisk_format format_of(bool checksums)
{
	return (struct ondisk_format){
		.block_bytes = 1024,
		.block_bits = 10,
		.inode_bytes = 256,
		.hash_version = EXT2_HASH_HALF_MD4_UNSIGNED,
		.checksum_seed = 0xcafe,
		.checksums = checksums,
		.dir_index = true,
		.filetype = true,
	};
}

static struct directory_hashes read_hashes(const struct directory_entry *entry)
{
	const uint8_t *bytes = directory_entry_stored_hashes(entry);
	uint32_t words[2];

	ck_assert_ptr_nonnull(bytes);
	memcpy(words, bytes, sizeof(words));
	return (struct directory_hashes){ le32toh(words[0]), le32toh(words[1]) };
}

static uint32_t word_at(const uint8_t *bytes)
{
	uint32_t word;

	memcpy(&word, bytes, sizeof(word));
	return le32toh(word);
}

/* Entries are numbered by their inodes. before: of the entry before the block; NULL: in no order. */
static uint32_t check_block(const uint8_t *block, struct directory_hashes *before)
{
	struct directory_cursor cursor = { .bytes = block, .byte_count = 1024 };
	struct directory_entry entry;
	uint32_t count = 0;

	while (directory_entries_next(&cursor, &entry)) {
		if (entry.name[0] == '.')
			continue;
		const struct directory_hashes wanted = hashes_of(entry.ino - 100), found = read_hashes(&entry);

		if (wanted.hash != found.hash || wanted.minor != found.minor)
			ck_abort_msg("entry %u has other hashes", entry.ino);
		count++;
		if (!before)
			continue;
		if (found.hash < before->hash || (found.hash == before->hash && found.minor < before->minor))
			ck_abort_msg("entry %u is out of order", entry.ino);
		*before = found;
	}
	ck_assert(!cursor.is_damaged);
	return count;
}

/* Each leaf begins with the hash that the root says; bit 0 goes on from the leaf before. */
static void check_index(const uint8_t *bytes, uint32_t blocks)
{
	ck_assert_uint_eq(bytes[INFO_OFFSET + 4], EXT2_HASH_SIPHASH);
	ck_assert_uint_eq(bytes[INFO_OFFSET + 6], 0);
	ck_assert_uint_eq(word_at(bytes + COUNT_OFFSET) >> 16, blocks - 1);
	for (uint32_t leaf = 1; leaf < blocks; leaf++) {
		struct directory_cursor cursor = { .bytes = bytes + (size_t)leaf * 1024, .byte_count = 1024 };
		struct directory_entry entry;
		uint32_t hash = leaf == 1 ? 0 : word_at(bytes + COUNT_OFFSET + (leaf - 1) * 8);

		ck_assert(directory_entries_next(&cursor, &entry));
		if (leaf > 1)
			ck_assert_uint_eq(hash & ~1u, read_hashes(&entry).hash);
	}
}

START_TEST(entries_have_their_hashes)
{
	static const uint32_t counts[] = { 1, 20, 40, 700 };
	struct random random = random_start("entries_have_their_hashes");
	const struct ondisk_format format = format_of(_i % 2);
	struct directory_hashes before = { 0 };
	struct name_set set = name_set_start();
	struct directory_layout *layout, *again;
	uint32_t blocks, same, found = 0;

	name_set_add_random(&set, &random, counts[_i / 2], 4, 255);
	for (uint32_t entry = 0; entry < set.count; entry++)
		((char *)(uintptr_t)set.names[entry].name)[0] = 'x';
	set.first_ino = 100;
	struct directory_source source = name_set_source(&set);

	source.hashes = stored;
	source.is_casefolded = true;
	ck_assert_int_eq(directory_layout(&format, &source, 0, NULL, &blocks, &layout), 0);
	uint8_t *bytes = malloc((size_t)blocks * format.block_bytes);

	ck_assert_ptr_nonnull(bytes);
	ck_assert_int_eq(directory_build(&format, &source, layout, blocks, 77, 66, 5, bytes), 0);
	for (uint32_t block = 0; block < blocks; block++)
		found += check_block(bytes + (size_t)block * 1024, layout ? &before : NULL);
	ck_assert_uint_eq(found, set.count);
	if (layout)
		check_index(bytes, blocks);
	/* An earlier layout's order does, whatever the filesystem's own kind of hash. */
	struct ondisk_format other = format;

	other.hash_version = EXT2_HASH_TEA;
	other.hash_seed[0] = 1;
	ck_assert_int_eq(directory_layout(&other, &source, 0, layout, &same, &again), 0);
	ck_assert_uint_eq(same, blocks);
	directory_layout_free(layout);
	directory_layout_free(again);
	free(bytes);
	name_set_free(&set);
}
END_TEST

/* A name of 8 bytes, whose record has so many bytes. */
static struct directory_entry entry_of(uint8_t *bytes, uint32_t record)
{
	struct directory_cursor cursor = { .bytes = bytes, .byte_count = record };
	struct directory_entry entry;
	const uint16_t length = htole16((uint16_t)record);

	memset(bytes, 1, record);
	memcpy(bytes + 4, &length, sizeof(length));
	bytes[6] = 6;
	ck_assert(directory_entries_next(&cursor, &entry));
	return entry;
}

START_TEST(hashes_need_room)
{
	uint8_t bytes[32];
	struct directory_entry entry = entry_of(bytes, 24);

	ck_assert_ptr_eq(directory_entry_stored_hashes(&entry), bytes + 16);
	entry = entry_of(bytes, 20);
	ck_assert_ptr_null(directory_entry_stored_hashes(&entry));
	entry = entry_of(bytes, 16);
	ck_assert_ptr_null(directory_entry_stored_hashes(&entry));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("directory_hashes");
	TCase *all = tcase_create("all");

	tcase_add_loop_test(all, entries_have_their_hashes, 0, 8);
	tcase_add_test(all, hashes_need_room);
	suite_add_tcase(suite, all);
	return run_suite(suite);
}
