/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "update/apply/inode_parts.h"

#include <errno.h>

errcode_t inode_parts_write_map(struct applying *applying, uint32_t ino, const struct extent_list *extents,
                                const uint64_t *map_blocks, uint32_t count, struct inode_value *value)
{
	uint32_t block_bytes = applying->format->block_bytes;
	SCOPE_FREE uint8_t *blocks = calloc(count + 1ul, block_bytes);
	errcode_t error = blocks ? file_map_build(applying->format, ino, value->generation, extents->extents,
	                                          extents->count, map_blocks, value->root, blocks) :
	                           ENOMEM;

	if (applying->format->extents)
		value->flags |= EXT4_EXTENTS_FL;
	for (uint32_t i = 0; !error && i < count; i++)
		error = sink_write(applying_sink(applying), map_blocks[i], 1, blocks + (size_t)i * block_bytes);
	return error;
}

errcode_t inode_parts_charge(struct applying *applying, const struct inode_value *value, int64_t inodes, int64_t blocks)
{
	return applying->filesystem->release.changes ?
	               quota_changes_charge(&applying->filesystem->quota, applying->format, value, inodes, blocks) :
	               0;
}
