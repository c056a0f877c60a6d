/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The form of a quota file, private to this folder; callers use quota_file.h and quota_tree.h. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "ondisk/quota_file.h"

#define QUOTA_VERSION 1 /* of entries with 64 bits */
#define QUOTA_TREE_LEVELS 4
#define QUOTA_ROOT_BLOCK 1

static const uint32_t quota_magic_numbers[QUOTA_TYPES] = {
	[QUOTA_OF_USERS] = 0xd9c01f11,
	[QUOTA_OF_GROUPS] = 0xd9c01927,
	[QUOTA_OF_PROJECTS] = 0xd9c03f14,
};

/* All fields are little-endian. */
struct quota_raw_header {
	uint32_t magic, version;
	uint32_t space_grace_seconds, inode_grace_seconds;
	uint32_t flags;
	uint32_t blocks;
	uint32_t free_block;  /* 0: all blocks are in use */
	uint32_t entry_block; /* a block with room for an entry; 0: none */
};

/* A block of entries; a free block has only `next`. */
struct quota_raw_block {
	uint32_t next, previous; /* of the blocks with room */
	uint16_t entries, unused;
	uint32_t unused_too;
};

/* An entry of zeros is unused. */
struct quota_raw_entry {
	uint32_t id, unused;
	uint64_t inode_hard, inode_soft, inodes;
	uint64_t space_hard, space_soft, space_bytes; /* limits in KiB */
	uint64_t space_time, inode_time;
};

_Static_assert(sizeof(struct quota_raw_header) == 32, "as on disk");
_Static_assert(sizeof(struct quota_raw_block) == 16, "as on disk");
_Static_assert(sizeof(struct quota_raw_entry) == 72, "as on disk");

#define QUOTA_ENTRIES_PER_BLOCK ((QUOTA_BLOCK_BYTES - sizeof(struct quota_raw_block)) / sizeof(struct quota_raw_entry))

/* A tree's block at this level has, at the returned offset, the number of the next block on the way to an id. */
static inline size_t quota_reference_offset(uint32_t id, unsigned int level)
{
	return (uint8_t)(id >> (8 * (QUOTA_TREE_LEVELS - 1 - level))) * sizeof(uint32_t);
}
