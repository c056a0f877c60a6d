/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ondisk/xattr_share.h"

#include "ondisk/xattr_parts.h"
#include "support/crc32c.h"

uint32_t xattr_block_references(const void *bytes)
{
	struct ext2_ext_attr_header header;

	memcpy(&header, bytes, sizeof(header));
	return le32toh(header.h_refcount);
}

void xattr_block_set_references(const struct ondisk_format *format, uint64_t block, uint32_t references, void *bytes)
{
	const uint64_t raw_block = htole64(block);
	struct ext2_ext_attr_header header;

	memcpy(&header, bytes, sizeof(header));
	header.h_refcount = htole32(references);
	if (format->checksums) {
		header.h_checksum = 0;
		memcpy(bytes, &header, sizeof(header));
		uint32_t checksum = crc32c(format->checksum_seed, &raw_block, sizeof(raw_block));

		header.h_checksum = htole32(crc32c(checksum, bytes, format->block_bytes));
	}
	memcpy(bytes, &header, sizeof(header));
}

uint64_t xattr_value_references(const struct inode_decoded *inode)
{
	return (uint64_t)(uint32_t)inode->value.ctime.seconds << 32 | inode->value.version;
}

void xattr_value_set_references(struct inode_decoded *inode, uint64_t references)
{
	inode->value.ctime = (struct inode_time){ .seconds = (int32_t)(references >> 32) };
	inode->value.version = (uint32_t)references;
}

bool xattr_value_is_of_lustre(const struct inode_decoded *value, uint32_t owner_ino, uint32_t owner_generation)
{
	return (uint32_t)value->value.mtime.seconds == owner_ino && value->value.generation == owner_generation;
}
