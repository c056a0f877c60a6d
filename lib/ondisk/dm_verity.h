/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What dm-verity has on disk, as veritysetup(8) writes it: a superblock of 512 bytes, and from the next hash block on
 * the hash tree (ondisk/hash_tree.h). The kernel itself does not read the superblock. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define DM_VERITY_SUPERBLOCK_BYTES 512u
#define DM_VERITY_MOST_SALT_BYTES 256u
#define DM_VERITY_UUID_BYTES 16u
#define DM_VERITY_ALGORITHM_BYTES 32u

struct dm_verity_value {
	const char *algorithm; /* the kernel's name of the hash: "sha256" */
	uint8_t uuid[DM_VERITY_UUID_BYTES];
	uint32_t data_block_bytes, hash_block_bytes;
	uint64_t data_blocks;
	uint32_t salt_bytes;
	uint8_t salt[DM_VERITY_MOST_SALT_BYTES];
};

/* The algorithm has less than DM_VERITY_ALGORITHM_BYTES bytes. */
void dm_verity_encode(const struct dm_verity_value *value, uint8_t bytes[DM_VERITY_SUPERBLOCK_BYTES]);

/* True if these bytes begin as a superblock does. */
bool dm_verity_is_there(const uint8_t bytes[DM_VERITY_SUPERBLOCK_BYTES]);

/*
 * Reads an untrusted superblock. False: it is none of veritysetup's present form, with a hash of sha256 or sha512 and
 * sizes of blocks that it takes. value->algorithm is static.
 */
bool dm_verity_decode(const uint8_t bytes[DM_VERITY_SUPERBLOCK_BYTES], struct dm_verity_value *value);

/* Where the tree begins, in bytes from where the superblock's offset counts from. */
static inline uint64_t dm_verity_tree_offset(uint64_t superblock_offset, uint32_t hash_block_bytes)
{
	uint64_t end = superblock_offset + DM_VERITY_SUPERBLOCK_BYTES;

	return (end + hash_block_bytes - 1) / hash_block_bytes * hash_block_bytes;
}
