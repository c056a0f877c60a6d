/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One block of directory entries being filled. Of this folder only; see directory.h for what callers use. */
#pragma once

#include "ondisk/directory.h"

/* What an entry needs at least: 8 bytes before the name, rounded up to 4. */
static inline uint32_t directory_entry_bytes(uint8_t name_length_bytes)
{
	return (8u + name_length_bytes + 3) & ~3u;
}

/* What the entries of a block can use: all of it, or all but the checksum's tail. */
uint32_t directory_block_capacity(const struct ondisk_format *format);

struct directory_block {
	uint8_t *bytes;
	uint32_t capacity_bytes;
	uint32_t used_bytes;
	uint32_t last_offset; /* of the last entry, whose record takes up the rest of the block */
};

/* Clears the block at bytes and begins to fill it. */
void directory_block_begin(const struct ondisk_format *format, void *bytes, struct directory_block *block);

/* False, and nothing added, when the entry does not fit any more. */
MUST_CHECK bool directory_block_add(const struct ondisk_format *format, struct directory_block *block,
                                    struct directory_name name, struct directory_target target);

/* Closes the block: the last record reaches to the end; a block without entries gets one unused entry. */
void directory_block_finish(const struct ondisk_format *format, struct directory_block *block, uint32_t inode_seed);

/* Writes one entry whose record is record_bytes long, a multiple of 4 up to 65536. */
void directory_entry_write(const struct ondisk_format *format, uint8_t *at, uint32_t record_bytes,
                           struct directory_name name, struct directory_target target);
