/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ondisk/dm_verity.h"

#include <endian.h>
#include <stddef.h>
#include <string.h>

/* veritysetup's limits. */
#define LEAST_BLOCK_BYTES 512u
#define MOST_BLOCK_BYTES 65536u

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

bool dm_verity_is_there(const uint8_t bytes[DM_VERITY_SUPERBLOCK_BYTES])
{
	return !memcmp(bytes, "verity\0", sizeof(((struct superblock *)0)->magic));
}

static bool is_block_size(uint32_t bytes)
{
	return bytes >= LEAST_BLOCK_BYTES && bytes <= MOST_BLOCK_BYTES && !(bytes & (bytes - 1));
}

bool dm_verity_decode(const uint8_t bytes[DM_VERITY_SUPERBLOCK_BYTES], struct dm_verity_value *value)
{
	static const char *const algorithms[] = { "sha256", "sha512" };
	struct superblock super;

	memcpy(&super, bytes, sizeof(super));
	*value = (struct dm_verity_value){
		.data_block_bytes = le32toh(super.data_block_bytes),
		.hash_block_bytes = le32toh(super.hash_block_bytes),
		.data_blocks = le64toh(super.data_blocks),
		.salt_bytes = le16toh(super.salt_bytes),
	};
	for (size_t i = 0; i < sizeof(algorithms) / sizeof(*algorithms); i++)
		if (!strncmp(super.algorithm, algorithms[i], sizeof(super.algorithm)))
			value->algorithm = algorithms[i];
	memcpy(value->uuid, super.uuid, sizeof(value->uuid));
	memcpy(value->salt, super.salt, sizeof(value->salt));
	return dm_verity_is_there(bytes) && le32toh(super.version) == 1 && le32toh(super.hash_type) == 1 &&
	       value->algorithm && value->salt_bytes <= DM_VERITY_MOST_SALT_BYTES &&
	       is_block_size(value->data_block_bytes) && is_block_size(value->hash_block_bytes);
}
