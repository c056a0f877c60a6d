/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The blocks of an htree's index: read, searched and changed. Pure; nothing that is read is trusted. */
#pragma once

#include <stddef.h>

#include "ondisk/format.h"

/* The root or a node: children in the order of their hashes. */
struct index_block {
	uint8_t *bytes;
	uint32_t head_bytes; /* before the children */
	uint32_t count, limit;
};

/* Fields of the root that describe the whole index. */
struct index_info {
	unsigned int levels;  /* of nodes between the root and the leaves */
	uint8_t hash_version; /* EXT2_HASH_*, with the signedness of the format's */
	uint32_t parent;      /* the inode of ".." */
};

/*
 * Reads the root of inode ino's index, a block. EXT2_ET_DIR_CORRUPTED; EXT2_ET_DIRHASH_UNSUPP (a version that is
 * unknown or needs a key).
 */
MUST_CHECK errcode_t index_root_read(const struct ondisk_format *format, uint32_t ino, uint8_t *block,
                                     struct index_block *index, struct index_info *info);

/* Reads a node. EXT2_ET_DIR_CORRUPTED. */
MUST_CHECK errcode_t index_node_read(const struct ondisk_format *format, uint8_t *block, struct index_block *index);

/* Child number `at`, below count: its block, and the least hash below it. Bit 0 of the hash: the child before ends
 * with the same hash. The first child has no hash of its own. */
uint32_t index_block_child(const struct index_block *index, uint32_t at);
uint32_t index_block_hash(const struct index_block *index, uint32_t at);

/* The child with which the search for a hash begins. */
uint32_t index_block_search(const struct index_block *index, uint32_t hash);

/* Adds a child as number `at`, 1 to count. There is room. */
void index_block_insert(struct index_block *index, uint32_t at, uint32_t hash, uint32_t child);

/*
 * Moves the upper half of the children, of which there are at least two, to a new node in a block; returns the hash
 * for it.
 */
uint32_t index_block_split(const struct ondisk_format *format, struct index_block *index, uint8_t *block);

/* Moves all of the root's children to a new node in a block, number `child`, which becomes the root's only child. */
void index_root_deepen(const struct ondisk_format *format, struct index_block *root, uint8_t *block, uint32_t child);

/* The most levels of nodes between root and leaves, and the most children of a block with such a head. */
unsigned int index_most_levels(const struct ondisk_format *format);
uint32_t index_block_limit(const struct ondisk_format *format, uint32_t head_bytes);

#define INDEX_DOT_BYTES 12 /* of both "." and ".." before the root's own fields */
#define INDEX_ROOT_HEAD_BYTES (2 * INDEX_DOT_BYTES + (uint32_t)sizeof(struct ext2_dx_root_info))
#define INDEX_NODE_HEAD_BYTES 8u /* an unused entry without a name, as long as the block */

/* Writes the checksum, if there is one. */
void index_block_seal(const struct ondisk_format *format, const struct index_block *index, uint32_t inode_seed);
