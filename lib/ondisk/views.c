/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ondisk/views.h"

#include <endian.h>
#include <string.h>

#include <ext2fs/ext3_extents.h>

#include "ondisk/xattr_read.h"
#include "support/crc32c.h"

#define MAX_INITIALISED 32768 /* a larger count means an unwritten extent, of this much less */
#define HEADER_BYTES 8        /* of an entry: inode, record length, name length, type */
#define INDEX_INFO_OFFSET 24  /* after . and .. of an htree's first block */
#define LARGEST_INDEX_LEVELS 3
#define DOT_RECORD_BYTES 12

void inode_view_read(const struct ondisk_format *format, const void *bytes, struct inode_view *view)
{
	struct ext2_inode raw;

	memcpy(&raw, bytes, sizeof(raw));
	*view = (struct inode_view){
		.mode = le16toh(raw.i_mode),
		.links = le16toh(raw.i_links_count),
		.flags = le32toh(raw.i_flags),
		.size_bytes = le32toh(raw.i_size) | (uint64_t)le32toh(raw.i_size_high) << 32,
		.xattr_block =
			ondisk_xattr_block(format, le32toh(raw.i_file_acl), le16toh(raw.osd2.linux2.l_i_file_acl_high)),
		.root = (const uint8_t *)bytes + offsetof(struct ext2_inode, i_block),
	};
}

uint32_t inode_view_generation(const struct inode_view *view)
{
	uint32_t raw;

	memcpy(&raw, view->root - offsetof(struct ext2_inode, i_block) + offsetof(struct ext2_inode, i_generation),
	       sizeof(raw));
	return le32toh(raw);
}

const uint8_t *inode_view_inline_rest(const struct ondisk_format *format, const void *bytes, size_t *count)
{
	struct xattr_cursor cursor = xattr_start_inode(format, bytes);
	struct xattr_entry entry;

	*count = 0;
	while (xattr_entries_next(&cursor, &entry)) {
		if (!xattr_entry_is_inline_data(&entry) || !entry.value)
			continue;
		*count = entry.value_bytes;
		return entry.value;
	}
	return NULL;
}

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

/* The checksum follows the room for entries; some bytes may remain after it. */
bool extent_node_checksum_fits(const struct ondisk_format *format, uint32_t inode_seed, const void *bytes)
{
	struct ext3_extent_header header;
	struct ext3_extent_tail tail;

	if (!format->checksums)
		return true;
	memcpy(&header, bytes, sizeof(header));
	size_t offset = sizeof(header) + (size_t)le16toh(header.eh_max) * sizeof(struct ext3_extent);

	if (offset + sizeof(tail) > format->block_bytes)
		return false;
	memcpy(&tail, (const uint8_t *)bytes + offset, sizeof(tail));
	return le32toh(tail.et_checksum) == crc32c(inode_seed, bytes, offset);
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

/* Lengths are multiples of 4, so bits 16 and 17 are stored in the lowest two bits; 65536 is written as 0 or 65535. */
static size_t record_bytes(uint16_t raw, size_t byte_count)
{
	if (byte_count < 65536)
		return raw;
	if (raw == 0 || raw == 65535)
		return 65536;
	return (raw & 65532u) | (size_t)(raw & 3u) << 16;
}

bool directory_record_read(const uint8_t *bytes, size_t byte_count, size_t offset, struct directory_record *record)
{
	if (offset > byte_count || byte_count - offset < HEADER_BYTES)
		return false;
	const uint8_t *at = bytes + offset;
	uint32_t ino;
	uint16_t raw;

	memcpy(&ino, at, sizeof(ino));
	memcpy(&raw, at + 4, sizeof(raw));
	size_t record_length = record_bytes(le16toh(raw), byte_count);
	uint8_t name_bytes = at[6];

	if (record_length < HEADER_BYTES || record_length % 4 || record_length > byte_count - offset ||
	    HEADER_BYTES + (size_t)name_bytes > record_length)
		return false;
	*record = (struct directory_record){ offset,
		                             record_length,
		                             { le32toh(ino), (const char *)at + HEADER_BYTES, name_bytes, at[7],
		                               (uint32_t)record_length } };
	return true;
}

bool directory_entries_next(struct directory_cursor *cursor, struct directory_entry *entry)
{
	while (cursor->offset + HEADER_BYTES <= cursor->byte_count) {
		struct directory_record record;

		if (!directory_record_read(cursor->bytes, cursor->byte_count, cursor->offset, &record)) {
			cursor->is_damaged = true;
			return false;
		}
		cursor->offset += record.bytes;
		if (!record.entry.ino)
			continue;
		*entry = record.entry;
		return true;
	}
	return false;
}

const uint8_t *directory_entry_stored_hashes(const struct directory_entry *entry)
{
	/* The name's end, rounded up to 4. */
	const uint32_t offset = (HEADER_BYTES + entry->name_bytes + 3u) & ~3u;

	return offset + DIRECTORY_STORED_HASH_BYTES <= entry->record_bytes ?
	               (const uint8_t *)entry->name - HEADER_BYTES + offset :
	               NULL;
}

/* The offset of count and limit in an htree's index block; 0: not an index block. */
static size_t index_head_bytes(const struct ondisk_format *format, const uint8_t *block)
{
	const size_t root_head = INDEX_INFO_OFFSET + sizeof(struct ext2_dx_root_info);
	uint16_t first, second;
	uint32_t ino;

	memcpy(&ino, block, sizeof(ino));
	memcpy(&first, block + 4, sizeof(first));
	memcpy(&second, block + DOT_RECORD_BYTES + 4, sizeof(second));
	if (!ino && !block[6] && record_bytes(le16toh(first), format->block_bytes) == format->block_bytes)
		return HEADER_BYTES;
	if (le16toh(first) == DOT_RECORD_BYTES &&
	    record_bytes(le16toh(second), format->block_bytes) == format->block_bytes - DOT_RECORD_BYTES &&
	    directory_entries_index_levels(block, format->block_bytes) >= 0)
		return root_head;
	return 0;
}

/* The checksum covers the used entries, and the tail with a zero checksum; see lib/ondisk/directory_index.c. */
static bool index_checksum_fits(const struct ondisk_format *format, uint32_t inode_seed, const uint8_t *block,
                                size_t head_bytes)
{
	const size_t entry_bytes = sizeof(struct ext2_dx_entry);
	struct ext2_dx_countlimit values;
	struct ext2_dx_tail tail;

	memcpy(&values, block + head_bytes, sizeof(values));
	size_t count = le16toh(values.count), limit = le16toh(values.limit);

	if (count > limit || head_bytes + limit * entry_bytes + sizeof(tail) > format->block_bytes)
		return false;
	memcpy(&tail, block + head_bytes + limit * entry_bytes, sizeof(tail));
	uint32_t found = le32toh(tail.dt_checksum),
		 checksum = crc32c(inode_seed, block, head_bytes + count * entry_bytes);

	tail.dt_checksum = 0;
	return found == crc32c(checksum, &tail, sizeof(tail));
}

bool directory_block_checksum_fits(const struct ondisk_format *format, uint32_t inode_seed, const void *block)
{
	struct ext2_dir_entry_tail tail;
	size_t capacity = format->block_bytes - sizeof(tail);

	if (!format->checksums)
		return true;
	/* First: where the kernel makes an index of a directory's only block, that one's tail stays, half overwritten.
	 */
	size_t head_bytes = index_head_bytes(format, block);

	if (head_bytes)
		return index_checksum_fits(format, inode_seed, block, head_bytes);
	memcpy(&tail, (const uint8_t *)block + capacity, sizeof(tail));
	if (!tail.det_reserved_zero1 && le16toh(tail.det_rec_len) == sizeof(tail) &&
	    le16toh(tail.det_reserved_name_len) == EXT2_DIR_NAME_LEN_CSUM)
		return le32toh(tail.det_checksum) == crc32c(inode_seed, block, capacity);
	return false;
}

int directory_entries_index_levels(const void *block, size_t byte_count)
{
	struct ext2_dx_root_info info;

	if (byte_count < INDEX_INFO_OFFSET + sizeof(info))
		return -1;
	memcpy(&info, (const uint8_t *)block + INDEX_INFO_OFFSET, sizeof(info));
	if (info.reserved_zero || info.info_length != sizeof(info) || info.indirect_levels > LARGEST_INDEX_LEVELS)
		return -1;
	return info.indirect_levels;
}
