/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The overlay of a journal, of logs that are made block by block. tests/image-journal has logs that the kernel made,
 * and e2fsck as their judge; test_journal_reader_damage has what is wrong.
 */
#include <string.h>

#include "log_judge.h"
#include "unit.h"

static struct log_image image;

#define EXPECT_BLOCKS(...) LOG_EXPECT_BLOCKS(&image, __VA_ARGS__)

static errcode_t read_bytes(void *context, uint64_t offset_bytes, void *buffer, size_t bytes)
{
	memcpy(buffer, (const uint8_t *)context + offset_bytes, bytes);
	return 0;
}

static void transaction(uint64_t block, uint8_t fill)
{
	log_image_transaction(&image, &(struct log_tag){ block, fill, false }, 1);
}

static void revoke_block(uint64_t block)
{
	log_image_revokes(&image, &block, 1);
}

static bool has_checksums(void)
{
	return image.format.checksum_version != 0;
}

/* Tags of all sizes, escaped and not, the first of a descriptor and later ones; the newest copy counts. */
START_TEST(test_tags)
{
	const struct log_tag first[] = { { 30, 1, false }, { 10, 2, true }, { 20, 3, false } };
	const struct log_tag second[] = { { 10, 4, false }, { 20, 5, true } };

	log_image_start(&image, (unsigned int)_i, 1);
	log_image_transaction(&image, first, 3);
	log_image_transaction(&image, second, 2);
	EXPECT_BLOCKS({ 10, 4, false }, { 20, 5, true }, { 30, 1, false });

	struct journal_overlay *overlay = log_read(&image);
	struct journal_overlay_figures figures = journal_overlay_figures(overlay);
	struct journal_overlay_block found;

	ck_assert_uint_eq(figures.transactions, 2);
	ck_assert_uint_eq(figures.copies, 5);
	ck_assert_uint_eq(figures.hidden, 0);
	ck_assert(!figures.is_wrapped);
	ck_assert(!journal_overlay_find(overlay, 11, &found));
	ck_assert(!journal_overlay_find(overlay, UINT64_MAX, &found));
	journal_overlay_free(overlay);
}
END_TEST

/* The later one of two copies in one transaction counts, in one descriptor and in two. */
START_TEST(test_copies_of_one_transaction)
{
	const struct log_tag tags[] = { { 10, 1, false }, { 10, 2, false } };

	log_image_start(&image, (unsigned int)_i, 1);
	log_image_descriptor(&image, tags, 2);
	log_image_descriptor(&image, &(struct log_tag){ 20, 3, false }, 1);
	log_image_descriptor(&image, &(struct log_tag){ 20, 4, false }, 1);
	log_image_commit(&image);
	EXPECT_BLOCKS({ 10, 2, false }, { 20, 4, false });
}
END_TEST

/* The upper halves of block numbers count with the feature, in tags and in revokes. */
START_TEST(test_large_blocks)
{
	const uint64_t high = UINT64_C(0x123456789);

	log_image_start(&image, (unsigned int)_i, 1);
	if (!image.format.has_64bit)
		return;
	image.source.blocks = UINT64_C(1) << 34;
	log_image_transaction(&image, (const struct log_tag[]){ { high, 1, false }, { (uint32_t)high, 2, true } }, 2);
	EXPECT_BLOCKS({ (uint32_t)high, 2, true }, { high, 1, false });
	revoke_block((uint32_t)high);
	log_image_commit(&image);
	EXPECT_BLOCKS({ high, 1, false });
	revoke_block(high);
	log_image_commit(&image);
	log_expect_blocks(&image, NULL, 0);
}
END_TEST

/* From each beginning of a log, so that each of its blocks is once the one after which it goes on at the first. */
START_TEST(test_wrapped)
{
	const struct log_tag tags[] = { { 10, 1, true }, { 20, 2, false }, { 21, 3, false } };

	for (uint32_t start = 1; start < LOG_JOURNAL_BLOCKS; start++) {
		log_image_start(&image, (unsigned int)_i, start);
		log_image_transaction(&image, tags, 3);
		revoke_block(21);
		log_image_transaction(&image, (const struct log_tag[]){ { 20, 4, false }, { 22, 5, true } }, 2);
		transaction(23, 6);
		EXPECT_BLOCKS({ 10, 1, true }, { 20, 4, false }, { 22, 5, true }, { 23, 6, false });
		struct journal_overlay *overlay = log_read(&image);

		ck_assert_int_eq(journal_overlay_figures(overlay).is_wrapped, start > LOG_JOURNAL_BLOCKS - 12);
		journal_overlay_free(overlay);
	}
}
END_TEST

/* The log need not begin right after the superblock. */
START_TEST(test_later_first)
{
	log_image_start(&image, (unsigned int)_i, LOG_JOURNAL_BLOCKS - 2);
	image.super.first = 4;
	transaction(10, 1);
	transaction(11, 2);
	EXPECT_BLOCKS({ 10, 1, false }, { 11, 2, false });
	ck_assert_uint_eq(image.at, 8);
}
END_TEST

/* A log of which each block is used: its first one is found again, and is too old. */
START_TEST(test_full)
{
	struct log_tag tags[17];

	for (uint8_t index = 0; index < 17; index++)
		tags[index] = (struct log_tag){ 10u + index, index, index % 2 };
	log_image_start(&image, (unsigned int)_i, 9);
	log_image_transaction(&image, tags, 17);
	log_image_transaction(&image, tags, 1);
	revoke_block(10);
	ck_assert_uint_eq(image.at, 9);
	log_expect_blocks(&image, tags, 17);
}
END_TEST

START_TEST(test_revokes)
{
	const uint64_t several[] = { 5, 10, 63, 12 };

	/* In the copy's own transaction, before it and after it. */
	log_image_start(&image, (unsigned int)_i, 1);
	revoke_block(10);
	transaction(10, 1);
	log_image_descriptor(&image, &(struct log_tag){ 11, 2, false }, 1);
	revoke_block(11);
	log_image_commit(&image);
	log_expect_blocks(&image, NULL, 0);
	/* A later copy counts, and is hidden by a later revoke, as are all before it. */
	transaction(10, 3);
	EXPECT_BLOCKS({ 10, 3, false });
	transaction(10, 4);
	log_image_revokes(&image, several, 4);
	log_image_commit(&image);
	log_expect_blocks(&image, NULL, 0);
	struct journal_overlay *overlay = log_read(&image);

	ck_assert_uint_eq(journal_overlay_figures(overlay).hidden, 2);
	journal_overlay_free(overlay);
	transaction(12, 5);
	EXPECT_BLOCKS({ 12, 5, false });
	/* An uncommitted revoke has no effect. */
	revoke_block(12);
	EXPECT_BLOCKS({ 12, 5, false });
}
END_TEST

/* Sequences begin again at 0: transaction 0 is later than the last one before it. */
START_TEST(test_sequences_begin_again)
{
	log_image_start(&image, (unsigned int)_i, 1);
	image.super.sequence = image.sequence = UINT32_MAX;
	transaction(10, 1);
	transaction(11, 2);
	revoke_block(10);
	transaction(12, 3);
	EXPECT_BLOCKS({ 11, 2, false }, { 12, 3, false });
	log_image_start(&image, (unsigned int)_i, 1);
	image.super.sequence = image.sequence = UINT32_MAX;
	revoke_block(11);
	transaction(10, 1);
	transaction(11, 2);
	EXPECT_BLOCKS({ 10, 1, false }, { 11, 2, false });
}
END_TEST

/* How much a revoke block has: nothing, all that fits, more. */
START_TEST(test_revoke_counts)
{
	uint32_t most = LOG_BLOCK_BYTES - (log_image_start(&image, (unsigned int)_i, 1), has_checksums() ? 4 : 0);

	for (uint32_t bytes = 0; bytes <= most + 1; bytes++) {
		log_image_start(&image, (unsigned int)_i, 1);
		transaction(10, 1);
		uint32_t logical = image.at, each = image.format.has_64bit ? 8 : 4;

		revoke_block(10);
		log_image_block(&image, logical)[14] = (uint8_t)(bytes >> 8);
		log_image_block(&image, logical)[15] = (uint8_t)bytes;
		log_image_seal_tail(&image, logical);
		log_image_commit(&image);
		if (bytes > most)
			log_expect_refusal(&image, JOURNAL_ET_DAMAGED,
			                   "the revokes in block 4 of the journal do not fit");
		else if (bytes < 16 + each)
			EXPECT_BLOCKS({ 10, 1, false });
		else
			log_expect_blocks(&image, NULL, 0);
	}
}
END_TEST

/* The log ends where the next block is not the one that is due. */
START_TEST(test_interrupted)
{
	const struct log_tag tags[] = { { 10, 9, false }, { 12, 9, true } };
	/* Bytes of the magic number, the type and the sequence of the second transaction's commit and descriptor. */
	static const uint8_t places[] = { 0, 3, 6, 7, 8, 11 };

	log_image_start(&image, (unsigned int)_i, 1);
	transaction(10, 1);
	log_image_descriptor(&image, tags, 2);
	EXPECT_BLOCKS({ 10, 1, false });
	log_image_commit(&image);
	EXPECT_BLOCKS({ 10, 9, false }, { 12, 9, true });
	for (size_t index = 0; index < sizeof(places); index++) {
		uint8_t *commit = log_image_block(&image, 7) + places[index];
		uint8_t *descriptor = log_image_block(&image, 4) + places[index];

		*commit ^= 0x40;
		EXPECT_BLOCKS({ 10, 1, false });
		*commit ^= 0x40;
		*descriptor ^= 0x40;
		EXPECT_BLOCKS({ 10, 1, false });
		*descriptor ^= 0x40;
	}
	/* Nothing at all. */
	memset(log_image_block(&image, 1), 0, LOG_BLOCK_BYTES);
	log_expect_blocks(&image, NULL, 0);
}
END_TEST

/* In a journal that is long enough for a fast-commit area. The area's first block is not used. */
START_TEST(test_fast_commits)
{
	enum { BLOCKS = 1024 + 3 };
	static uint8_t bytes[BLOCKS * LOG_BLOCK_BYTES];
	const struct journal_range range = { 0, 0, BLOCKS };
	const uint8_t head[] = { 9, 0, 8, 0, 0, 0, 0, 0, 8, 0, 0, 0 };

	log_image_start(&image, (unsigned int)_i, 1);
	transaction(10, 1);
	image.super.incompat |= JOURNAL_INCOMPAT_FAST_COMMIT;
	image.super.blocks = BLOCKS;
	image.super.fast_commit_blocks = 3;
	log_image_finish(&image);
	memset(bytes, 0, sizeof(bytes));
	for (uint32_t logical = 0; logical < LOG_JOURNAL_BLOCKS; logical++)
		memcpy(bytes + (size_t)logical * LOG_BLOCK_BYTES, log_image_block(&image, logical), LOG_BLOCK_BYTES);
	memcpy(log_image_block(&image, 0), bytes, LOG_BLOCK_BYTES);
	for (unsigned int place = 1024; place < BLOCKS; place++)
		for (unsigned int sequence = 7; sequence < 10; sequence++) {
			struct journal_overlay *overlay = NULL;
			struct problem problem = { 0 };
			struct journal_source source = image.source;

			memset(bytes + (size_t)1024 * LOG_BLOCK_BYTES, 0, (size_t)3 * LOG_BLOCK_BYTES);
			memcpy(bytes + (size_t)place * LOG_BLOCK_BYTES, head, sizeof(head));
			bytes[(size_t)place * LOG_BLOCK_BYTES + 8] = (uint8_t)sequence;
			source.read = read_bytes;
			source.context = bytes;
			source.blocks = BLOCKS;
			source.ranges = &range;
			source.range_count = 1;
			errcode_t error = journal_overlay_read(&source, &overlay, &problem);

			ck_assert_int_eq(error, place < 1026 && sequence == 8 ? JOURNAL_ET_FAST_COMMIT : 0);
			journal_overlay_free(overlay);
			problem_clear(&problem);
		}
	/* Too little is left for the log. */
	image.super.blocks = LOG_JOURNAL_BLOCKS;
	log_expect_refusal(&image, JOURNAL_ET_SUPERBLOCK, "leaves too little for the log");
	/* Without the feature the log reaches to the end, whatever the number is. */
	log_image_start(&image, (unsigned int)_i, LOG_JOURNAL_BLOCKS - 2);
	image.super.fast_commit_blocks = 10;
	transaction(10, 1);
	EXPECT_BLOCKS({ 10, 1, false });
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("journal_reader");
	TCase *kinds = tcase_create("kinds");
	const TTest *const of_kinds[] = {
		test_tags,          test_copies_of_one_transaction,
		test_large_blocks,  test_wrapped,
		test_later_first,   test_full,
		test_revokes,       test_sequences_begin_again,
		test_revoke_counts, test_interrupted,
		test_fast_commits,
	};

	for (size_t index = 0; index < sizeof(of_kinds) / sizeof(*of_kinds); index++)
		tcase_add_loop_test(kinds, of_kinds[index], 0, LOG_KINDS);
	suite_add_tcase(suite, kinds);
	return run_suite(suite);
}
