/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A hash tree for dm-verity in a file, made by any number of threads, with holes and with hashes that were known
 * before, against one in memory; and its superblock, byte for byte.
 */
#include <errno.h>
#include <fcntl.h>
#include <nettle/nettle-meta.h>
#include <string.h>
#include <sys/mman.h>

#include "ondisk/dm_verity.h"
#include "output/dm_verity_tree.h"
#include "seeded_random.h"
#include "support/io/whole_io.h"
#include "unit.h"

#define ROUNDS 60
#define MOST_DATA_BYTES (3u << 20)

static struct random seeds;

static uint64_t below(uint64_t limit)
{
	return random_below(&seeds, limit);
}

static int memory_file(void)
{
	int descriptor = memfd_create("test", MFD_CLOEXEC);

	ck_assert_int_ge(descriptor, 0);
	return descriptor;
}

/* Data, holes, and equal blocks that follow each other. */
static void fill(int descriptor, uint64_t offset, uint8_t *data, size_t bytes)
{
	ck_assert_int_eq(ftruncate(descriptor, (off_t)(offset + bytes)), 0);
	for (size_t at = 0, count; at < bytes; at += count) {
		uint64_t kind = below(3);

		count = 1 + below(200000);
		count = count < bytes - at ? count : bytes - at;
		if (kind == 0)
			continue;
		for (size_t byte = at; byte < at + count; byte++)
			data[byte] = kind == 1 ? 0xff : (uint8_t)below(256);
		ck_assert_int_eq(whole_write(descriptor, data + at, count, offset + at), 0);
	}
}

/* Some of what is written is noted; what is noted of a block is never read again. */
static void note_some(struct leaf_hashes *leaves, const uint8_t *data, size_t bytes)
{
	for (size_t at = 0, count; at < bytes; at += count) {
		count = 1 + below(300000);
		count = count < bytes - at ? count : bytes - at;
		if (below(2))
			ck_assert_int_eq(leaf_hashes_note(leaves, data + at, count, at), 0);
	}
}

static void damage_known(const struct leaf_hashes *leaves, int descriptor, uint64_t offset)
{
	for (uint64_t block = 0; block < leaves->tree->data_blocks; block++)
		if (leaf_hashes_has(leaves, block))
			ck_assert_int_eq(
				whole_write(descriptor, "damage", 6, offset + (block << leaves->tree->data_block_bits)),
				0);
}

static void try_one(unsigned int round, uint8_t *data)
{
	const unsigned int data_bits = 9 + (unsigned int)below(4), hash_bits = 9 + (unsigned int)below(5);
	const uint8_t salt[] = "salt of any length";
	const struct hash_tree_form form = {
		.hash = round % 2 ? &nettle_sha512 : &nettle_sha256,
		.data_block_bits = data_bits,
		.hash_block_bits = hash_bits,
		.salt = salt,
		.salt_bytes = below(sizeof(salt)),
	};
	const size_t bytes = (size_t)(1 + below(round % 3 ? 3000 : MOST_DATA_BYTES >> data_bits)) << data_bits;
	const uint64_t offset = below(2) * 12288, tree_offset = below(3) * 512;
	SCOPE_CLOSE int file = memory_file(), hashes = memory_file();
	struct dm_verity_tree tree;
	struct problem problem = { 0 };
	struct pool *pool;
	uint8_t root[HASH_TREE_MOST_DIGEST_BYTES], expected_root[HASH_TREE_MOST_DIGEST_BYTES];

	memset(data, 0, bytes);
	fill(file, offset, data, bytes);
	ck_assert_int_eq(dm_verity_tree_init(&tree, &form, bytes), 0);
	const size_t tree_bytes = (size_t)hash_tree_bytes(&tree.tree);

	ck_assert_int_eq(ftruncate(hashes, (off_t)(tree_offset + tree_bytes)), 0);
	struct leaf_hashes leaves = leaf_hashes_create(&tree.tree, hashes, tree_offset);

	if (round % 4) {
		note_some(&leaves, data, bytes);
		damage_known(&leaves, file, offset);
	}
	tree.data = (struct file_part){ file, offset, "data" };
	tree.hashes = (struct file_part){ hashes, tree_offset, "hashes" };
	tree.has_holes = below(2);
	tree.leaves = &leaves;
	ck_assert_int_eq(pool_create(round % 5, &pool), 0);
	ck_assert_int_eq(dm_verity_tree_write(&tree, pool, NULL, root, &problem), 0);

	SCOPE_FREE uint8_t *expected = malloc(hash_tree_memory_bytes(&tree.tree)), *found = malloc(tree_bytes + 1);

	hash_tree_hash_data(&tree.tree, data, bytes, expected + hash_tree_leaf(&tree.tree, 0));
	hash_tree_finish(&tree.tree, expected, expected_root);
	ck_assert_int_eq(whole_read(hashes, found, tree_bytes, tree_offset), 0);
	ck_assert_mem_eq(found, expected, tree_bytes);
	ck_assert_mem_eq(root, expected_root, form.hash->digest_size);
	ck_assert_int_eq(lseek(hashes, 0, SEEK_END), (off_t)(tree_offset + tree_bytes));
	pool_destroy(pool);
	leaf_hashes_free(&leaves);
}

START_TEST(trees)
{
	SCOPE_FREE uint8_t *data = malloc(MOST_DATA_BYTES + 4096 * 3000);

	for (unsigned int round = 0; round < (is_soak() ? 20 * ROUNDS : ROUNDS); round++)
		try_one(round, data);
}
END_TEST

/* A file that ends before its data, and hashes that cannot be written. */
START_TEST(failures)
{
	const struct hash_tree_form form = { .hash = &nettle_sha256, .data_block_bits = 12, .hash_block_bits = 12 };
	SCOPE_CLOSE int file = memory_file(), hashes = memory_file(),
			read_only = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct dm_verity_tree tree = { 0 };
	struct problem problem = { 0 };
	struct pool *pool;
	uint8_t root[HASH_TREE_MOST_DIGEST_BYTES];

	ck_assert_int_eq(pool_create(2, &pool), 0);
	ck_assert_int_eq(dm_verity_tree_init(&tree, &form, 1 << 20), 0);
	ck_assert_int_eq(ftruncate(file, (1 << 20) - 1), 0);
	tree.data = (struct file_part){ file, 0, "data" };
	tree.hashes = (struct file_part){ hashes, 0, "hashes" };
	ck_assert_int_eq(dm_verity_tree_write(&tree, pool, NULL, root, &problem), ENODATA);
	ck_assert_str_eq(problem.path, "data");
	problem_clear(&problem);
	ck_assert_int_eq(ftruncate(file, 1 << 20), 0);
	tree.hashes.descriptor = read_only;
	ck_assert_int_eq(dm_verity_tree_write(&tree, pool, NULL, root, &problem), EBADF);
	ck_assert_str_eq(problem.path, "hashes");
	problem_clear(&problem);
	pool_destroy(pool);
}
END_TEST

/* The bytes of veritysetup 2.6.1 format --data-block-size=1024 --salt=0102ff --uuid=... for a file of 300 KiB. */
START_TEST(superblock)
{
	const struct dm_verity_value value = {
		.algorithm = "sha256",
		.uuid = { 0xb0, 0x66, 0x31, 0xaf, 0x91, 0x78, 0x55, 0xfd, 0xa0, 0xa7, 0xf3, 0x4b, 0xd0, 0x2e, 0x7e,
		          0x5e },
		.data_block_bytes = 1024,
		.hash_block_bytes = 4096,
		.data_blocks = 300,
		.salt_bytes = 3,
		.salt = { 1, 2, 0xff },
	};
	static const uint8_t expected[DM_VERITY_SUPERBLOCK_BYTES] =
		"verity\0\0\1\0\0\0\1\0\0\0\xb0\x66\x31\xaf\x91\x78\x55\xfd\xa0\xa7\xf3\x4b\xd0\x2e\x7e\x5e"
		"sha256\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
		"\0\4\0\0\0\x10\0\0\x2c\1\0\0\0\0\0\0\3\0\0\0\0\0\0\0\1\2\xff";
	uint8_t bytes[DM_VERITY_SUPERBLOCK_BYTES];

	dm_verity_encode(&value, bytes);
	ck_assert_mem_eq(bytes, expected, sizeof(bytes));
	ck_assert_uint_eq(dm_verity_tree_offset(0, 4096), 4096);
	ck_assert_uint_eq(dm_verity_tree_offset(4096, 512), 4608);
	ck_assert_uint_eq(dm_verity_tree_offset(5120, 4096), 8192);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("dm_verity");
	TCase *test_case = tcase_create("all");

	seeds = random_start("dm_verity");
	tcase_add_test(test_case, trees);
	tcase_add_test(test_case, failures);
	tcase_add_test(test_case, superblock);
	suite_add_tcase(suite, test_case);
	return run_suite(suite);
}
