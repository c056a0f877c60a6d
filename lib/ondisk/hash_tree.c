/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ondisk/hash_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool is_possible(const struct hash_tree_form *form)
{
	return form->hash->context_size <= HASH_TREE_STATE_BYTES &&
	       form->hash->digest_size <= HASH_TREE_MOST_DIGEST_BYTES &&
	       form->data_block_bits >= HASH_TREE_LEAST_BLOCK_BITS &&
	       form->data_block_bits <= HASH_TREE_MOST_BLOCK_BITS &&
	       form->hash_block_bits >= HASH_TREE_LEAST_BLOCK_BITS &&
	       form->hash_block_bits <= HASH_TREE_MOST_BLOCK_BITS;
}

static void take_salt(struct hash_tree *tree, const struct hash_tree_form *form)
{
	static const uint8_t zeros[128];
	size_t over = form->salt_bytes % form->hash->block_size;

	form->hash->init(tree->salted);
	if (form->salt_bytes)
		form->hash->update(tree->salted, form->salt_bytes, form->salt);
	for (size_t left = form->pads_salt && over ? form->hash->block_size - over : 0, count; left; left -= count) {
		count = left < sizeof(zeros) ? left : sizeof(zeros);
		form->hash->update(tree->salted, count, zeros);
	}
}

/* Hashes one block, of which `count` bytes are given and the rest are zeros. */
static void hash_block(const struct hash_tree *tree, const void *bytes, size_t count, size_t block_bytes,
                       uint8_t *digest)
{
	static const uint8_t zeros[512];
	alignas(16) uint8_t state[HASH_TREE_STATE_BYTES];

	memcpy(state, tree->salted, tree->hash->context_size);
	if (count)
		tree->hash->update(state, count, bytes);
	for (size_t left = block_bytes - count, piece; left; left -= piece) {
		piece = left < sizeof(zeros) ? left : sizeof(zeros);
		tree->hash->update(state, piece, zeros);
	}
	tree->hash->digest(state, tree->hash->digest_size, digest);
}

static uint64_t round_up_shift(uint64_t count, unsigned int bits)
{
	return (count >> bits) + !!(count & ((UINT64_C(1) << bits) - 1));
}

static unsigned int slot_bits_of(const struct nettle_hash *hash)
{
	unsigned int bits = 0;

	while (1u << bits < hash->digest_size)
		bits++;
	return bits;
}

uint64_t hash_tree_measure(const struct hash_tree_form *form, uint64_t data_bytes, unsigned int *level_count)
{
	unsigned int bits = form->hash_block_bits - slot_bits_of(form->hash);
	uint64_t blocks = 0;

	*level_count = 0;
	for (uint64_t below = round_up_shift(data_bytes, form->data_block_bits); below > 1; ++*level_count) {
		below = round_up_shift(below, bits);
		blocks += below;
	}
	return blocks;
}

void hash_tree_resize(struct hash_tree *tree, uint64_t data_bytes)
{
	unsigned int bits = tree->hash_block_bits - tree->slot_bits;
	uint64_t first = 0;

	tree->data_blocks = round_up_shift(data_bytes, tree->data_block_bits);
	tree->level_count = 0;
	for (uint64_t below = tree->data_blocks; below > 1;) {
		below = round_up_shift(below, bits);
		tree->levels[tree->level_count++].blocks = below;
	}
	for (unsigned int level = tree->level_count; level-- > 0;) {
		tree->levels[level].first_block = first;
		first += tree->levels[level].blocks;
	}
	tree->blocks = first;
}

errcode_t hash_tree_init(struct hash_tree *tree, const struct hash_tree_form *form, uint64_t data_bytes)
{
	size_t block_bytes = (size_t)1 << form->data_block_bits;

	if (!is_possible(form))
		return EINVAL;
	*tree = (struct hash_tree){
		.hash = form->hash,
		.data_block_bits = form->data_block_bits,
		.hash_block_bits = form->hash_block_bits,
		.slot_bits = slot_bits_of(form->hash),
	};
	take_salt(tree, form);
	hash_block(tree, NULL, 0, block_bytes, tree->zero_digest);
	hash_tree_resize(tree, data_bytes);
	return 0;
}

static bool are_zeros(const uint8_t *bytes, size_t count)
{
	return count > 15 && !bytes[0] && !memcmp(bytes, bytes + 1, count - 1);
}

static void put(const struct hash_tree *tree, const uint8_t *digest, uint8_t *slot)
{
	memcpy(slot, digest, tree->hash->digest_size);
	memset(slot + tree->hash->digest_size, 0, ((size_t)1 << tree->slot_bits) - tree->hash->digest_size);
}

void hash_tree_hash_data(const struct hash_tree *tree, const void *data, size_t count, void *leaves)
{
	const size_t block_bytes = (size_t)1 << tree->data_block_bits;
	const uint8_t *bytes = data;
	uint8_t *slot = leaves, digest[HASH_TREE_MOST_DIGEST_BYTES];

	for (size_t piece; count; count -= piece) {
		piece = count < block_bytes ? count : block_bytes;
		if (are_zeros(bytes, piece)) {
			put(tree, tree->zero_digest, slot);
		} else {
			hash_block(tree, bytes, piece, block_bytes, digest);
			put(tree, digest, slot);
		}
		bytes += piece;
		slot += (size_t)1 << tree->slot_bits;
	}
}

void hash_tree_add_zeros(const struct hash_tree *tree, uint64_t data_blocks, void *leaves)
{
	uint8_t *slot = leaves;

	for (; data_blocks; data_blocks--, slot += (size_t)1 << tree->slot_bits)
		put(tree, tree->zero_digest, slot);
}

/* How many hashes a level has. */
static uint64_t hashes_of(const struct hash_tree *tree, unsigned int level)
{
	return level ? tree->levels[level - 1].blocks : tree->data_blocks;
}

void hash_tree_end_level(const struct hash_tree *tree, unsigned int level, void *memory)
{
	uint64_t start = tree->levels[level].first_block << tree->hash_block_bits;
	uint64_t used = hashes_of(tree, level) << tree->slot_bits;

	memset((uint8_t *)memory + start + used, 0, (tree->levels[level].blocks << tree->hash_block_bits) - used);
}

void hash_tree_hash_blocks(const struct hash_tree *tree, unsigned int level, uint64_t first, uint64_t count,
                           void *memory, uint8_t *root)
{
	const size_t block_bytes = (size_t)1 << tree->hash_block_bits;
	const uint8_t *block = (uint8_t *)memory + ((tree->levels[level].first_block + first) << tree->hash_block_bits);
	uint8_t digest[HASH_TREE_MOST_DIGEST_BYTES];

	for (uint64_t done = 0; done < count; done++, block += block_bytes) {
		if (!done || memcmp(block, block - block_bytes, block_bytes))
			hash_block(tree, block, block_bytes, block_bytes, digest);
		if (level + 1 == tree->level_count)
			memcpy(root, digest, tree->hash->digest_size);
		else
			put(tree, digest,
			    (uint8_t *)memory + (tree->levels[level + 1].first_block << tree->hash_block_bits) +
			            ((first + done) << tree->slot_bits));
	}
}

void hash_tree_finish(const struct hash_tree *tree, void *memory, uint8_t *root)
{
	if (!tree->data_blocks)
		memset(root, 0, tree->hash->digest_size);
	else if (!tree->level_count)
		memcpy(root, memory, tree->hash->digest_size);
	for (unsigned int level = 0; level < tree->level_count; level++) {
		hash_tree_end_level(tree, level, memory);
		hash_tree_hash_blocks(tree, level, 0, tree->levels[level].blocks, memory, root);
	}
}
