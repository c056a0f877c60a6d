/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Orphan blocks against libext2fs's checksum, and every bit of one turned over. */
#include <endian.h>
#include <string.h>

#include <ext2fs/ext2fs.h>

#include "ondisk/orphan_block.h"
#include "seeded_random.h"
#include "unit.h"

#define FILE_INO 12
#define FILE_GENERATION 0x89abcdefu

struct block_case {
	uint32_t block_bytes;
	bool checksums;
	uint32_t slots;
};

static const struct block_case cases[] = {
	{ 1024, true, 254 },
	{ 4096, true, 1022 },
	{ 65536, true, 16382 },
	{ 1024, false, 254 },
};

static struct ondisk_format format_of(const struct block_case *block)
{
	return (struct ondisk_format){
		.block_bytes = block->block_bytes,
		.checksums = block->checksums,
		.checksum_seed = 0x12345678,
	};
}

static void fill(struct random *random, uint32_t *slots, uint32_t count)
{
	for (uint32_t slot = 0; slot < count; slot++)
		slots[slot] = random_below(random, 2) ? (uint32_t)random_next(random) : 0;
}

/* The checksum that libext2fs would store; it needs the superblock, the seed and the block size. */
static uint32_t checksum_of_libext2fs(const struct ondisk_format *format, uint64_t physical_block, void *bytes)
{
	struct ext2_super_block super = {
		.s_feature_ro_compat = EXT4_FEATURE_RO_COMPAT_METADATA_CSUM,
		.s_rev_level = EXT2_DYNAMIC_REV,
	};
	struct struct_ext2_filsys fs = {
		.magic = EXT2_ET_MAGIC_EXT2FS_FILSYS,
		.super = &super,
		.blocksize = format->block_bytes,
		.csum_seed = format->checksum_seed,
	};

	return ext2fs_do_orphan_file_block_csum(&fs, FILE_INO, FILE_GENERATION, physical_block, bytes);
}

START_TEST(test_block)
{
	const struct ondisk_format format = format_of(&cases[_i]);
	const uint32_t seed = ondisk_inode_seed(&format, FILE_INO, FILE_GENERATION);
	const uint64_t physical = UINT64_C(0x123456789a);
	uint32_t count = orphan_block_slots(&format);
	struct random random = random_start("orphan block");
	struct ext4_orphan_block_tail tail;

	ck_assert_uint_eq(count, cases[_i].slots);
	uint32_t *slots = malloc(count * sizeof(*slots));
	uint32_t *read = malloc(count * sizeof(*read));
	uint8_t *bytes = malloc(format.block_bytes);
	fill(&random, slots, count);
	orphan_block_write(&format, seed, physical, slots, bytes);

	for (uint32_t slot = 0; slot < count; slot++) {
		uint32_t stored;

		memcpy(&stored, bytes + slot * sizeof(stored), sizeof(stored));
		ck_assert_uint_eq(le32toh(stored), slots[slot]);
	}
	memcpy(&tail, bytes + format.block_bytes - sizeof(tail), sizeof(tail));
	ck_assert_uint_eq(le32toh(tail.ob_magic), EXT4_ORPHAN_BLOCK_MAGIC);
	ck_assert_uint_eq(le32toh(tail.ob_checksum),
	                  format.checksums ? checksum_of_libext2fs(&format, physical, bytes) : 0);
	ck_assert_int_eq(orphan_block_read(&format, seed, physical, bytes, read), ORPHAN_BLOCK_GOOD);
	ck_assert_int_eq(memcmp(read, slots, count * sizeof(*slots)), 0);
	free(slots);
	free(read);
	free(bytes);
}
END_TEST

/* Where a turned bit must be noticed, and as what. */
static enum orphan_block_state expected_state(const struct ondisk_format *format, uint32_t byte)
{
	if (byte >= format->block_bytes - 8 && byte < format->block_bytes - 4)
		return ORPHAN_BLOCK_BAD_MAGIC;
	return format->checksums ? ORPHAN_BLOCK_BAD_CHECKSUM : ORPHAN_BLOCK_GOOD;
}

START_TEST(test_every_bit)
{
	const struct ondisk_format format = format_of(&cases[_i]);
	const uint32_t seed = ondisk_inode_seed(&format, FILE_INO, FILE_GENERATION);
	uint32_t slots[254] = { 17, 0, 19 }, read[254];
	uint8_t bytes[1024];

	ck_assert_uint_eq(format.block_bytes, sizeof(bytes));
	orphan_block_write(&format, seed, 99, slots, bytes);
	for (uint32_t bit = 0; bit < 8 * sizeof(bytes); bit++) {
		bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
		ck_assert_int_eq(orphan_block_read(&format, seed, 99, bytes, read), expected_state(&format, bit / 8));
		bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	if (format.checksums) {
		ck_assert_int_eq(orphan_block_read(&format, seed, 98, bytes, read), ORPHAN_BLOCK_BAD_CHECKSUM);
		ck_assert_int_eq(orphan_block_read(&format, seed ^ 1, 99, bytes, read), ORPHAN_BLOCK_BAD_CHECKSUM);
	}
}
END_TEST

static Suite *orphan_block_suite(void)
{
	Suite *suite = suite_create("orphan_block");
	TCase *blocks = tcase_create("blocks");

	tcase_add_loop_test(blocks, test_block, 0, 4);
	tcase_add_loop_test(blocks, test_every_bit, 0, 1);
	tcase_add_loop_test(blocks, test_every_bit, 3, 4);
	suite_add_tcase(suite, blocks);
	return suite;
}

int main(void)
{
	return run_suite(orphan_block_suite());
}
