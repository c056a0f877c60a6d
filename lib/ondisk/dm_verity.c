/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ondisk/dm_verity.h"

#include <endian.h>
#include <string.h>

/* Numbers are little-endian. */
struct superblock {
	uint8_t magic[8];
	uint32_t version;
	uint32_t hash_type; /* 1: the salt is hashed before the data; 0, of ChromeOS, after it */
	uint8_t uuid[DM_VERITY_UUID_BYTES];
	char algorithm[DM_VERITY_ALGORITHM_BYTES];
	uint32_t data_block_bytes, hash_block_bytes;
	uint64_t data_blocks;
	uint16_t salt_bytes;
	uint8_t unused[6];
	uint8_t salt[DM_VERITY_MOST_SALT_BYTES];
	uint8_t unused_end[168];
};

_Static_assert(sizeof(struct superblock) == DM_VERITY_SUPERBLOCK_BYTES, "as on disk");

void dm_verity_encode(const struct dm_verity_value *value, uint8_t bytes[DM_VERITY_SUPERBLOCK_BYTES])
{
	struct superblock super = {
		.magic = "verity\0",
		.version = htole32(1),
		.hash_type = htole32(1),
		.data_block_bytes = htole32(value->data_block_bytes),
		.hash_block_bytes = htole32(value->hash_block_bytes),
		.data_blocks = htole64(value->data_blocks),
		.salt_bytes = htole16((uint16_t)value->salt_bytes),
	};

	memcpy(super.uuid, value->uuid, sizeof(super.uuid));
	memcpy(super.algorithm, value->algorithm, strlen(value->algorithm));
	memcpy(super.salt, value->salt, value->salt_bytes);
	memcpy(bytes, &super, sizeof(super));
}
