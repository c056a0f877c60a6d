/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ondisk/inode_view.h"

#include <endian.h>
#include <string.h>
#include <sys/stat.h>

#include <ext2fs/ext2_ext_attr.h>

#define SYSTEM_NAMES 7 /* the prefix "system." of the name "data" */

void inode_view_read(const struct ondisk_format *format, const void *bytes, struct inode_view *view)
{
	struct ext2_inode raw;

	(void)format;
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
