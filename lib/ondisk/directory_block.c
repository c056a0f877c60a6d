/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ondisk/directory_block.h"

#include <endian.h>
#include <string.h>

#include "support/crc32c.h"

/* As on disk. ext2_dir_entry_2 has the longest name inside and so would reach beyond the end of the block. */
struct entry_head {
	uint32_t ino;
	uint16_t record;
	uint8_t name_length;
	uint8_t file_type; /* the high byte of name_length without the filetype feature: 0 */
};

_Static_assert(sizeof(struct entry_head) == 8, "the head of a directory entry");
_Static_assert(sizeof(struct ext2_dir_entry_tail) == 12, "the tail of a directory block");

/* A record that fills a block of 64 KiB does not fit 16 bits; ext4 has 65535, no multiple of 4, mean it. */
static uint16_t record_to_disk(uint32_t record_bytes)
{
	return htole16(record_bytes == 65536 ? 65535 : record_bytes);
}

uint32_t directory_block_capacity(const struct ondisk_format *format)
{
	return format->block_bytes - (format->checksums ? sizeof(struct ext2_dir_entry_tail) : 0);
}

void directory_entry_write(const struct ondisk_format *format, uint8_t *at, uint32_t record_bytes,
                           struct directory_name name, struct directory_target target)
{
	const struct entry_head head = {
		.ino = htole32(target.ino),
		.record = record_to_disk(record_bytes),
		.name_length = name.length_bytes,
		.file_type = format->filetype ? target.file_type : 0,
	};

	memcpy(at, &head, sizeof(head));
	if (name.length_bytes)
		memcpy(at + sizeof(head), name.name, name.length_bytes);
}

void directory_block_begin(const struct ondisk_format *format, void *bytes, struct directory_block *block)
{
	*block = (struct directory_block){.bytes = bytes, .capacity_bytes = directory_block_capacity(format)};
	memset(bytes, 0, format->block_bytes);
}

bool directory_block_add(const struct ondisk_format *format, struct directory_block *block, struct directory_name name,
                         struct directory_target target)
{
	const uint32_t entry_bytes = directory_entry_bytes(name.length_bytes);

	if (entry_bytes > block->capacity_bytes - block->used_bytes)
		return false;
	directory_entry_write(format, block->bytes + block->used_bytes, entry_bytes, name, target);
	block->last_offset = block->used_bytes;
	block->used_bytes += entry_bytes;
	return true;
}

void directory_block_finish(const struct ondisk_format *format, struct directory_block *block, uint32_t inode_seed)
{
	const uint16_t record = record_to_disk(block->capacity_bytes - block->last_offset);

	memcpy(block->bytes + block->last_offset + offsetof(struct entry_head, record), &record, sizeof(record));
	if (!format->checksums)
		return;
	const struct ext2_dir_entry_tail tail = {
		.det_rec_len = htole16(sizeof(tail)),
		.det_reserved_name_len = htole16(EXT2_DIR_NAME_LEN_CSUM),
		.det_checksum = htole32(crc32c(inode_seed, block->bytes, block->capacity_bytes)),
	};
	memcpy(block->bytes + block->capacity_bytes, &tail, sizeof(tail));
}
