/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ondisk/directory_entries.h"

#include <endian.h>
#include <string.h>

#include <ext2fs/ext2_fs.h>

#define HEADER_BYTES 8       /* of an entry: inode, record length, name length, type */
#define INDEX_INFO_OFFSET 24 /* after . and .. of an htree's first block */
#define LARGEST_INDEX_LEVELS 3

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
