/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ondisk/views.h"

#include <endian.h>
#include <string.h>

#include <ext2fs/ext2_ext_attr.h>
#include <ext2fs/ext3_extents.h>

#define SYSTEM_NAMES 7        /* the prefix "system." of the name "data" */
#define MAX_INITIALISED 32768 /* a larger count says that the extent is unwritten, and as much too much */
#define HEADER_BYTES 8        /* of an entry: inode, record length, name length, type */
#define INDEX_INFO_OFFSET 24  /* after . and .. of an htree's first block */
#define LARGEST_INDEX_LEVELS 3

void inode_view_read(const void *bytes, struct inode_view *view)
{
	struct ext2_inode raw;

	memcpy(&raw, bytes, sizeof(raw));
	*view = (struct inode_view){
		.mode = le16toh(raw.i_mode),
		.links = le16toh(raw.i_links_count),
		.flags = le32toh(raw.i_flags),
		.size_bytes = le32toh(raw.i_size) | (uint64_t)le32toh(raw.i_size_high) << 32,
		.xattr_block = le32toh(raw.i_file_acl) | (uint64_t)le16toh(raw.osd2.linux2.l_i_file_acl_high) << 32,
		.root = (const uint8_t *)bytes + offsetof(struct ext2_inode, i_block),
	};
}

static const uint8_t *find_data(const uint8_t *area, size_t area_bytes, size_t *count)
{
	size_t at = 0;

	for (;;) {
		struct ext2_ext_attr_entry entry;

		if (at + sizeof(entry) > area_bytes)
			return NULL;
		memcpy(&entry, area + at, sizeof(entry));
		size_t next = at + sizeof(entry) + ((entry.e_name_len + 3u) & ~3u);

		/* Four bytes of zero end the list. */
		if ((!entry.e_name_len && !entry.e_name_index) || next > area_bytes)
			return NULL;
		if (entry.e_name_index == SYSTEM_NAMES && entry.e_name_len == 4 &&
		    !memcmp(area + at + sizeof(entry), "data", 4)) {
			size_t offset = le16toh(entry.e_value_offs), size = le32toh(entry.e_value_size);

			if (entry.e_value_inum || offset > area_bytes || size > area_bytes - offset)
				return NULL;
			*count = size;
			return area + offset;
		}
		at = next;
	}
}

const uint8_t *inode_view_inline_rest(const struct ondisk_format *format, const void *bytes, size_t *count)
{
	uint16_t extra;
	uint32_t magic;

	*count = 0;
	if (format->inode_bytes <= EXT2_GOOD_OLD_INODE_SIZE)
		return NULL;
	memcpy(&extra, (const uint8_t *)bytes + EXT2_GOOD_OLD_INODE_SIZE, sizeof(extra));

	size_t start = EXT2_GOOD_OLD_INODE_SIZE + (size_t)le16toh(extra);
	if (start + sizeof(magic) > format->inode_bytes)
		return NULL;
	memcpy(&magic, (const uint8_t *)bytes + start, sizeof(magic));
	if (le32toh(magic) != EXT2_EXT_ATTR_MAGIC)
		return NULL;
	start += sizeof(magic);
	return find_data((const uint8_t *)bytes + start, format->inode_bytes - start, count);
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

/* Two bits of 18 are kept below, because lengths are multiples of 4; 65536 is written as 0 or 65535. */
static size_t record_bytes(uint16_t raw, size_t byte_count)
{
	if (byte_count < 65536)
		return raw;
	if (raw == 0 || raw == 65535)
		return 65536;
	return (raw & 65532u) | (size_t)(raw & 3u) << 16;
}

bool directory_entries_next(struct directory_cursor *cursor, struct directory_entry *entry)
{
	while (cursor->offset + HEADER_BYTES <= cursor->byte_count) {
		const uint8_t *at = cursor->bytes + cursor->offset;
		uint32_t ino;
		uint16_t raw;

		memcpy(&ino, at, sizeof(ino));
		memcpy(&raw, at + 4, sizeof(raw));
		size_t record = record_bytes(le16toh(raw), cursor->byte_count);
		uint8_t name_bytes = at[6];

		if (record < HEADER_BYTES || record % 4 || record > cursor->byte_count - cursor->offset ||
		    HEADER_BYTES + (size_t)name_bytes > record) {
			cursor->is_damaged = true;
			return false;
		}
		cursor->offset += record;
		if (!ino)
			continue;
		*entry = (struct directory_entry){ le32toh(ino), (const char *)at + HEADER_BYTES, name_bytes };
		return true;
	}
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
