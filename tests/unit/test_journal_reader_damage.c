/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The overlay of a journal that is damaged, contradicts itself or is not read here. See test_journal_reader. */
#include <errno.h>
#include <string.h>

#include "log_judge.h"
#include "ondisk/journal_view.h"
#include "seeded_random.h"
#include "support/crc32c.h"
#include "unit.h"

static struct log_image image;

#define EXPECT_BLOCKS(...) LOG_EXPECT_BLOCKS(&image, __VA_ARGS__)

static void expect_damage(const char *words)
{
	log_expect_refusal(&image, JOURNAL_ET_DAMAGED, words);
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

/* A wrong checksum in a transaction that is older than the one before is of an earlier use of the log. */
START_TEST(test_wrong_checksums)
{
	/* Blocks of the second transaction: revokes, descriptor, commit; a byte that changes nothing else. */
	static const struct {
		uint32_t logical;
		size_t byte;
	} places[] = { { 4, 900 }, { 5, 900 }, { 7, 60 } };

	for (unsigned int index = 0; index < 3; index++)
		for (unsigned int is_older = 0; is_older < 2; is_older++) {
			log_image_start(&image, (unsigned int)_i, 1);
			transaction(10, 1);
			image.seconds -= is_older ? 500 : 0;
			revoke_block(11);
			transaction(11, 2);
			transaction(12, 3);
			log_image_block(&image, places[index].logical)[places[index].byte] ^= 1;
			/* The first kind is over descriptors and contents. */
			bool is_summed =
				has_checksums() || (image.super.compat & JOURNAL_COMPAT_CHECKSUM && index == 1);

			if (!is_summed)
				EXPECT_BLOCKS({ 10, 1, false }, { 12, 3, false });
			else if (is_older)
				EXPECT_BLOCKS({ 10, 1, false });
			else
				expect_damage("transaction 8 has a wrong checksum");
		}
}
END_TEST

/* A power cut in the last write: the first sector of the commit block is new, the others hold what was there before. */
START_TEST(test_torn_commit)
{
	log_image_start(&image, (unsigned int)_i, 1);
	transaction(10, 1);
	transaction(11, 2);
	memset(log_image_block(&image, 6) + 512, 0x5a, LOG_BLOCK_BYTES - 512);
	EXPECT_BLOCKS({ 10, 1, false }, { 11, 2, false });
	/* Its first sector is the old one: there is no commit block. */
	memset(log_image_block(&image, 6), 0x5a, 512);
	EXPECT_BLOCKS({ 10, 1, false });
}
END_TEST

/* The first transaction is never older than one before it. */
START_TEST(test_wrong_first_checksum)
{
	log_image_start(&image, (unsigned int)_i, 1);
	image.seconds = 0;
	transaction(10, 1);
	log_image_block(&image, 1)[900] ^= 1;
	if (has_checksums() || image.super.compat & JOURNAL_COMPAT_CHECKSUM)
		expect_damage("transaction 7 has a wrong checksum");
	else
		EXPECT_BLOCKS({ 10, 1, false });
}
END_TEST

/* A commit block with a wrong checksum, where the contents need not be there before it is. */
START_TEST(test_asynchronous)
{
	log_image_start(&image, (unsigned int)_i, 1);
	image.super.incompat |= JOURNAL_INCOMPAT_ASYNC_COMMIT;
	transaction(10, 1);
	transaction(11, 2);
	bool is_first_kind = image.super.compat & JOURNAL_COMPAT_CHECKSUM;

	log_image_block(&image, is_first_kind ? 5 : 6)[is_first_kind ? 100 : 59] ^= 1;
	if (!has_checksums() && !is_first_kind) {
		EXPECT_BLOCKS({ 10, 1, false }, { 11, 2, false });
		return;
	}
	EXPECT_BLOCKS({ 10, 1, false });
	transaction(12, 3);
	if (is_first_kind)
		expect_damage("transaction 8 has a wrong checksum");
	else
		EXPECT_BLOCKS({ 10, 1, false });
}
END_TEST

/* Kernels that were mounted without the option write no checksums of the first kind. */
START_TEST(test_absent_checksum)
{
	log_image_start(&image, 2, 1);
	transaction(10, 1);
	memset(log_image_block(&image, 3) + 12, 0, 8);
	EXPECT_BLOCKS({ 10, 1, false });
	log_image_block(&image, 3)[13] = 4;
	expect_damage("transaction 7 has a wrong checksum");
	/* A block of another type. */
	log_image_start(&image, 2, 1);
	transaction(10, 1);
	log_image_block(&image, 3)[12] = 2;
	expect_damage("transaction 7 has a wrong checksum");
}
END_TEST

/* Contents that have changed, of a copy that counts, of an older and of a revoked one. */
START_TEST(test_wrong_contents)
{
	log_image_start(&image, (unsigned int)_i, 1);
	transaction(10, 1);
	transaction(11, 2);
	transaction(10, 3);
	transaction(12, 4);
	revoke_block(12);
	log_image_commit(&image);
	if (!has_checksums())
		return;
	log_image_block(&image, 2)[500] ^= 1;
	log_image_block(&image, 11)[500] ^= 1;
	EXPECT_BLOCKS({ 10, 3, false }, { 11, 2, false });
	log_image_block(&image, 5)[500] ^= 1;
	expect_damage("block 11 has a wrong checksum in block 5 of the journal");
}
END_TEST

/* Only a copy that counts must lie in the filesystem. */
START_TEST(test_outside)
{
	log_image_start(&image, (unsigned int)_i, 1);
	transaction(LOG_IMAGE_BLOCKS - 1, 1);
	EXPECT_BLOCKS({ LOG_IMAGE_BLOCKS - 1, 1, false });
	transaction(LOG_IMAGE_BLOCKS, 2);
	expect_damage("transaction 8 has block 64, outside of the filesystem");
	revoke_block(LOG_IMAGE_BLOCKS);
	log_image_commit(&image);
	EXPECT_BLOCKS({ LOG_IMAGE_BLOCKS - 1, 1, false });
}
END_TEST

/* Logs without an end. */
START_TEST(test_endless)
{
	uint32_t log_blocks = LOG_JOURNAL_BLOCKS - 1;
	struct log_tag tags[LOG_JOURNAL_BLOCKS - 2];

	/* One transaction of nothing but revokes. */
	log_image_start(&image, (unsigned int)_i, 5);
	for (uint32_t block = 0; block < log_blocks; block++)
		revoke_block(10);
	expect_damage("transaction 7 is as long as the log and does not end");
	/* One whose contents reach to its own beginning. */
	for (uint32_t index = 0; index < log_blocks - 1; index++)
		tags[index] = (struct log_tag){ 10u + index, 1, false };
	log_image_start(&image, (unsigned int)_i, 5);
	log_image_descriptor(&image, tags, log_blocks - 1);
	expect_damage("transaction 7 is as long as the log and does not end");
	/* One that has more: a tag that is not the last one is followed by tags of zeros. */
	uint8_t *descriptor = log_image_block(&image, 5);
	struct journal_tag_cursor cursor = { .format = &image.format, .bytes = descriptor };
	struct journal_tag_view tag;

	for (uint32_t index = 0; index + 1 < log_blocks; index++) {
		descriptor[(index ? cursor.offset : 12) + 7] &= (uint8_t)~8;
		ck_assert(journal_tags_next(&cursor, &tag));
	}
	log_image_seal_tail(&image, 5);
	expect_damage("transaction 7 is longer than the log");
	/* With a wrong checksum it is nothing that anybody has written. */
	descriptor[1000] ^= 1;
	if (has_checksums())
		log_expect_blocks(&image, NULL, 0);
}
END_TEST

/* The superblock's values: what is changed, and what the message says. */
START_TEST(test_superblock)
{
	log_image_start(&image, (unsigned int)_i, 1);
	transaction(10, 1);
	const struct log_image good = image;

	image.super.start = 0;
	log_expect_blocks(&image, NULL, 0);
	image.super.start = LOG_JOURNAL_BLOCKS;
	log_expect_refusal(&image, JOURNAL_ET_SUPERBLOCK, "contradict each other");
	image = good;
	image.super.first = 2;
	log_expect_refusal(&image, JOURNAL_ET_SUPERBLOCK, "the log begins outside of it");
	image.super.first = 0;
	log_expect_refusal(&image, JOURNAL_ET_SUPERBLOCK, "contradict each other");
	image.super.first = LOG_JOURNAL_BLOCKS;
	log_expect_refusal(&image, JOURNAL_ET_SUPERBLOCK, "contradict each other");
	image = good;
	image.super.blocks++;
	log_expect_refusal(&image, JOURNAL_ET_SUPERBLOCK, "longer than its file");
	image.super.blocks = UINT32_MAX;
	log_expect_refusal(&image, JOURNAL_ET_SUPERBLOCK, "longer than its file");
	image = good;
	image.super.blocks--; /* the file may be longer */
	EXPECT_BLOCKS({ 10, 1, false });
	image.super.block_bytes = 4096;
	log_expect_refusal(&image, JOURNAL_ET_SUPERBLOCK, "another size");
	image = good;
	image.super.incompat |= JOURNAL_INCOMPAT_CSUM_V2 | JOURNAL_INCOMPAT_CSUM_V3;
	log_expect_refusal(&image, JOURNAL_ET_SUPERBLOCK, "contradict each other");
	image = good;
	image.super.compat |= JOURNAL_COMPAT_CHECKSUM;
	if (has_checksums())
		log_expect_refusal(&image, JOURNAL_ET_SUPERBLOCK, "two versions of checksums");
}
END_TEST

START_TEST(test_features)
{
	log_image_start(&image, (unsigned int)_i, 1);
	const struct log_image good = image;

	image.super.incompat |= 0x140;
	log_expect_refusal(&image, JOURNAL_ET_FEATURES, "unknown incompat feature 0x140");
	image = good;
	image.super.ro_compat |= 0x2;
	log_expect_refusal(&image, JOURNAL_ET_FEATURES, "unknown ro_compat feature 0x2");
	image = good;
	image.super.compat |= 0x9;
	log_expect_refusal(&image, JOURNAL_ET_FEATURES, "unknown compat feature 0x8");
	image = good;
	image.source.is_external = true;
	log_expect_refusal(&image, JOURNAL_ET_EXTERNAL, "on another device");
}
END_TEST

/* The superblock as bytes: its checksum, the checksums' type, the magic number, version 1. */
START_TEST(test_superblock_bytes)
{
	struct journal_overlay *overlay;
	struct problem problem = { 0 };

	log_image_start(&image, 7, 1);
	log_image_finish(&image);
	uint8_t *bytes = log_image_block(&image, 0);

	bytes[1000] = 1;
	ck_assert_int_eq(journal_overlay_read(&image.source, &overlay, &problem), JOURNAL_ET_SUPERBLOCK);
	ck_assert_str_eq(problem.reason, "its superblock has a wrong checksum");
	problem_clear(&problem);
	bytes[80] = 1;
	ck_assert_int_eq(journal_overlay_read(&image.source, &overlay, &problem), JOURNAL_ET_FEATURES);
	ck_assert_str_eq(problem.reason, "its checksums are of an unknown type");
	problem_clear(&problem);
	bytes[0] = 0;
	ck_assert_int_eq(journal_overlay_read(&image.source, &overlay, &problem), JOURNAL_ET_SUPERBLOCK);
	ck_assert_str_eq(problem.reason, "its first block is no superblock of a journal");
	problem_clear(&problem);
	log_image_start(&image, 0, 1);
	image.super.version = 1;
	image.super.incompat = 0;
	transaction(10, 1);
	EXPECT_BLOCKS({ 10, 1, false });
}
END_TEST

/* Wrong places of the journal's blocks. */
START_TEST(test_ranges)
{
	log_image_start(&image, 7, 1);
	transaction(10, 1);
	const struct log_image good = image;
	struct journal_range *range = &image.ranges[1];

	range->logical++;
	log_expect_refusal(&image, JOURNAL_ET_SUPERBLOCK, "has holes");
	range->logical--;
	range->count = 0;
	log_expect_refusal(&image, JOURNAL_ET_SUPERBLOCK, "has holes");
	range->count = UINT64_MAX;
	log_expect_refusal(&image, JOURNAL_ET_SUPERBLOCK, "outside of the filesystem");
	*range = good.ranges[1];
	range->physical = LOG_IMAGE_BLOCKS - range->count + 1;
	log_expect_refusal(&image, JOURNAL_ET_SUPERBLOCK, "outside of the filesystem");
	range->physical = UINT64_MAX;
	log_expect_refusal(&image, JOURNAL_ET_SUPERBLOCK, "outside of the filesystem");
	image = good;
	image.source.blocks = UINT64_MAX;
	log_expect_refusal(&image, JOURNAL_ET_SUPERBLOCK, "the filesystem's sizes are not ext4's");
	image = good;
	image.source.block_bytes = 512;
	log_expect_refusal(&image, JOURNAL_ET_SUPERBLOCK, "the filesystem's sizes are not ext4's");
	image = good;
	image.source.range_count = 0;
	log_expect_refusal(&image, JOURNAL_ET_SUPERBLOCK, "has holes");
}
END_TEST

/* Each read that fails is the whole's failure; what a read gets otherwise later is seen. */
START_TEST(test_failing_reads)
{
	struct journal_overlay *overlay;
	struct problem problem;

	log_image_start(&image, (unsigned int)_i, 1);
	transaction(10, 1);
	revoke_block(12);
	transaction(11, 2);
	journal_overlay_free(log_read(&image));
	for (unsigned int last = image.reads, number = 1; number <= last; number++) {
		image.reads = 0;
		image.fail_at = number;
		ck_assert_int_eq(log_try(&image, &overlay, &problem), EIO);
		ck_assert_ptr_null(overlay);
		problem_clear(&problem);
	}
	image.fail_at = 0;
	overlay = log_read(&image);
	uint8_t bytes[2 * LOG_BLOCK_BYTES];

	image.reads = 0;
	image.fail_at = 2;
	ck_assert_int_eq(journal_overlay_apply(overlay, &image.source, 10, 2, bytes), EIO);
	journal_overlay_free(overlay);
}
END_TEST

/* A digest of an overlay's contents. */
static uint32_t digest(const struct journal_overlay *overlay)
{
	uint32_t sum = 0;
	uint8_t bytes[LOG_BLOCK_BYTES];

	for (size_t index = 0; index < journal_overlay_count(overlay); index++) {
		struct journal_overlay_block block = journal_overlay_get(overlay, index);

		ck_assert_int_eq(journal_overlay_apply(overlay, &image.source, block.block, 1, bytes), 0);
		sum = crc32c(sum, &block.block, sizeof(block.block));
		sum = crc32c(sum, bytes, sizeof(bytes));
	}
	return sum;
}

/* With checksums, whatever bytes change: the journal is refused, or it ends after a transaction earlier. */
START_TEST(test_random_damage)
{
	enum { TRANSACTIONS = 4 };
	struct random random = random_start("random_damage");
	uint32_t sums[TRANSACTIONS + 1];
	unsigned int refused = 0, shorter = 0, rounds = is_soak() ? 200000 : 5000;

	log_image_start(&image, (unsigned int)_i, 20);
	for (unsigned int count = 0; count <= TRANSACTIONS; count++) {
		struct journal_overlay *overlay = log_read(&image);

		sums[count] = digest(overlay);
		journal_overlay_free(overlay);
		if (count == TRANSACTIONS)
			break;
		const struct log_tag tags[] = { { 20 + count, 5, true }, { 10, (uint8_t)count, false } };

		revoke_block(count % 2 ? 20 : 11);
		log_image_transaction(&image, tags, 2);
	}
	const struct log_image good = image;

	for (unsigned int round = 0; round < rounds; round++) {
		uint32_t logical = 1 + (uint32_t)random_below(&random, LOG_JOURNAL_BLOCKS - 1);
		struct journal_overlay *overlay;
		struct problem problem;
		bool is_known = false;

		image = good;
		log_image_block(&image, logical)[random_below(&random, LOG_BLOCK_BYTES)] ^=
			(uint8_t)(1 + random_below(&random, 255));
		if (log_try(&image, &overlay, &problem)) {
			problem_clear(&problem);
			refused++;
			continue;
		}
		for (unsigned int count = 0; count < sizeof(sums) / sizeof(*sums); count++)
			is_known = is_known || digest(overlay) == sums[count];
		ck_assert(is_known);
		shorter++;
		journal_overlay_free(overlay);
	}
	ck_assert_uint_gt(refused, rounds / 10);
	ck_assert_uint_gt(shorter, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("journal_reader_damage");
	TCase *kinds = tcase_create("kinds"), *all = tcase_create("all");
	const TTest *const of_kinds[] = {
		test_wrong_checksums, test_wrong_first_checksum, test_asynchronous, test_wrong_contents, test_outside,
		test_endless,         test_superblock,           test_features,     test_failing_reads,
	};

	for (size_t index = 0; index < sizeof(of_kinds) / sizeof(*of_kinds); index++)
		tcase_add_loop_test(kinds, of_kinds[index], 0, LOG_KINDS);
	tcase_add_loop_test(kinds, test_torn_commit, 0, LOG_KINDS);
	tcase_add_test(all, test_absent_checksum);
	tcase_add_test(all, test_superblock_bytes);
	tcase_add_test(all, test_ranges);
	/* Version 3: the one of 16 bits misses a change now and then. */
	tcase_add_loop_test(all, test_random_damage, 6, LOG_KINDS);
	suite_add_tcase(suite, kinds);
	suite_add_tcase(suite, all);
	return run_suite(suite);
}
