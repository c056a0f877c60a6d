/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reading inodes, nodes of extent trees and entries of directories from untrusted bytes. Pure. */
#pragma once

#include <stddef.h>

#include "ondisk/format.h"

/* The fields of an inode that locate its content. */
struct inode_view {
	uint16_t mode;
	uint16_t links;
	uint32_t flags;
	uint64_t size_bytes;
	uint64_t xattr_block; /* 0: none */
	const uint8_t *root;  /* i_block, INODE_ROOT_BYTES of it, within the bytes that were given */
};

/* bytes has inode_bytes bytes. */
void inode_view_read(const struct ondisk_format *format, const void *bytes, struct inode_view *view);

/* A directory that is encrypted and casefolded: each of its entries stores the hashes of its name. */
static inline bool inode_view_stores_hashes(const struct inode_view *view)
{
	const uint32_t both = EXT4_ENCRYPT_FL | EXT4_CASEFOLD_FL;

	return (view->flags & both) == both;
}

/* The inode's generation, which checksums of its blocks include. It is not in inode_view, because reports, which read
 * millions of inodes, do not need it. */
uint32_t inode_view_generation(const struct inode_view *view);

/*
 * Returns the part of inline data (EXT4_INLINE_DATA_FL) after i_block: the value of the xattr "system.data" in the
 * inode. NULL, and 0 bytes, if there is none or its place is out of bounds.
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
	uint32_t count; /* blocks: 1 to 32768; 0 if damaged */
	uint64_t physical;
	bool is_unwritten;
};

struct extent_node_index {
	uint32_t logical; /* the first logical block below the entry */
	uint64_t block;   /* of the node */
};

/* False if the bytes are not a node: a wrong magic number, too large a depth, or more entries than fit. */
MUST_CHECK bool extent_node_read(const void *bytes, size_t byte_count, struct extent_node *node);

/*
 * Does a node's block, which extent_node_read() has accepted, have the right checksum? inode_seed:
 * ondisk_inode_seed() of the inode. True without checksums; the root in the inode has none.
 */
bool extent_node_checksum_fits(const struct ondisk_format *format, uint32_t inode_seed, const void *bytes);

/* Returns entry `index`, below count, of a leaf or of an inner node. */
struct extent_node_leaf extent_node_leaf(const struct extent_node *node, unsigned int index);
struct extent_node_index extent_node_index(const struct extent_node *node, unsigned int index);

/* Begin with offset 0. Index blocks of an htree read as empty, since each looks like one unused entry. */
struct directory_cursor {
	const uint8_t *bytes;
	size_t byte_count; /* of the block, or of an inline directory's part */
	size_t offset;
	bool is_damaged; /* a record is invalid, and the rest was not read */
};

struct directory_entry {
	uint32_t ino;
	const char *name; /* within the bytes; no 0 follows it */
	uint8_t name_bytes;
	uint8_t file_type;     /* EXT2_FT_*, or anything; only with the feature filetype */
	uint32_t record_bytes; /* of the whole entry: 8 bytes, the name, and what is free or belongs to it */
};

/* A record, which has an entry or is unused. */
struct directory_record {
	size_t offset, bytes;
	struct directory_entry entry; /* ino is 0: unused */
};

/* False if there is no valid record at this offset. Inode numbers and names may be anything. */
MUST_CHECK bool directory_record_read(const uint8_t *bytes, size_t byte_count, size_t offset,
                                      struct directory_record *record);

/* Reads the next used entry, . and .. included; false after the last. */
MUST_CHECK bool directory_entries_next(struct directory_cursor *cursor, struct directory_entry *entry);

#define DIRECTORY_STORED_HASH_BYTES 8

/*
 * The hash and minor hash, as on disk, that follow the name in a directory that is encrypted and casefolded; NULL: the
 * entry has no room for them.
 */
const uint8_t *directory_entry_stored_hashes(const struct directory_entry *entry);

/*
 * Does a directory's block, a leaf or an index block, have the right checksum? True without checksums.
 */
bool directory_block_checksum_fits(const struct ondisk_format *format, uint32_t inode_seed, const void *block);

/*
 * The number of index levels between an htree's first block and the leaves, as that block says; -1 if it is not one.
 */
int directory_entries_index_levels(const void *block, size_t byte_count);
