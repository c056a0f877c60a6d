/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Shared by the files about directories, private to this folder; callers use directory.h. */
#pragma once

#include "ondisk/directory.h"

static inline uint32_t directory_source_entry_bytes(const struct directory_source *source, uint8_t name_length_bytes)
{
	return directory_entry_bytes(name_length_bytes) +
	       (source->hashes ? (uint32_t)sizeof(struct directory_hashes) : 0);
}

/* The hashes of an entry, as the directory's index sorts by them: those that it stores, or computed ones. */
MUST_CHECK errcode_t directory_source_hash(const struct ondisk_format *format, const struct directory_source *source,
                                           uint32_t entry, struct directory_hashes *hashes);

/* Writes the hashes of an entry of that name, which begins there. */
void directory_entry_write_hashes(uint8_t *at, uint8_t name_length_bytes, struct directory_hashes hashes);

/* Writes one entry whose record is record_bytes long, a multiple of 4 up to 65536. */
void directory_entry_write(const struct ondisk_format *format, uint8_t *at, uint32_t record_bytes,
                           struct directory_name name, struct directory_target target);

/*
 * Closes a block: the record of its last entry, at last_offset, reaches to the end; a block of zeros gets one unused
 * entry. Writes the checksum's tail.
 */
void directory_block_finish(const struct ondisk_format *format, uint8_t *block, uint32_t last_offset,
                            uint32_t inode_seed);

/* Gives an entry another inode. */
void directory_entry_point(const struct ondisk_format *format, uint8_t *at, struct directory_target target);

/* Gives a record another length, a multiple of 4 up to 65536. */
void directory_record_resize(uint8_t *at, uint32_t record_bytes);

/* An entry's hash in the upper half, its number in the lower: 8 bytes, and compared as one number. */
static inline uint32_t directory_key_hash(uint64_t key)
{
	return key >> 32;
}

static inline uint32_t directory_key_entry(uint64_t key)
{
	return (uint32_t)key;
}

/*
 * Makes source->count keys sorted by hash, then minor hash, then number; the caller frees them. Errors: ENOMEM,
 * EXT2_ET_DIRHASH_UNSUPP (a hash version that needs a key or is not known).
 */
MUST_CHECK errcode_t directory_order(const struct ondisk_format *format, const struct directory_source *source,
                                     uint64_t **ret);

/* The index of a hashed directory: a root in block 0, up to two levels of nodes, then the leaves. */
struct directory_leaf {
	uint32_t first; /* its first entry, counted in hash order */
	uint32_t hash;  /* that entry's hash; bit 0 set: the leaf before this one ends with the same hash */
};

#define DIRECTORY_INDEX_MAX_DEPTHS 3 /* the root and two levels below it */

/* All index blocks precede the leaves, depth by depth, so that a block's number follows from the counts. */
struct directory_index {
	uint32_t depths;                            /* dx_root_info.indirect_levels + 1 */
	uint32_t nodes[DIRECTORY_INDEX_MAX_DEPTHS]; /* how many at each depth; the root is one */
	uint32_t blocks;                            /* their sum: the first leaf's block number */
};

/* Finds the smallest index for this many leaves. EFBIG: more than the features allow. */
MUST_CHECK errcode_t directory_index_shape(const struct ondisk_format *format, uint32_t leaf_count,
                                           struct directory_index *index);

/* Writes index->blocks blocks. hash_version: EXT2_HASH_*, of either sign. */
void directory_index_build(const struct ondisk_format *format, const struct directory_index *index,
                           const struct directory_leaf *leaves, uint32_t leaf_count, uint8_t hash_version, uint32_t ino,
                           uint32_t parent_ino, uint32_t inode_seed, uint8_t *bytes);
