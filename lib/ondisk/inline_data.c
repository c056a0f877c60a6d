/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ondisk/inline_data.h"

#include <assert.h>
#include <endian.h>
#include <string.h>

#include <ext2fs/ext2_ext_attr.h>

#define HEADER_BYTES 4
#define TERMINATOR_BYTES 4
#define SYSTEM_INDEX 7

static const char data_name[] = "data";

#define ENTRY_BYTES (sizeof(struct ext2_ext_attr_entry) + sizeof(data_name) - 1)

_Static_assert(ENTRY_BYTES % EXT2_EXT_ATTR_PAD == 0, "the entry needs no padding");

/* The unused bytes of an xattr area, between its entries and its values; offsets count from the area's start. */
struct gap {
	uint32_t start, end;
};

static struct gap find_gap(const struct ondisk_format *format, const uint8_t *area)
{
	struct gap gap = { .start = HEADER_BYTES, .end = inode_xattr_area_bytes(format) };
	struct ext2_ext_attr_entry entry;
	uint32_t magic;

	if (gap.end < HEADER_BYTES + TERMINATOR_BYTES || !area)
		return gap;
	memcpy(&magic, area, sizeof(magic));
	if (!magic)
		return gap;
	for (;; gap.start += EXT2_EXT_ATTR_LEN(entry.e_name_len)) {
		uint32_t first;

		memcpy(&first, area + gap.start, sizeof(first));
		if (!first)
			return gap;
		memcpy(&entry, area + gap.start, sizeof(entry));
		uint32_t value = HEADER_BYTES + le16toh(entry.e_value_offs);

		/* Offset 0 is that of a value of no bytes, or of one that has an inode of its own. */
		if (entry.e_value_offs && value < gap.end)
			gap.end = value;
	}
}

uint32_t inline_data_room(const struct ondisk_format *format, const void *xattr_area)
{
	struct gap gap = find_gap(format, xattr_area);

	if (!format->inline_data || gap.end < gap.start + ENTRY_BYTES + TERMINATOR_BYTES)
		return 0;
	return INODE_ROOT_BYTES + ((gap.end - gap.start - ENTRY_BYTES - TERMINATOR_BYTES) & ~EXT2_EXT_ATTR_ROUND);
}

void inline_data_encode(const struct ondisk_format *format, const void *data, uint32_t bytes,
                        uint8_t root[INODE_ROOT_BYTES], void *area)
{
	uint8_t *base = area;
	struct gap gap = find_gap(format, area);
	uint32_t root_bytes = bytes < INODE_ROOT_BYTES ? bytes : INODE_ROOT_BYTES;
	uint32_t value_bytes = bytes - root_bytes;
	uint32_t value_start = gap.end - EXT2_EXT_ATTR_SIZE(value_bytes);
	uint32_t magic = htole32(EXT2_EXT_ATTR_MAGIC);
	/* The kernel and e2fsck ask for the xattr even where i_block holds everything. */
	struct ext2_ext_attr_entry entry = {
		.e_name_len = sizeof(data_name) - 1,
		.e_name_index = SYSTEM_INDEX,
		.e_value_size = htole32(value_bytes),
		.e_value_offs = htole16(value_bytes ? value_start - HEADER_BYTES : 0),
	};

	assert(bytes <= inline_data_room(format, area));
	memset(root, 0, INODE_ROOT_BYTES);
	memcpy(root, data, root_bytes);
	memcpy(base, &magic, sizeof(magic));
	memcpy(base + gap.start, &entry, sizeof(entry));
	memcpy(base + gap.start + sizeof(entry), data_name, sizeof(data_name) - 1);
	memcpy(base + value_start, (const uint8_t *)data + root_bytes, value_bytes);
}
