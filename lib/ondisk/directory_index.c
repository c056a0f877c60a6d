/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ondisk/directory_parts.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "ondisk/index_block.h"

errcode_t directory_index_shape(const struct ondisk_format *format, uint32_t leaf_count, struct directory_index *index)
{
	const uint32_t max_depths = index_most_levels(format) + 1;
	const uint32_t node_limit = index_block_limit(format, INDEX_NODE_HEAD_BYTES);
	uint64_t reach = index_block_limit(format, INDEX_ROOT_HEAD_BYTES);
	uint64_t blocks = 0;

	*index = (struct directory_index){ .depths = 1 };
	while (reach < leaf_count) {
		reach *= node_limit;
		index->depths++;
	}
	if (index->depths > max_depths)
		return EFBIG;

	uint32_t children = leaf_count;
	for (uint32_t depth = index->depths; depth-- > 0; children = index->nodes[depth]) {
		index->nodes[depth] = depth ? (children + node_limit - 1) / node_limit : 1;
		blocks += index->nodes[depth];
	}
	/* A child's number has 28 bits; the kernel ignores the upper four. */
	if (blocks + leaf_count - 1 > EXT4_DX_BLOCK_MASK)
		return EFBIG;
	index->blocks = blocks;
	return 0;
}

/* The children of an index block. */
struct node_children {
	uint32_t first_block; /* block number of the first child */
	uint32_t count;
	uint64_t first_leaf; /* below the first child */
	uint64_t leaves_per_child;
};

static void write_entries(const struct ondisk_format *format, uint8_t *block, size_t head_bytes,
                          const struct directory_leaf *leaves, const struct node_children *children,
                          uint32_t inode_seed)
{
	const struct index_block index = { block, head_bytes, children->count, index_block_limit(format, head_bytes) };
	const size_t entry_bytes = sizeof(struct ext2_dx_entry);
	const struct ext2_dx_countlimit count_and_limit = { .limit = htole16(index.limit),
		                                            .count = htole16(children->count) };

	for (uint32_t child = 0; child < children->count; child++) {
		const struct ext2_dx_entry entry = {
			.hash = htole32(leaves[children->first_leaf + child * children->leaves_per_child].hash),
			.block = htole32(children->first_block + child),
		};
		memcpy(block + head_bytes + child * entry_bytes, &entry, entry_bytes);
	}
	memcpy(block + head_bytes, &count_and_limit, sizeof(count_and_limit));
	index_block_seal(format, &index, inode_seed);
}

/* "." and "..", the latter's record over all the rest, so that readers without the feature see nothing else. */
static void write_root_head(const struct ondisk_format *format, const struct directory_index *index,
                            uint8_t hash_version, uint32_t ino, uint32_t parent_ino, uint8_t *block)
{
	/* The superblock says whether hashes are signed; only the signed version's number is written here. */
	const bool is_unsigned = hash_version >= EXT2_HASH_LEGACY_UNSIGNED && hash_version <= EXT2_HASH_TEA_UNSIGNED;
	const struct ext2_dx_root_info info = {
		.hash_version = is_unsigned ? hash_version - EXT2_HASH_LEGACY_UNSIGNED : hash_version,
		.info_length = sizeof(info),
		.indirect_levels = index->depths - 1,
	};

	directory_entry_write(format, block, INDEX_DOT_BYTES, (struct directory_name){ ".", 1 },
	                      (struct directory_target){ ino, EXT2_FT_DIR });
	directory_entry_write(format, block + INDEX_DOT_BYTES, format->block_bytes - INDEX_DOT_BYTES,
	                      (struct directory_name){ "..", 2 }, (struct directory_target){ parent_ino, EXT2_FT_DIR });
	memcpy(block + 2 * INDEX_DOT_BYTES, &info, sizeof(info));
}

void directory_index_build(const struct ondisk_format *format, const struct directory_index *index,
                           const struct directory_leaf *leaves, uint32_t leaf_count, uint8_t hash_version, uint32_t ino,
                           uint32_t parent_ino, uint32_t inode_seed, uint8_t *bytes)
{
	const uint32_t node_limit = index_block_limit(format, INDEX_NODE_HEAD_BYTES);
	uint64_t leaves_per_child = 1;
	uint32_t depth_end = index->blocks;

	memset(bytes, 0, (size_t)index->blocks * format->block_bytes);
	for (uint32_t depth = index->depths; depth-- > 0; leaves_per_child *= node_limit) {
		const uint32_t depth_start = depth_end - index->nodes[depth];
		const uint32_t children = depth + 1 < index->depths ? index->nodes[depth + 1] : leaf_count;

		for (uint32_t node = 0; node < index->nodes[depth]; node++) {
			uint8_t *block = bytes + (size_t)(depth_start + node) * format->block_bytes;
			const uint32_t first = node * node_limit;
			const uint32_t rest = children - first; /* of the root: its limit is below a node's */
			const struct node_children below = {
				.first_block = depth_end + first,
				.count = rest > node_limit ? node_limit : rest,
				.first_leaf = first * leaves_per_child,
				.leaves_per_child = leaves_per_child,
			};
			if (depth == 0)
				write_root_head(format, index, hash_version, ino, parent_ino, block);
			else
				directory_entry_write(format, block, format->block_bytes, (struct directory_name){ 0 },
				                      (struct directory_target){ 0 });
			write_entries(format, block, depth ? INDEX_NODE_HEAD_BYTES : INDEX_ROOT_HEAD_BYTES, leaves,
			              &below, inode_seed);
		}
		depth_end = depth_start;
	}
}

void directory_index_begin(const struct ondisk_format *format, uint32_t ino, uint32_t parent_ino, uint8_t *block)
{
	const struct directory_index index = { .depths = 1, .nodes = { 1 }, .blocks = 1 };
	const struct directory_leaf leaf = { 0 };

	directory_index_build(format, &index, &leaf, 1, format->hash_version, ino, parent_ino, 0, block);
}
