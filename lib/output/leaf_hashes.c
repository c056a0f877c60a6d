/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "output/leaf_hashes.h"

#include "support/io/whole_io.h"

/* This many bytes of hashes are made before they are written: the hashes of 2 MiB, with sha256. */
#define LEAVES_BYTES 16384u

struct leaf_hashes leaf_hashes_create(const struct hash_tree *tree, int descriptor, uint64_t tree_offset_bytes)
{
	return (struct leaf_hashes){
		.tree = tree,
		.descriptor = descriptor,
		.tree_offset_bytes = tree_offset_bytes,
		.known = calloc(tree->data_blocks / 64 + 1, sizeof(uint64_t)),
	};
}

void leaf_hashes_free(struct leaf_hashes *leaves)
{
	free((void *)TAKE(leaves->known));
}

static void set_known(struct leaf_hashes *leaves, uint64_t first, uint64_t end)
{
	for (uint64_t block = first; block < end; block++)
		atomic_fetch_or_explicit(&leaves->known[block / 64], UINT64_C(1) << block % 64, memory_order_relaxed);
}

void leaf_hashes_forget(struct leaf_hashes *leaves, size_t count, uint64_t offset_bytes)
{
	const unsigned int bits = leaves->tree->data_block_bits;
	const uint64_t end = (offset_bytes + count + ((size_t)1 << bits) - 1) >> bits;

	for (uint64_t block = offset_bytes >> bits; leaves->known && block < end; block++)
		if (leaf_hashes_has(leaves, block))
			atomic_fetch_and_explicit(&leaves->known[block / 64], ~(UINT64_C(1) << block % 64),
			                          memory_order_relaxed);
}

errcode_t leaf_hashes_take(struct leaf_hashes *leaves, const uint8_t *hashes, uint64_t data_block, uint64_t count)
{
	const struct hash_tree *tree = leaves->tree;
	errcode_t error = leaves->known ? whole_write(leaves->descriptor, hashes, (size_t)count << tree->slot_bits,
	                                              leaves->tree_offset_bytes + hash_tree_leaf(tree, data_block)) :
	                                  0;

	if (!error && leaves->known)
		set_known(leaves, data_block, data_block + count);
	return error;
}

errcode_t leaf_hashes_note(struct leaf_hashes *leaves, const void *bytes, size_t count, uint64_t offset_bytes)
{
	const struct hash_tree *tree = leaves->tree;
	const unsigned int bits = tree->data_block_bits;
	const uint64_t first = (offset_bytes + ((size_t)1 << bits) - 1) >> bits, end = (offset_bytes + count) >> bits;
	const uint64_t most = LEAVES_BYTES >> tree->slot_bits;
	uint8_t hashes[LEAVES_BYTES];

	if (!leaves->known)
		return 0;
	for (uint64_t block = first, blocks; block < end; block += blocks) {
		blocks = end - block < most ? end - block : most;
		hash_tree_hash_data(tree, (const uint8_t *)bytes + ((block << bits) - offset_bytes),
		                    (size_t)blocks << bits, hashes);
		errcode_t error = whole_write(leaves->descriptor, hashes, (size_t)blocks << tree->slot_bits,
		                              leaves->tree_offset_bytes + hash_tree_leaf(tree, block));

		if (error)
			return error;
		set_known(leaves, block, block + blocks);
	}
	return 0;
}
