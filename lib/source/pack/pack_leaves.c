/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/pack/pack_leaves.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <nettle/base16.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "source/pack/cache_files.h"
#include "source/pack/pack_format.h"
#include "support/crc32c.h"
#include "support/io/whole_io.h"

#define LEAVES_MAGIC "e2mbleaf"
#define KEY_BYTES 16 /* of the hash of zeros */
#define LEAVES_NAME_BYTES (CACHE_NAME_BYTES + 2 * KEY_BYTES + 32)

/* Little-endian. */
struct pack_leaves_header {
	uint8_t magic[8];
	uint64_t hash_bytes;    /* up to the end of the file */
	uint32_t pack_checksum; /* that of the pack's header */
	uint32_t checksum;      /* of what is hashed for the key, and the hashes */
};

static void leaves_file(const struct pack_header *pack, const struct hash_tree *tree, char name[LEAVES_NAME_BYTES])
{
	char file[CACHE_NAME_BYTES], key[2 * KEY_BYTES + 1];

	cache_pack_file((const char *)pack->name, file);
	base16_encode_update(key, KEY_BYTES, tree->zero_digest);
	key[2 * KEY_BYTES] = '\0';
	snprintf(name, LEAVES_NAME_BYTES, "%s.%s" LEAVES_SUFFIX, file, key);
}

/* That of hashes of another kind or salt is another one, whatever their file is called. */
static uint32_t checksum_of(const struct hash_tree *tree, const uint8_t *hashes, uint64_t bytes)
{
	return crc32c(crc32c(~0u, tree->zero_digest, KEY_BYTES), hashes, bytes);
}

/* Reads what is kept; false: there is nothing, or it is damaged or another pack's. */
static bool load(const struct layer_cache *cache, const char *name, const struct pack_header *pack,
                 const struct hash_tree *tree, uint64_t bytes, uint8_t *hashes)
{
	struct pack_leaves_header header;
	SCOPE_CLOSE int descriptor = cache_file_open(cache, name, O_RDONLY);

	return descriptor >= 0 && !whole_read(descriptor, &header, sizeof(header), 0) &&
	       !memcmp(header.magic, LEAVES_MAGIC, sizeof(header.magic)) && le64toh(header.hash_bytes) == bytes &&
	       header.pack_checksum == pack->checksum && !whole_read(descriptor, hashes, bytes, sizeof(header)) &&
	       le32toh(header.checksum) == checksum_of(tree, hashes, bytes);
}

struct hashing {
	int pack;
	uint64_t contents_bytes;
	const struct hash_tree *tree;
	uint8_t *hashes;
};

static errcode_t hash_slice(void *context, unsigned int worker, size_t index, struct problem *problem)
{
	const struct hashing *hashing = context;
	const uint64_t begin = index * (uint64_t)PACK_SLICE_BYTES, left = hashing->contents_bytes - begin;
	const size_t count = left < PACK_SLICE_BYTES ? (size_t)left : PACK_SLICE_BYTES;
	SCOPE_FREE void *slice = malloc(count);
	errcode_t error = slice ? whole_read(hashing->pack, slice, count, PACK_LEAVES_START_BYTES + begin) : ENOMEM;

	(void)worker;
	(void)problem;
	if (!error)
		hash_tree_hash_data(hashing->tree, slice, count,
		                    hashing->hashes + (begin >> PACK_LEAVES_BLOCK_BITS << hashing->tree->slot_bits));
	return error;
}

static errcode_t write_leaves(const struct layer_cache *cache, int descriptor, const char *making, const char *name,
                              const struct pack_header *pack, const struct hash_tree *tree, const uint8_t *hashes,
                              uint64_t bytes)
{
	const struct pack_leaves_header header = {
		.magic = LEAVES_MAGIC,
		.hash_bytes = htole64(bytes),
		.pack_checksum = pack->checksum,
		.checksum = htole32(checksum_of(tree, hashes, bytes)),
	};
	errcode_t error = ftruncate(descriptor, 0) ? errno : whole_write(descriptor, &header, sizeof(header), 0);

	if (!error)
		error = whole_write(descriptor, hashes, bytes, sizeof(header));
	if (!error && (fsync(descriptor) || renameat(cache->directory, making, cache->directory, name)))
		error = errno;
	return error;
}

/* Keeps them, unless another process does so, or the disk has no room: then the next image's are made anew. */
static void keep(const struct layer_cache *cache, const char *name, const struct pack_header *pack,
                 const struct hash_tree *tree, const uint8_t *hashes, uint64_t bytes)
{
	char making[LEAVES_NAME_BYTES + 8];

	snprintf(making, sizeof(making), "%s" MAKING_SUFFIX, name);
	SCOPE_CLOSE int descriptor = cache_file_lock(cache, making, O_RDWR | O_CREAT, LOCK_EX);

	if (descriptor >= 0 && write_leaves(cache, descriptor, making, name, pack, tree, hashes, bytes))
		(void)!cache_file_remove(cache, making, descriptor);
}

errcode_t pack_leaves_get(const struct layer_cache *cache, int pack, const struct hash_tree *tree, struct pool *pool,
                          struct pack_leaves *leaves, struct problem *problem)
{
	struct pack_header header;
	char name[LEAVES_NAME_BYTES];

	*leaves = (struct pack_leaves){ 0 };
	if (whole_read(pack, &header, sizeof(header), 0) || memcmp(header.magic, PACK_MAGIC, sizeof(header.magic)) ||
	    header.name[sizeof(header.name) - 1])
		return 0;
	const uint64_t contents_bytes = le64toh(header.contents_bytes);
	const uint64_t bytes = contents_bytes >> PACK_LEAVES_BLOCK_BITS << tree->slot_bits;
	struct hashing hashing = { pack, contents_bytes, tree, malloc(bytes + 1) };
	errcode_t error = 0;

	if (!hashing.hashes)
		return ENOMEM;
	leaves_file(&header, tree, name);
	if (!load(cache, name, &header, tree, bytes, hashing.hashes)) {
		error = pool_run(pool, (contents_bytes + PACK_SLICE_BYTES - 1) / PACK_SLICE_BYTES, hash_slice, &hashing,
		                 problem);
		if (!error)
			keep(cache, name, &header, tree, hashing.hashes, bytes);
	}
	*leaves = (struct pack_leaves){ hashing.hashes, contents_bytes >> PACK_LEAVES_BLOCK_BITS };
	if (error)
		pack_leaves_free(leaves);
	return error;
}

void pack_leaves_free(struct pack_leaves *leaves)
{
	free(TAKE(leaves->hashes));
}
