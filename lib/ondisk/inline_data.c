/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>

#include "ondisk/xattr_parts.h"
#include "ondisk/xattr_read.h"

/* Entries grow from the area's start, values from its end. */
struct area {
	uint8_t *bytes;
	size_t entries, values;
};

static bool has_room(const struct area *area, size_t entry_bytes, size_t value_bytes)
{
	return area->entries + entry_bytes + XATTR_TERMINATOR_BYTES <= area->values &&
	       value_bytes <= area->values - area->entries - entry_bytes - XATTR_TERMINATOR_BYTES;
}

static bool copy_entry(const struct xattr_entry *source, struct area *area)
{
	size_t entry_bytes = EXT2_EXT_ATTR_LEN(source->name_bytes);
	size_t value_bytes = source->value_ino ? 0 : EXT2_EXT_ATTR_SIZE((size_t)source->value_bytes);
	struct ext2_ext_attr_entry entry = {
		.e_name_len = source->name_bytes,
		.e_name_index = source->name_index,
		.e_value_inum = htole32(source->value_ino),
		.e_value_size = htole32(source->value_bytes),
		.e_hash = htole32(source->hash),
	};

	if (!has_room(area, entry_bytes, value_bytes))
		return false;
	area->values -= value_bytes;
	if (value_bytes) {
		entry.e_value_offs = htole16((uint16_t)(area->values - XATTR_INODE_HEADER_BYTES));
		memcpy(area->bytes + area->values, source->value, source->value_bytes);
	}
	memcpy(area->bytes + area->entries, &entry, sizeof(entry));
	memcpy(area->bytes + area->entries + sizeof(entry), source->name, source->name_bytes);
	area->entries += entry_bytes;
	return true;
}

errcode_t inline_data_area(const struct ondisk_format *format, const void *inode, void *bytes)
{
	struct area area = { bytes, XATTR_INODE_HEADER_BYTES, inode_xattr_area_bytes(format) };
	struct xattr_cursor cursor = xattr_start_inode(format, inode);
	const uint32_t magic = htole32(EXT2_EXT_ATTR_MAGIC);
	struct xattr_entry entry;

	memset(bytes, 0, area.values);
	while (xattr_entries_next(&cursor, &entry))
		if (!xattr_entry_is_inline_data(&entry) && !copy_entry(&entry, &area))
			return ENOSPC;
	if (cursor.is_damaged)
		return EUCLEAN;
	if (area.entries > XATTR_INODE_HEADER_BYTES)
		memcpy(bytes, &magic, sizeof(magic));
	return 0;
}
