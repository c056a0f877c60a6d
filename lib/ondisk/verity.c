/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ondisk/verity.h"

#include <endian.h>
#include <string.h>

#define METADATA_ALIGNMENT_BITS 16
#define VERSION 1

/* struct fsverity_descriptor, as the kernel's documentation of fs-verity has it. */
struct stored {
	uint8_t version, algorithm, block_bits, salt_bytes;
	uint32_t signature_bytes;
	uint64_t data_bytes;
	uint8_t root[HASH_TREE_MOST_DIGEST_BYTES];
	uint8_t salt[VERITY_MOST_SALT_BYTES];
	uint8_t reserved[144];
};

_Static_assert(sizeof(struct stored) == VERITY_DESCRIPTOR_BYTES, "a descriptor has 256 bytes");

void verity_encode(const struct verity_value *value, uint8_t descriptor[VERITY_DESCRIPTOR_BYTES])
{
	struct stored stored = {
		.version = VERSION,
		.algorithm = value->algorithm,
		.block_bits = value->block_bits,
		.salt_bytes = value->salt_bytes,
		.signature_bytes = htole32(value->signature_bytes),
		.data_bytes = htole64(value->data_bytes),
	};

	memcpy(stored.root, value->root, sizeof(stored.root));
	memcpy(stored.salt, value->salt, value->salt_bytes);
	memcpy(descriptor, &stored, sizeof(stored));
}

static bool are_zeros(const uint8_t *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (bytes[i])
			return false;
	return true;
}

bool verity_decode(const uint8_t *descriptor, size_t count, struct verity_value *value)
{
	struct stored stored;

	if (count < sizeof(stored))
		return false;
	memcpy(&stored, descriptor, sizeof(stored));
	unsigned int digest_bytes = verity_digest_bytes(stored.algorithm);

	if (stored.version != VERSION || !digest_bytes || stored.block_bits < VERITY_LEAST_BLOCK_BITS ||
	    stored.block_bits > VERITY_MOST_BLOCK_BITS || stored.salt_bytes > sizeof(stored.salt) ||
	    le32toh(stored.signature_bytes) > count - sizeof(stored) ||
	    !are_zeros(stored.reserved, sizeof(stored.reserved)))
		return false;
	*value = (struct verity_value){
		.algorithm = stored.algorithm,
		.block_bits = stored.block_bits,
		.salt_bytes = stored.salt_bytes,
		.signature_bytes = le32toh(stored.signature_bytes),
		.data_bytes = le64toh(stored.data_bytes),
	};
	memcpy(value->root, stored.root, digest_bytes);
	memcpy(value->salt, stored.salt, stored.salt_bytes);
	return true;
}

void verity_digest(const struct verity_value *value, const struct nettle_hash *hash, uint8_t *digest)
{
	alignas(16) uint8_t state[HASH_TREE_STATE_BYTES];
	uint8_t descriptor[VERITY_DESCRIPTOR_BYTES];
	struct verity_value unsigned_value = *value;

	/* The signature signs the digest, so the digest does not depend on it. */
	unsigned_value.signature_bytes = 0;
	verity_encode(&unsigned_value, descriptor);
	hash->init(state);
	hash->update(state, sizeof(descriptor), descriptor);
	hash->digest(state, hash->digest_size, digest);
}

static uint64_t blocks_of(uint64_t bytes, unsigned int block_bits)
{
	return (bytes >> block_bits) + !!(bytes & ((UINT64_C(1) << block_bits) - 1));
}

bool verity_place(unsigned int block_bits, uint64_t data_bytes, uint64_t tree_bytes, uint32_t descriptor_bytes,
                  struct verity_place *place)
{
	const uint64_t most = UINT64_C(1) << 62;

	if (data_bytes > most || tree_bytes > most)
		return false;
	place->first_block = blocks_of(data_bytes, METADATA_ALIGNMENT_BITS) << METADATA_ALIGNMENT_BITS >> block_bits;
	place->tree_blocks = blocks_of(tree_bytes, block_bits);
	place->blocks = place->tree_blocks + blocks_of((uint64_t)descriptor_bytes + sizeof(uint32_t), block_bits);
	return true;
}
