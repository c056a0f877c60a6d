/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks of a journal against bytes that debugfs 1.47.0 wrote (jo -c [-v 2]; jw -b 5000,6000 FILE; jc, with 1 KiB
 * blocks, 64bit, the UUID below; FILE has a block of zeros and one that begins with the magic number and has only
 * zeros else). What the kernel and debugfs write today is compared in tests/transaction-journal.
 */
#include <string.h>

#include "ondisk/journal_block.h"
#include "ondisk/journal_view.h"
#include "support/crc32c.h"
#include "unit.h"

#define BYTES 1024

/* Bytes that are not zero. */
struct piece {
	size_t offset, bytes;
	const char *text;
};
#define PIECE(offset, text)                                                                                            \
	{                                                                                                              \
		offset, sizeof(text) - 1, text                                                                         \
	}

#define UUID "\x01\x23\x45\x67\x89\xab\xcd\xef\x01\x23\x45\x67\x89\xab\xcd\xef"

struct vector {
	unsigned int version;
	struct piece super[8], tags[4], commit[4];
	size_t tags_bytes; /* what is after the last one is not cleared by debugfs */
};

static const struct vector vectors[] = {
	{
		.version = 3,
		.super = { PIECE(0, "\xc0\x3b\x39\x98\0\0\0\x04"), PIECE(14, "\x04\0\0\0\x04"),
	                   PIECE(23, "\x01\0\0\0\x01\0\0\0\x01"), PIECE(43, "\x12"), PIECE(48, UUID "\0\0\0\x01"),
	                   PIECE(80, "\x04"), PIECE(252, "\x08\x1a\x7e\xa0") },
		.tags = { PIECE(0, "\xc0\x3b\x39\x98\0\0\0\x01\0\0\0\x01\0\0\x13\x88"), PIECE(24, "\x51\x74\x9d\xb6"),
	                  PIECE(46, "\x17\x70\0\0\0\x0b"), PIECE(56, "\x51\x74\x9d\xb6") },
		.tags_bytes = 60,
		.commit = { PIECE(0, "\xc0\x3b\x39\x98\0\0\0\x02\0\0\0\x01"), PIECE(16, "\xbd\x26\x82\x2e"),
	                    PIECE(48, "\x6b\x02\xf7\x2d"), PIECE(56, "\x03\xaf\xe8\xa0") },
	},
	{
		.version = 2,
		.super = { PIECE(0, "\xc0\x3b\x39\x98\0\0\0\x04"), PIECE(14, "\x04\0\0\0\x04"),
	                   PIECE(23, "\x01\0\0\0\x01\0\0\0\x01"), PIECE(43, "\x0a"), PIECE(48, UUID "\0\0\0\x01"),
	                   PIECE(80, "\x04"), PIECE(252, "\x26\x4c\xab\xad") },
		.tags = { PIECE(0, "\xc0\x3b\x39\x98\0\0\0\x01\0\0\0\x01\0\0\x13\x88\x9d\xb6"),
	                  PIECE(44, "\x17\x70\x9d\xb6\0\x0b") },
		.tags_bytes = 54,
		.commit = { PIECE(0, "\xc0\x3b\x39\x98\0\0\0\x02\0\0\0\x01"), PIECE(16, "\xe2\x86\xab\xa6"),
	                    PIECE(48, "\x6b\x02\xf7\x2d"), PIECE(56, "\x26\xc7\x5a\x58") },
	},
};
#define VECTORS (sizeof(vectors) / sizeof(*vectors))

static void fill(uint8_t *bytes, const struct piece *pieces, size_t count)
{
	memset(bytes, 0, BYTES);
	for (size_t index = 0; index < count; index++)
		if (pieces[index].text)
			memcpy(bytes + pieces[index].offset, pieces[index].text, pieces[index].bytes);
}

static uint32_t get32(const uint8_t *bytes, size_t offset)
{
	const uint8_t *at = bytes + offset;

	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static void superblock_of(const struct vector *vector, uint8_t *bytes)
{
	fill(bytes, vector->super, 8);
}

START_TEST(test_superblock)
{
	const struct vector *vector = &vectors[_i];
	uint8_t theirs[BYTES], ours[BYTES];
	struct journal_superblock super;

	superblock_of(vector, theirs);
	ck_assert_int_eq(journal_superblock_read(theirs, &super), JOURNAL_SUPERBLOCK_GOOD);
	ck_assert_uint_eq(super.block_bytes, 1024);
	ck_assert_uint_eq(super.blocks, 1024);
	ck_assert_uint_eq(super.first, 1);
	ck_assert_uint_eq(super.sequence, 1);
	ck_assert_uint_eq(super.start, 1);
	ck_assert_uint_eq(journal_format_of(&super).checksum_version, vector->version);
	memcpy(ours, theirs, BYTES);
	ours[252] ^= 1;
	ck_assert_int_eq(journal_superblock_read(ours, &super), JOURNAL_SUPERBLOCK_BAD_CHECKSUM);
	journal_superblock_update(ours, &super);
	ck_assert_mem_eq(ours, theirs, BYTES);
}
END_TEST

START_TEST(test_transaction)
{
	const struct vector *vector = &vectors[_i];
	uint8_t theirs[BYTES], ours[BYTES], zeros[BYTES] = { 0 }, magic[BYTES] = "\xc0\x3b\x39\x98";
	struct journal_superblock super;

	superblock_of(vector, theirs);
	ck_assert_int_eq(journal_superblock_read(theirs, &super), JOURNAL_SUPERBLOCK_GOOD);
	const struct journal_format format = journal_format_of(&super);

	ck_assert(!journal_escape(zeros));
	ck_assert(journal_escape(magic));
	ck_assert_mem_eq(magic, zeros, BYTES);
	const struct journal_tag tags[] = { { 5000, zeros, false }, { 6000, magic, true } };

	journal_descriptor_write(&format, 1, tags, 2, ours);
	fill(theirs, vector->tags, 4);
	ck_assert_mem_eq(ours, theirs, vector->tags_bytes);
	/* Over the whole block, with zeros in its own place. */
	uint32_t checksum = get32(ours, BYTES - 4);

	memset(ours + BYTES - 4, 0, 4);
	ck_assert_uint_eq(checksum, crc32c(format.checksum_seed, ours, BYTES));
	journal_unescape(magic);
	ck_assert_mem_eq(magic, "\xc0\x3b\x39\x98", 4);

	fill(theirs, vector->commit, 4);
	/* debugfs puts seconds where the upper half belongs. */
	journal_commit_write(&format, 1, (uint64_t)get32(theirs, 48) << 32, get32(theirs, 56), ours);
	ck_assert_mem_eq(ours, theirs, BYTES);
}
END_TEST

/* Tags of all kinds, by hand: block 0x123456789, the last of two. */
START_TEST(test_tags)
{
	static const struct {
		unsigned int version;
		bool has_64bit;
		size_t bytes;
		uint32_t in_1k, in_4k;
	} kinds[] = {
		{ 0, false, 8, 122, 506 }, { 0, true, 12, 81, 337 },  { 2, false, 10, 97, 404 },
		{ 2, true, 14, 69, 289 },  { 3, false, 16, 61, 253 }, { 3, true, 16, 61, 253 },
	};
	uint8_t contents[4096] = { 0 }, bytes[4096];
	struct journal_format format = {
		.block_bytes = 4096,
		.has_64bit = kinds[_i].has_64bit,
		.checksum_version = kinds[_i].version,
	};
	const struct journal_tag tags[] = { { 7, contents, false }, { UINT64_C(0x123456789), contents, true } };

	journal_descriptor_write(&format, 0x80000001, tags, 2, bytes);
	ck_assert_uint_eq(get32(bytes, 8), 0x80000001);
	size_t second = 12 + kinds[_i].bytes + 16;

	ck_assert_uint_eq(get32(bytes, second), 0x23456789);
	ck_assert_uint_eq(get32(bytes, second + 4) & 0xffff, 11);
	if (kinds[_i].has_64bit)
		ck_assert_uint_eq(get32(bytes, second + 8), 1);
	ck_assert_uint_eq(get32(bytes, second + kinds[_i].bytes), 0);
	ck_assert_uint_eq(journal_descriptor_tags(&format), kinds[_i].in_4k);
	format.block_bytes = 1024;
	ck_assert_uint_eq(journal_descriptor_tags(&format), kinds[_i].in_1k);
	ck_assert_uint_eq(journal_transaction_blocks(&format, 1), 3);
	ck_assert_uint_eq(journal_transaction_blocks(&format, kinds[_i].in_1k), kinds[_i].in_1k + 2);
	ck_assert_uint_eq(journal_transaction_blocks(&format, kinds[_i].in_1k + 1), kinds[_i].in_1k + 4);
}
END_TEST

/* Tags without end: as many as there is room for before the checksum at the block's end. None is followed by a UUID. */
START_TEST(test_full_descriptor)
{
	uint8_t bytes[BYTES] = { 0 };
	const struct journal_format format = {
		.block_bytes = BYTES,
		.has_64bit = _i % 2,
		.checksum_version = _i / 2 ? (unsigned int)_i / 2 + 1 : 0,
	};
	size_t tag_bytes = _i / 2 == 2 ? 16 : 8 + (_i % 2 ? 4 : 0) + (_i / 2 ? 2 : 0);
	size_t room = BYTES - 12 - (_i / 2 ? 4 : 0), count = 0;
	struct journal_tag_cursor cursor = { .format = &format, .bytes = bytes };
	struct journal_tag_view tag;

	for (size_t at = 12; at + 8 <= BYTES; at += tag_bytes)
		bytes[at + 7] = 2;
	while (journal_tags_next(&cursor, &tag))
		count++;
	ck_assert_uint_eq(count, room / tag_bytes);
	ck_assert(!journal_tags_next(&cursor, &tag));
}
END_TEST

/* Each changed byte of what a superblock says is seen, by its checksum or, without one, where it contradicts. */
START_TEST(test_damage)
{
	uint8_t bytes[BYTES];
	struct journal_superblock super;

	for (size_t at = 0; at < BYTES; at++) {
		superblock_of(&vectors[0], bytes);
		bytes[at] ^= 0x40;
		ck_assert_msg(journal_superblock_read(bytes, &super) != JOURNAL_SUPERBLOCK_GOOD, "byte %zu", at);
	}
}
END_TEST

struct wrong_values {
	size_t offset;
	uint8_t value;
	enum journal_superblock_state state;
};

/* Without checksums, of the last byte of a number. */
static const struct wrong_values wrong_values[] = {
	{ 0, 0, JOURNAL_SUPERBLOCK_BAD_MAGIC },         { 7, 5, JOURNAL_SUPERBLOCK_BAD_MAGIC },
	{ 23, 0, JOURNAL_SUPERBLOCK_BAD_VALUES }, /* no block for the superblock */
	{ 22, 4, JOURNAL_SUPERBLOCK_BAD_VALUES }, /* the log begins after its end */
	{ 30, 4, JOURNAL_SUPERBLOCK_BAD_VALUES }, /* so does what is to be replayed */
	{ 39, 2, JOURNAL_SUPERBLOCK_UNKNOWN_FEATURES }, { 43, 0x42, JOURNAL_SUPERBLOCK_UNKNOWN_FEATURES },
	{ 47, 1, JOURNAL_SUPERBLOCK_UNKNOWN_FEATURES },
};

START_TEST(test_wrong_values)
{
	const struct wrong_values *wrong = &wrong_values[_i];
	uint8_t bytes[BYTES];
	struct journal_superblock super;

	superblock_of(&vectors[0], bytes);
	bytes[43] = 2;
	ck_assert_int_eq(journal_superblock_read(bytes, &super), JOURNAL_SUPERBLOCK_GOOD);
	bytes[wrong->offset] = wrong->value;
	ck_assert_int_eq(journal_superblock_read(bytes, &super), wrong->state);
}
END_TEST

/* The fast-commit area is at the end: 256 blocks, unless the superblock says how many. */
START_TEST(test_fast_commits)
{
	uint8_t bytes[BYTES];
	struct journal_superblock super;

	superblock_of(&vectors[0], bytes);
	bytes[43] = 0x22;
	ck_assert_int_eq(journal_superblock_read(bytes, &super), JOURNAL_SUPERBLOCK_GOOD);
	ck_assert_uint_eq(journal_log_end(&super), 768);
	bytes[87] = 24;
	ck_assert_int_eq(journal_superblock_read(bytes, &super), JOURNAL_SUPERBLOCK_GOOD);
	ck_assert_uint_eq(journal_log_end(&super), 1000);
	bytes[43] = 2; /* as mke2fs leaves it */
	ck_assert_int_eq(journal_superblock_read(bytes, &super), JOURNAL_SUPERBLOCK_GOOD);
	ck_assert_uint_eq(journal_log_end(&super), 1000);
	bytes[86] = 4;
	ck_assert_int_eq(journal_superblock_read(bytes, &super), JOURNAL_SUPERBLOCK_BAD_VALUES);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("journal_block");
	TCase *all = tcase_create("all");

	tcase_add_loop_test(all, test_superblock, 0, VECTORS);
	tcase_add_loop_test(all, test_transaction, 0, VECTORS);
	tcase_add_loop_test(all, test_tags, 0, 6);
	tcase_add_loop_test(all, test_full_descriptor, 0, 6);
	tcase_add_test(all, test_damage);
	tcase_add_loop_test(all, test_wrong_values, 0, sizeof(wrong_values) / sizeof(*wrong_values));
	tcase_add_test(all, test_fast_commits);
	suite_add_tcase(suite, all);
	return run_suite(suite);
}
