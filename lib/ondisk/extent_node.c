/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ondisk/extent_node.h"

#include <endian.h>
#include <string.h>

#include <ext2fs/ext2_fs.h>
#include <ext2fs/ext3_extents.h>

#define MAX_INITIALISED 32768 /* a larger count says that the extent is unwritten, and as much too much */

bool extent_node_read(const void *bytes, size_t byte_count, struct extent_node *node)
{
	struct ext3_extent_header header;

	if (byte_count < sizeof(header))
		return false;
	memcpy(&header, bytes, sizeof(header));

	size_t room = (byte_count - sizeof(header)) / sizeof(struct ext3_extent);
	unsigned int count = le16toh(header.eh_entries);
	unsigned int depth = le16toh(header.eh_depth);

	if (le16toh(header.eh_magic) != EXT3_EXT_MAGIC || count > room || count > le16toh(header.eh_max) ||
	    depth > EXTENT_TREE_MAX_DEPTH)
		return false;
	*node = (struct extent_node){ (const uint8_t *)bytes + sizeof(header), count, depth };
	return true;
}

struct extent_node_leaf extent_node_leaf(const struct extent_node *node, unsigned int index)
{
	struct ext3_extent raw;

	memcpy(&raw, node->entries + index * sizeof(raw), sizeof(raw));
	uint32_t count = le16toh(raw.ee_len);
	bool is_unwritten = count > MAX_INITIALISED;

	return (struct extent_node_leaf){
		.logical = le32toh(raw.ee_block),
		.count = is_unwritten ? count - MAX_INITIALISED : count,
		.physical = (uint64_t)le16toh(raw.ee_start_hi) << 32 | le32toh(raw.ee_start),
		.is_unwritten = is_unwritten,
	};
}

struct extent_node_index extent_node_index(const struct extent_node *node, unsigned int index)
{
	struct ext3_extent_idx raw;

	memcpy(&raw, node->entries + index * sizeof(raw), sizeof(raw));
	return (struct extent_node_index){
		.logical = le32toh(raw.ei_block),
		.block = (uint64_t)le16toh(raw.ei_leaf_hi) << 32 | le32toh(raw.ei_leaf),
	};
}
