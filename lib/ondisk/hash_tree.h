/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A Merkle tree, as fs-verity and dm-verity have it: each block of data has a hash, these fill hash blocks, each of
 * which has a hash in the level above it, up to one hash, the root. On disk the level next to the root is the first
 * one, and the level with the hashes of the data is the last. Pure; it calls the hash that it is given, and needs no
 * library itself.
 *
 * Use: hash_tree_init(); memory of hash_tree_memory_bytes(); hash_tree_hash_data() or hash_tree_add_zeros() for each
 * part of the data, in any order and by any thread, into the places that hash_tree_leaf() names; then
 * hash_tree_finish(), or hash_tree_end_level() and hash_tree_hash_blocks() for each level from 0 up, by any number of
 * threads.
 */
#pragma once

#include <nettle/nettle-meta.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>

#include "support/cleanup.h"
#include "support/problem.h"

#define HASH_TREE_MOST_LEVELS 63
#define HASH_TREE_MOST_DIGEST_BYTES 64
/* SHA-512's state has 216 bytes in nettle 3.8. */
#define HASH_TREE_STATE_BYTES 512
#define HASH_TREE_LEAST_BLOCK_BITS 9
#define HASH_TREE_MOST_BLOCK_BITS 20

/* The kind of a tree. */
struct hash_tree_form {
	const struct nettle_hash *hash;
	unsigned int data_block_bits, hash_block_bits; /* log2 of bytes */
	const void *salt;                              /* hashed before each block, of data and of hashes */
	size_t salt_bytes;
	bool pads_salt; /* fs-verity: with zeros, to a multiple of the hash's own block; dm-verity: not */
};

struct hash_tree_level {
	uint64_t first_block; /* from the beginning of the tree */
	uint64_t blocks;
};

/* Nothing of it changes after hash_tree_init() and hash_tree_resize(): all threads can share it. */
struct hash_tree {
	const struct nettle_hash *hash;
	unsigned int data_block_bits, hash_block_bits;
	unsigned int slot_bits; /* a digest takes 2^slot_bits bytes of a hash block */
	uint64_t data_blocks;
	uint64_t blocks;          /* of all levels, in hash blocks; 0: a single data block has the root itself */
	unsigned int level_count; /* above the data */
	struct hash_tree_level levels[HASH_TREE_MOST_LEVELS]; /* [0]: the hashes of the data */
	alignas(16) uint8_t salted[HASH_TREE_STATE_BYTES];    /* the hash's state after the salt */
	uint8_t zero_digest[HASH_TREE_MOST_DIGEST_BYTES];     /* of a data block of zeros */
};

/* Lays out the tree of data_bytes bytes. EINVAL: a hash or a block size that no tree can have. */
MUST_CHECK errcode_t hash_tree_init(struct hash_tree *tree, const struct hash_tree_form *form, uint64_t data_bytes);

/* The same tree of other data: neither salt nor zeros are hashed again. */
void hash_tree_resize(struct hash_tree *tree, uint64_t data_bytes);

/* How many hash blocks a tree of that form has, without its hashes. */
uint64_t hash_tree_measure(const struct hash_tree_form *form, uint64_t data_bytes, unsigned int *level_count);

/* The size of the tree on disk. */
static inline uint64_t hash_tree_bytes(const struct hash_tree *tree)
{
	return tree->blocks << tree->hash_block_bits;
}

/* The size of the memory for it: also a tree without blocks has a root. */
static inline uint64_t hash_tree_memory_bytes(const struct hash_tree *tree)
{
	return tree->blocks ? hash_tree_bytes(tree) : HASH_TREE_MOST_DIGEST_BYTES;
}

/* Returns the offset of a data block's hash in that memory. The hashes of successive blocks follow each other. */
static inline uint64_t hash_tree_leaf(const struct hash_tree *tree, uint64_t data_block)
{
	uint64_t start = tree->level_count ? tree->levels[0].first_block << tree->hash_block_bits : 0;

	return start + (data_block << tree->slot_bits);
}

/*
 * Hashes `count` bytes of data, from the beginning of a data block on, into successive leaves. Zeros are added to a
 * last block that is not whole. Blocks of zeros cost a comparison.
 */
void hash_tree_hash_data(const struct hash_tree *tree, const void *data, size_t count, void *leaves);

/* The leaves of so many data blocks of zeros. */
void hash_tree_add_zeros(const struct hash_tree *tree, uint64_t data_blocks, void *leaves);

/* A level's hashes are all there: fills the rest of its last block with zeros. */
void hash_tree_end_level(const struct hash_tree *tree, unsigned int level, void *memory);

/*
 * Hashes blocks [first, first + count) of a level that has ended into the next level, or into root, of digest_size
 * bytes, if the level has one block. Threads may share out the blocks of a level. A block that equals the one before it
 * is not hashed again.
 */
void hash_tree_hash_blocks(const struct hash_tree *tree, unsigned int level, uint64_t first, uint64_t count,
                           void *memory, uint8_t *root);

/* All levels, one after the other. root gets digest_size bytes: zeros if there are no data. */
void hash_tree_finish(const struct hash_tree *tree, void *memory, uint8_t *root);
