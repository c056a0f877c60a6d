/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ondisk/xattr_read.h"

#include "ondisk/xattr_parts.h"
#include "support/crc32c.h"

#define LARGEST_VALUE_BYTES (1u << 24) /* the kernel's limit for values in inodes of their own */

static struct ext2_ext_attr_entry raw_at(const struct xattr_cursor *cursor, size_t offset)
{
	struct ext2_ext_attr_entry raw;

	memcpy(&raw, cursor->base + offset, sizeof(raw));
	raw.e_value_offs = le16toh(raw.e_value_offs);
	raw.e_value_inum = le32toh(raw.e_value_inum);
	raw.e_value_size = le32toh(raw.e_value_size);
	raw.e_hash = le32toh(raw.e_hash);
	return raw;
}

/* Four zero bytes end the list; values follow. A list without this end stops at its first invalid entry. */
static void find_end(struct xattr_cursor *cursor)
{
	for (cursor->end = cursor->offset;;) {
		uint32_t first;

		if (cursor->end + sizeof(first) > cursor->byte_count)
			break;
		memcpy(&first, cursor->base + cursor->end, sizeof(first));
		if (!first)
			return;
		if (cursor->end + sizeof(struct ext2_ext_attr_entry) > cursor->byte_count)
			break;
		size_t next = cursor->end + EXT2_EXT_ATTR_LEN(raw_at(cursor, cursor->end).e_name_len);

		if (next > cursor->byte_count)
			break;
		cursor->end = next;
	}
	cursor->is_damaged = true;
}

struct xattr_cursor xattr_start_inode(const struct ondisk_format *format, const void *inode)
{
	struct xattr_cursor cursor = { 0 };
	uint16_t extra;
	uint32_t magic;

	if (format->inode_bytes <= EXT2_GOOD_OLD_INODE_SIZE)
		return cursor;
	memcpy(&extra, (const uint8_t *)inode + EXT2_GOOD_OLD_INODE_SIZE, sizeof(extra));

	size_t start = EXT2_GOOD_OLD_INODE_SIZE + (size_t)le16toh(extra);
	if (start + sizeof(magic) > format->inode_bytes)
		return cursor;
	memcpy(&magic, (const uint8_t *)inode + start, sizeof(magic));
	if (le32toh(magic) != EXT2_EXT_ATTR_MAGIC)
		return cursor;
	start += XATTR_INODE_HEADER_BYTES;
	cursor.base = (const uint8_t *)inode + start;
	cursor.byte_count = format->inode_bytes - start;
	find_end(&cursor);
	return cursor;
}

static bool checksum_fits(const struct ondisk_format *format, uint64_t block, const void *bytes,
                          const struct ext2_ext_attr_header *header)
{
	uint64_t raw_block = htole64(block);
	struct ext2_ext_attr_header without = *header;
	uint32_t checksum = crc32c(format->checksum_seed, &raw_block, sizeof(raw_block));

	without.h_checksum = 0;
	checksum = crc32c(checksum, &without, sizeof(without));
	checksum = crc32c(checksum, (const uint8_t *)bytes + sizeof(without), format->block_bytes - sizeof(without));
	return le32toh(header->h_checksum) == checksum;
}

const char *xattr_start_block(const struct ondisk_format *format, uint64_t block, const void *bytes,
                              struct xattr_cursor *cursor)
{
	struct ext2_ext_attr_header header;

	memcpy(&header, bytes, sizeof(header));
	*cursor = (struct xattr_cursor){
		.base = bytes,
		.byte_count = format->block_bytes,
		.offset = sizeof(header),
	};
	if (le32toh(header.h_magic) != EXT2_EXT_ATTR_MAGIC || le32toh(header.h_blocks) != 1)
		return "block of xattrs";
	if (format->checksums && !checksum_fits(format, block, bytes, &header))
		return "checksum of a block of xattrs";
	find_end(cursor);
	return NULL;
}

/* A value must lie between the end of the list and the end of the area; an empty one may have any offset. */
static bool find_value(const struct xattr_cursor *cursor, const struct ext2_ext_attr_entry *raw,
                       struct xattr_entry *entry)
{
	entry->value_bytes = raw->e_value_size;
	entry->value_ino = raw->e_value_inum;
	if (entry->value_ino)
		return entry->value_bytes && entry->value_bytes <= LARGEST_VALUE_BYTES;
	entry->value = cursor->base + (entry->value_bytes ? raw->e_value_offs : 0);
	return !entry->value_bytes ||
	       (raw->e_value_offs >= cursor->end + XATTR_TERMINATOR_BYTES && raw->e_value_offs <= cursor->byte_count &&
	        entry->value_bytes <= cursor->byte_count - raw->e_value_offs &&
	        EXT2_EXT_ATTR_SIZE(entry->value_bytes) <= cursor->byte_count - raw->e_value_offs);
}

bool xattr_entries_next(struct xattr_cursor *cursor, struct xattr_entry *entry)
{
	while (cursor->offset < cursor->end) {
		struct ext2_ext_attr_entry raw = raw_at(cursor, cursor->offset);

		*entry = (struct xattr_entry){
			.name = (const char *)cursor->base + cursor->offset + sizeof(raw),
			.name_bytes = raw.e_name_len,
			.name_index = raw.e_name_index,
			.hash = raw.e_hash,
		};
		cursor->offset += EXT2_EXT_ATTR_LEN(raw.e_name_len);
		if (find_value(cursor, &raw, entry))
			return true;
		cursor->is_damaged = true;
	}
	return false;
}

bool xattr_entry_is_inline_data(const struct xattr_entry *entry)
{
	return entry->name_index == XATTR_INDEX_SYSTEM && entry->name_bytes == 4 && !memcmp(entry->name, "data", 4);
}

bool xattr_entry_is_acl(const struct xattr_entry *entry)
{
	return entry->name_index == XATTR_INDEX_ACL_ACCESS || entry->name_index == XATTR_INDEX_ACL_DEFAULT;
}

static uint32_t hash_signed_name(const struct xattr_entry *entry)
{
	uint32_t hash = 0;

	for (size_t n = 0; n < entry->name_bytes; n++)
		hash = (hash << 5 | hash >> 27) ^ (uint32_t)(int8_t)entry->name[n];
	return hash;
}

bool xattr_entry_differs(const struct xattr_entry *entry, uint32_t value_hash)
{
	const uint32_t names[] = { xattr_hash_name(entry->name, entry->name_bytes), hash_signed_name(entry) };

	for (size_t n = 0; n < 2 && entry->hash; n++) {
		uint32_t hash = entry->value_ino ? xattr_hash_value_inode(names[n], value_hash) :
		                                   xattr_hash_value(names[n], entry->value, entry->value_bytes);

		if (hash == entry->hash)
			return false;
	}
	return entry->hash;
}

uint32_t xattr_value_hash(const struct ondisk_format *format, const void *value, uint32_t value_bytes)
{
	return crc32c(format->checksum_seed, value, value_bytes);
}

bool xattr_entry_name(const struct xattr_entry *entry, char name[XATTR_WHOLE_NAME_BYTES])
{
	for (size_t n = 0; n < XATTR_PREFIXES; n++) {
		const struct xattr_prefix *prefix = &xattr_prefixes[n];
		size_t length = strlen(prefix->text);

		if (prefix->index != entry->name_index)
			continue;
		if ((prefix->text[length - 1] == '.') != !!entry->name_bytes ||
		    memchr(entry->name, '\0', entry->name_bytes))
			return false;
		memcpy(name, prefix->text, length);
		memcpy(name + length, entry->name, entry->name_bytes);
		name[length + entry->name_bytes] = '\0';
		return true;
	}
	return false;
}
