/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reading what is on disk from untrusted bytes: inodes, nodes of extent trees, entries of directories. Pure. */
#pragma once

#include <stddef.h>

#include "ondisk/format.h"

/* What of an inode says where its content lies. */
struct inode_view {
	uint16_t mode;
	uint16_t links;
	uint32_t flags;
	uint64_t size_bytes;
	uint64_t xattr_block; /* 0: none */
	const uint8_t *root;  /* i_block, INODE_ROOT_BYTES of it, within the bytes that were given */
};

/* bytes: inode_bytes of them. */
void inode_view_read(const void *bytes, struct inode_view *view);

/* The inode's generation, which checksums of its blocks count in. Reports need none, and read millions of inodes. */
uint32_t inode_view_generation(const struct inode_view *view);

/*
 * Where content that lies in the inode itself (EXT4_INLINE_DATA_FL) continues after i_block: the value of the xattr
 * "system.data" in the inode. NULL, and 0 bytes, if there is none or its place is out of bounds.
 */
const uint8_t *inode_view_inline_rest(const struct ondisk_format *format, const void *bytes, size_t *count);

#define EXTENT_TREE_MAX_DEPTH 5 /* the kernel reads no deeper tree */

struct extent_node {
	const uint8_t *entries; /* within the bytes that were given */
	unsigned int count;
	unsigned int depth; /* 0: a leaf; else the entries point to nodes whose depth is one less */
};

struct extent_node_leaf {
	uint32_t logical;
	uint32_t count; /* blocks: 1 to 32768; 0 is what damage can say */
	uint64_t physical;
	bool is_unwritten;
};

struct extent_node_index {
	uint32_t logical; /* nothing below lies before it */
	uint64_t block;   /* the node's */
};

/* False if the bytes are no node: the magic number, a depth above the largest, more entries than there is room for. */
MUST_CHECK bool extent_node_read(const void *bytes, size_t byte_count, struct extent_node *node);

/*
 * Does a node's block, which extent_node_read() has accepted, have the right checksum? inode_seed: ondisk_inode_seed()
 * of the inode. True where there are none; the root in the inode has none.
 */
bool extent_node_checksum_fits(const struct ondisk_format *format, uint32_t inode_seed, const void *bytes);

/* Entry `index`, below count, of a leaf and of any other node. */
struct extent_node_leaf extent_node_leaf(const struct extent_node *node, unsigned int index);
struct extent_node_index extent_node_index(const struct extent_node *node, unsigned int index);

/* Begin with offset 0. Blocks of an htree's index read as empty: that is how they are disguised. */
struct directory_cursor {
	const uint8_t *bytes;
	size_t byte_count; /* of the block, or of an inline directory's part */
	size_t offset;
	bool is_damaged; /* a record did not make sense, and what follows it was not read */
};

struct directory_entry {
	uint32_t ino;
	const char *name; /* within the bytes; no 0 follows it */
	uint8_t name_bytes;
	uint8_t file_type; /* EXT2_FT_*, or anything; with the feature filetype alone */
};

/* The next entry that is in use, . and .. among them; false after the last. */
MUST_CHECK bool directory_entries_next(struct directory_cursor *cursor, struct directory_entry *entry);

/*
 * Does a directory's block, one of leaves or of its index, have the right checksum? True where there are none.
 */
bool directory_block_checksum_fits(const struct ondisk_format *format, uint32_t inode_seed, const void *block);

/*
 * How many levels of index blocks an htree's first block says that there are between it and the leaves; -1 if it
 * is no such block.
 */
int directory_entries_index_levels(const void *block, size_t byte_count);
