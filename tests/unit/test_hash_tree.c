/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Merkle trees and what fs-verity stores, against a model that goes from the root down, and known digests. */
#include <errno.h>
#include <nettle/sha2.h>
#include <string.h>

#include "ondisk/verity.h"
#include "seeded_random.h"
#include "unit.h"

/* SHA-512's block; a salt of fs-verity is padded to it. */
#define MOST_SALT_BYTES 128

static struct random seeds;

static uint64_t below(uint64_t limit)
{
	return random_below(&seeds, limit);
}

static void random_bytes(uint8_t *bytes, size_t count)
{
	for (size_t byte = 0; byte < count; byte++)
		bytes[byte] = (uint8_t)below(256);
}

static void model_hash(const struct hash_tree_form *form, const uint8_t *bytes, size_t count, size_t block_bytes,
                       uint8_t *digest)
{
	union {
		struct sha256_ctx sha256;
		struct sha512_ctx sha512;
	} state;
	uint8_t salt[2 * MOST_SALT_BYTES] = { 0 };
	size_t salt_bytes = form->salt_bytes, unit = form->hash->block_size;
	uint8_t *block = calloc(1, block_bytes);

	if (salt_bytes)
		memcpy(salt, form->salt, salt_bytes);
	if (form->pads_salt)
		salt_bytes = (salt_bytes + unit - 1) / unit * unit;
	if (count)
		memcpy(block, bytes, count);
	form->hash->init(&state);
	form->hash->update(&state, salt_bytes, salt);
	form->hash->update(&state, block_bytes, block);
	form->hash->digest(&state, form->hash->digest_size, digest);
	free(block);
}

/* Writes level by level into memory of its own, the lowest first, and then compares in the order of the disk. */
static void check_tree(const struct hash_tree_form *form, const uint8_t *data, uint64_t data_bytes, const uint8_t *tree,
                       uint64_t tree_bytes, const uint8_t *root)
{
	const size_t data_block = (size_t)1 << form->data_block_bits, hash_block = (size_t)1 << form->hash_block_bits;
	const size_t digest_bytes = form->hash->digest_size;
	uint64_t count = (data_bytes + data_block - 1) / data_block, end = tree_bytes;
	uint8_t *lower = malloc((count + 1) * digest_bytes);

	for (uint64_t n = 0; n < count; n++)
		model_hash(form, data + n * data_block,
		           data_bytes - n * data_block < data_block ? (size_t)(data_bytes - n * data_block) :
		                                                      data_block,
		           data_block, lower + n * digest_bytes);
	while (count > 1) {
		uint64_t each = hash_block / digest_bytes, blocks = (count + each - 1) / each;
		uint8_t *level = calloc(blocks, hash_block), *above = malloc(blocks * digest_bytes);

		memcpy(level, lower, count * digest_bytes);
		ck_assert_uint_ge(end, blocks * hash_block);
		end -= blocks * hash_block;
		ck_assert_mem_eq(tree + end, level, blocks * hash_block);
		for (uint64_t n = 0; n < blocks; n++)
			model_hash(form, level + n * hash_block, hash_block, hash_block, above + n * digest_bytes);
		free(level);
		free(lower);
		lower = above;
		count = blocks;
	}
	ck_assert_uint_eq(end, 0);
	if (data_bytes)
		ck_assert_mem_eq(root, lower, digest_bytes);
	free(lower);
}

/* The parts in any order, each by hash_tree_hash_data() or as zeros. */
static void fill(const struct hash_tree *tree, const uint8_t *data, uint64_t data_bytes, uint8_t *memory)
{
	uint64_t block_bytes = UINT64_C(1) << tree->data_block_bits, each = 1 + below(9);

	for (uint64_t first = (tree->data_blocks + each - 1) / each * each; first > 0;) {
		first -= each;
		uint64_t start = first * block_bytes, most = each * block_bytes;
		uint64_t count = data_bytes - start < most ? data_bytes - start : most;
		bool is_zero = true;

		for (uint64_t byte = 0; byte < count; byte++)
			is_zero &= !data[start + byte];
		if (is_zero && below(2))
			hash_tree_add_zeros(tree, (count + block_bytes - 1) / block_bytes,
			                    memory + hash_tree_leaf(tree, first));
		else
			hash_tree_hash_data(tree, data + start, (size_t)count, memory + hash_tree_leaf(tree, first));
	}
}

static void check_size(const struct hash_tree_form *form, uint64_t data_bytes)
{
	uint8_t *data = calloc(1, data_bytes + 1), root[HASH_TREE_MOST_DIGEST_BYTES],
		again[HASH_TREE_MOST_DIGEST_BYTES];
	struct hash_tree tree;

	/* Some pages of zeros, and some that are alike. */
	for (uint64_t byte = 0; byte < data_bytes; byte++)
		data[byte] = byte / 5000 % 3 == 0 ? 0 : byte / 5000 % 3 == 1 ? 7 : (uint8_t)below(256);
	ck_assert_int_eq(hash_tree_init(&tree, form, data_bytes), 0);
	uint8_t *memory = malloc(hash_tree_memory_bytes(&tree));

	memset(memory, 0xa5, hash_tree_memory_bytes(&tree));
	fill(&tree, data, data_bytes, memory);
	hash_tree_finish(&tree, memory, root);
	check_tree(form, data, data_bytes, memory, hash_tree_bytes(&tree), root);

	/* As threads would share it out. */
	for (unsigned int level = 0; level < tree.level_count; level++) {
		uint64_t half = tree.levels[level].blocks / 2;

		hash_tree_end_level(&tree, level, memory);
		hash_tree_hash_blocks(&tree, level, half, tree.levels[level].blocks - half, memory, again);
		hash_tree_hash_blocks(&tree, level, 0, half, memory, again);
	}
	unsigned int levels;

	ck_assert_uint_eq(hash_tree_measure(form, data_bytes, &levels), tree.blocks);
	ck_assert_uint_eq(levels, tree.level_count);
	if (tree.level_count)
		ck_assert_mem_eq(again, root, form->hash->digest_size);
	check_tree(form, data, data_bytes, memory, hash_tree_bytes(&tree), root);
	free(memory);
	free(data);
}

START_TEST(equals_model)
{
	static const uint64_t sizes[] = { 0, 1, 1023, 1024, 1025, 4096, 4097, 32768, 32769, 131072, 524289, 1100000 };
	static const struct nettle_hash *const hashes[] = { &nettle_sha256, &nettle_sha512 };
	uint8_t salt[32];

	random_bytes(salt, sizeof(salt));
	for (unsigned int bits = 9; bits <= 13; bits += 1)
		for (unsigned int hash = 0; hash < 2; hash++)
			for (size_t n = 0; n < sizeof(sizes) / sizeof(*sizes); n++) {
				const struct hash_tree_form form = {
					.hash = hashes[hash],
					.data_block_bits = bits,
					.hash_block_bits = n % 2 ? bits : 12,
					.salt = salt,
					.salt_bytes = below(2) ? below(sizeof(salt) + 1) : 0,
					.pads_salt = below(2),
				};

				check_size(&form, sizes[n]);
			}
}
END_TEST

START_TEST(refuses_sizes)
{
	struct hash_tree_form form = { .hash = &nettle_sha256, .data_block_bits = 8, .hash_block_bits = 12 };
	struct hash_tree tree;

	ck_assert_int_eq(hash_tree_init(&tree, &form, 1), EINVAL);
	form.data_block_bits = 12;
	form.hash_block_bits = 21;
	ck_assert_int_eq(hash_tree_init(&tree, &form, 1), EINVAL);
	/* The largest that 64 bits can say. */
	form.hash_block_bits = 12;
	ck_assert_int_eq(hash_tree_init(&tree, &form, UINT64_MAX), 0);
	ck_assert_uint_eq(tree.data_blocks, UINT64_C(1) << 52);
	ck_assert_uint_eq(tree.level_count, 8);
}
END_TEST

static void digest_text(const char *bytes, size_t count, uint8_t algorithm, char text[129])
{
	const struct nettle_hash *hash = algorithm == VERITY_SHA256 ? &nettle_sha256 : &nettle_sha512;
	const struct hash_tree_form form = { hash, 12, 12, "", 0, true };
	struct verity_value value = { .algorithm = algorithm, .block_bits = 12, .data_bytes = count };
	uint8_t memory[HASH_TREE_MOST_DIGEST_BYTES], digest[HASH_TREE_MOST_DIGEST_BYTES];
	struct hash_tree tree;

	ck_assert_int_eq(hash_tree_init(&tree, &form, count), 0);
	ck_assert_uint_eq(hash_tree_memory_bytes(&tree), sizeof(memory));
	hash_tree_hash_data(&tree, bytes, count, memory);
	hash_tree_finish(&tree, memory, value.root);
	/* A signature changes nothing. */
	value.signature_bytes = 77;
	verity_digest(&value, hash, digest);
	for (unsigned int byte = 0; byte < hash->digest_size; byte++)
		sprintf(text + 2 * byte, "%02x", digest[byte]);
}

START_TEST(known_digests)
{
	char text[129];

	/* As fsverity digest prints them: of an empty file, and of "hello\n". */
	digest_text("", 0, VERITY_SHA256, text);
	ck_assert_str_eq(text, "3d248ca542a24fc62d1c43b916eae5016878e2533c88238480b26128a1f1af95");
	digest_text("hello\n", 6, VERITY_SHA256, text);
	ck_assert_str_eq(text, "9c76eecc7b76fcb46199cb27b90cf59a660e10575bb0412128905129d5b1c2aa");
	digest_text("hello\n", 6, VERITY_SHA512, text);
	ck_assert_str_eq(text, "21fe275216d7dafb8afa8f8257ae96215b74c1dad980238e6fdbbd0c41a44adb"
	                       "8d3e1f95c7e3dad3e25037369d1c87dd107ceb7eb9c9c868eb2b18b57ddd4125");
}
END_TEST

START_TEST(descriptor)
{
	struct verity_value value = { .algorithm = VERITY_SHA512,
		                      .block_bits = 10,
		                      .salt_bytes = 5,
		                      .salt = "salty",
		                      .signature_bytes = 9,
		                      .data_bytes = UINT64_C(0x123456789a) };
	struct verity_value read;
	uint8_t bytes[VERITY_DESCRIPTOR_BYTES + 9] = { 0 };

	random_bytes(value.root, sizeof(value.root));
	verity_encode(&value, bytes);
	ck_assert(verity_decode(bytes, sizeof(bytes), &read));
	ck_assert_mem_eq(&read, &value, sizeof(value));
	ck_assert(!verity_decode(bytes, sizeof(bytes) - 1, &read));
	ck_assert(!verity_decode(bytes, 255, &read));
	/* version, algorithm, block size, salt, signature, reserved */
	static const size_t wrong[] = { 0, 1, 2, 3, 7, 112 };

	for (size_t n = 0; n < sizeof(wrong) / sizeof(*wrong); n++) {
		uint8_t old = bytes[wrong[n]];

		bytes[wrong[n]] = 99;
		ck_assert(!verity_decode(bytes, sizeof(bytes), &read));
		bytes[wrong[n]] = old;
	}
}
END_TEST

START_TEST(places)
{
	struct verity_place place;

	/* An empty file has its descriptor in its first block. */
	ck_assert(verity_place(12, 0, 0, 256, &place));
	ck_assert_uint_eq(place.first_block, 0);
	ck_assert_uint_eq(place.tree_blocks, 0);
	ck_assert_uint_eq(place.blocks, 1);
	ck_assert(verity_place(12, 1, 0, 256, &place));
	ck_assert_uint_eq(place.first_block, 16);
	ck_assert(verity_place(12, 65536, 4096, 256, &place));
	ck_assert_uint_eq(place.first_block, 16);
	ck_assert_uint_eq(place.tree_blocks, 1);
	ck_assert_uint_eq(place.blocks, 2);
	/* The size of the descriptor does not fit its block any more. */
	ck_assert(verity_place(10, 65537, 3 * 1024, 1021, &place));
	ck_assert_uint_eq(place.first_block, 128);
	ck_assert_uint_eq(place.blocks, 5);
	ck_assert(!verity_place(10, UINT64_MAX, 0, 256, &place));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("hash_tree");
	TCase *cases = tcase_create("all");

	seeds = random_start("hash_tree");
	tcase_set_timeout(cases, 60);
	tcase_add_test(cases, equals_model);
	tcase_add_test(cases, refuses_sizes);
	tcase_add_test(cases, known_digests);
	tcase_add_test(cases, descriptor);
	tcase_add_test(cases, places);
	suite_add_tcase(suite, cases);
	return run_suite(suite);
}
