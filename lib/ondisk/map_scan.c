/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ondisk/map_scan.h"

#include <endian.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "ondisk/map_parts.h"
#include "ondisk/views.h"

bool map_is_in_inode(const struct inode_decoded *inode)
{
	const struct inode_value *value = &inode->value;

	if (value->flags & EXT4_INLINE_DATA_FL)
		return false;
	/* While the kernel deletes a symlink, its size is 0 and its map still there. */
	if (S_ISLNK(value->mode))
		return value->flags & EXT4_EXTENTS_FL || !value->size_bytes ||
		       value->size_bytes > INODE_FAST_SYMLINK_BYTES;
	return S_ISREG(value->mode) || S_ISDIR(value->mode);
}

uint64_t map_indirect_span(const struct ondisk_format *format, unsigned int level)
{
	return UINT64_C(1) << (format->block_bits - 2) * level;
}

errcode_t map_scan_read(struct map_scan *scan, uint64_t block, void *bytes)
{
	struct block_access *access = scan->access;

	if (!block_access_may_own(access, block, 1) || ++scan->blocks_read > access->end_block)
		return EUCLEAN;
	return access->read(access, block, bytes);
}

errcode_t map_scan_read_node(struct map_scan *scan, uint64_t block, void *bytes)
{
	const struct ondisk_format *format = scan->access->format;
	struct extent_node node;
	errcode_t error = map_scan_read(scan, block, bytes);

	if (error)
		return error;
	return extent_node_read(bytes, format->block_bytes, &node) &&
	                       extent_node_checksum_fits(format, scan->seed, bytes) ?
	               0 :
	               EUCLEAN;
}

static errcode_t show_extent(struct map_scan *scan, uint64_t logical, uint64_t physical, uint32_t count,
                             bool is_unwritten, uint64_t end)
{
	if (logical < scan->next || logical >= end || !count || count > end - logical ||
	    !block_access_may_own(scan->access, physical, count))
		return EUCLEAN;
	scan->next = logical + count;
	return scan->extent(scan, logical, physical, count, is_unwritten);
}

static errcode_t scan_child(struct map_scan *scan, uint64_t block, int depth, uint64_t end)
{
	size_t block_bytes = scan->access->format->block_bytes;
	SCOPE_FREE uint8_t *bytes = malloc(block_bytes);

	if (!bytes)
		return ENOMEM;
	errcode_t error = map_scan_read_node(scan, block, bytes);

	if (!error)
		error = scan->map_block(scan, block);
	return error ? error : map_scan_node(scan, bytes, block_bytes, depth, end);
}

errcode_t map_scan_node(struct map_scan *scan, const void *bytes, size_t byte_count, int depth, uint64_t end)
{
	struct extent_node node;
	errcode_t error = 0;

	/* Nothing above the root says its depth (-1). */
	if (!extent_node_read(bytes, byte_count, &node) || (depth >= 0 && node.depth != (unsigned int)depth))
		return EUCLEAN;
	for (unsigned int index = 0; !error && index < node.count; index++) {
		if (!node.depth) {
			const struct extent_node_leaf leaf = extent_node_leaf(&node, index);

			error = show_extent(scan, leaf.logical, leaf.physical, leaf.count, leaf.is_unwritten, end);
			continue;
		}
		const struct extent_node_index entry = extent_node_index(&node, index);
		uint64_t next = index + 1 < node.count ? extent_node_index(&node, index + 1).logical : end;

		if (entry.logical < scan->next || next > end || entry.logical >= next)
			return EUCLEAN;
		scan->next = entry.logical;
		error = scan_child(scan, entry.block, (int)node.depth - 1, next);
	}
	return error;
}

errcode_t map_scan_indirect(struct map_scan *scan, uint64_t block, unsigned int level, uint64_t logical)
{
	const struct ondisk_format *format = scan->access->format;

	if (!level)
		return show_extent(scan, logical, block, 1, false, MAP_LOGICAL_END);
	SCOPE_FREE uint32_t *numbers = malloc(format->block_bytes);

	if (!numbers)
		return ENOMEM;
	errcode_t error = map_scan_read(scan, block, numbers);

	if (!error)
		error = scan->map_block(scan, block);
	for (uint32_t index = 0; !error && index < format->block_bytes / sizeof(*numbers); index++)
		if (numbers[index])
			error = map_scan_indirect(scan, le32toh(numbers[index]), level - 1,
			                          logical + index * map_indirect_span(format, level - 1));
	return error;
}

static errcode_t scan_numbers(struct map_scan *scan, const uint8_t *root)
{
	uint32_t numbers[MAP_DIRECT_BLOCKS + MAP_INDIRECT_LEVELS];
	uint64_t logical = 0;
	errcode_t error = 0;

	memcpy(numbers, root, sizeof(numbers));
	for (unsigned int index = 0; !error && index < MAP_DIRECT_BLOCKS + MAP_INDIRECT_LEVELS; index++) {
		unsigned int level = index < MAP_DIRECT_BLOCKS ? 0 : index - MAP_DIRECT_BLOCKS + 1;

		if (numbers[index])
			error = map_scan_indirect(scan, le32toh(numbers[index]), level, logical);
		logical += map_indirect_span(scan->access->format, level);
	}
	return error;
}

errcode_t map_scan(struct map_scan *scan, uint32_t ino, const struct inode_decoded *inode)
{
	const struct inode_value *value = &inode->value;

	scan->seed = ondisk_inode_seed(scan->access->format, ino, value->generation);
	scan->next = 0;
	scan->blocks_read = 0;
	if (!map_is_in_inode(inode))
		return 0;
	if (value->flags & EXT4_EXTENTS_FL)
		return map_scan_node(scan, value->root, INODE_ROOT_BYTES, -1, MAP_LOGICAL_END);
	return scan_numbers(scan, value->root);
}
