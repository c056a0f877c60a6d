/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * fs-verity in ext4: what protects a file is stored after its data, in blocks of the file beyond its size. From the
 * next multiple of 64 KiB on there is the hash tree (ondisk/hash_tree.h), from the next block of the filesystem on the
 * descriptor with its signature, and the last four bytes of the last block are the size of these two. The kernel finds
 * them from the end of the last extent, so the file has extents, and none of its blocks comes after that. Pure.
 */
#pragma once

#include "ondisk/hash_tree.h"

/* The algorithms' numbers on disk. */
#define VERITY_SHA256 1
#define VERITY_SHA512 2
#define VERITY_DESCRIPTOR_BYTES 256u
#define VERITY_MOST_SALT_BYTES 32u
/* Linux reads descriptors of at most 16 KiB. */
#define VERITY_MOST_SIGNATURE_BYTES (16384u - VERITY_DESCRIPTOR_BYTES)
#define VERITY_LEAST_BLOCK_BITS 10
#define VERITY_MOST_BLOCK_BITS 16
/* Linux's FS_VERITY_MAX_LEVELS. */
#define VERITY_MOST_LEVELS 8

/* A descriptor, without its signature. */
struct verity_value {
	uint8_t algorithm; /* VERITY_SHA256, VERITY_SHA512 */
	uint8_t block_bits;
	uint8_t salt_bytes;
	uint8_t salt[VERITY_MOST_SALT_BYTES];
	uint32_t signature_bytes;
	uint64_t data_bytes;
	uint8_t root[HASH_TREE_MOST_DIGEST_BYTES]; /* zeros after the digest's own bytes */
};

void verity_encode(const struct verity_value *value, uint8_t descriptor[VERITY_DESCRIPTOR_BYTES]);

/*
 * Reads untrusted bytes, at least VERITY_DESCRIPTOR_BYTES: every member is one that Linux accepts. False: there is none
 * that it would.
 */
bool verity_decode(const uint8_t *descriptor, size_t count, struct verity_value *value);

/* The bytes of a digest of this algorithm; 0: there is none. */
static inline unsigned int verity_digest_bytes(uint8_t algorithm)
{
	return algorithm == VERITY_SHA256 ? 32 : algorithm == VERITY_SHA512 ? 64 : 0;
}

/* The file's digest, which fsverity(1) prints and signatures sign. hash: that of the value's algorithm. */
void verity_digest(const struct verity_value *value, const struct nettle_hash *hash, uint8_t *digest);

/* Where what protects a file is, in blocks of the filesystem from the file's beginning. */
struct verity_place {
	uint64_t first_block; /* the tree's, or without a tree the descriptor's */
	uint64_t tree_blocks; /* rounded up */
	uint64_t blocks;      /* from first_block to the end of the file's last extent */
};

/* tree_bytes: hash_tree_bytes(); descriptor_bytes: with the signature. False: beyond what 64 bits can count. */
bool verity_place(unsigned int block_bits, uint64_t data_bytes, uint64_t tree_bytes, uint32_t descriptor_bytes,
                  struct verity_place *place);
