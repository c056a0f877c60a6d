/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ondisk/directory_parts.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "ondisk/inode.h"
#include "support/crc32c.h"

/* As on disk. ext2_dir_entry_2 contains the longest name and so would reach beyond the end of the block. */
struct entry_head {
	uint32_t ino;
	uint16_t record;
	uint8_t name_length;
	uint8_t file_type; /* the high byte of name_length without the filetype feature: 0 */
};

_Static_assert(sizeof(struct entry_head) == 8, "the head of a directory entry");
_Static_assert(sizeof(struct ext2_dir_entry_tail) == 12, "the tail of a directory block");

/* A record of 64 KiB does not fit 16 bits; ext4 writes 65535, which is not a multiple of 4. */
static uint16_t record_to_disk(uint32_t record_bytes)
{
	return htole16(record_bytes == 65536 ? 65535 : record_bytes);
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

void directory_entry_point(const struct ondisk_format *format, uint8_t *at, struct directory_target target)
{
	const uint32_t ino = htole32(target.ino);

	memcpy(at, &ino, sizeof(ino));
	at[offsetof(struct entry_head, file_type)] = format->filetype ? target.file_type : 0;
}

void directory_entry_write_hashes(uint8_t *at, uint8_t name_length_bytes, struct directory_hashes hashes)
{
	const uint32_t words[] = { htole32(hashes.hash), htole32(hashes.minor) };

	memcpy(at + directory_entry_bytes(name_length_bytes), words, sizeof(words));
}

void directory_block_finish(const struct ondisk_format *format, uint8_t *block, uint32_t last_offset,
                            uint32_t inode_seed)
{
	directory_record_resize(block + last_offset, directory_block_capacity(format) - last_offset);
	directory_block_seal(format, block, inode_seed);
}

void directory_record_resize(uint8_t *at, uint32_t record_bytes)
{
	const uint16_t record = record_to_disk(record_bytes);

	memcpy(at + offsetof(struct entry_head, record), &record, sizeof(record));
}

void directory_block_seal(const struct ondisk_format *format, uint8_t *block, uint32_t inode_seed)
{
	const uint32_t capacity = directory_block_capacity(format);

	if (!format->checksums)
		return;
	const struct ext2_dir_entry_tail tail = {
		.det_rec_len = htole16(sizeof(tail)),
		.det_reserved_name_len = htole16(EXT2_DIR_NAME_LEN_CSUM),
		.det_checksum = htole32(crc32c(inode_seed, block, capacity)),
	};
	memcpy(block + capacity, &tail, sizeof(tail));
}

/* Inline data. */

#define PARENT_BYTES 4
#define ROOT_CAPACITY (INODE_ROOT_BYTES - PARENT_BYTES)

static uint32_t bytes_of(const struct directory_source *source, uint32_t entry)
{
	return directory_entry_bytes(source->name(source->context, entry).length_bytes);
}

uint32_t directory_inline_bytes(const struct directory_source *source, uint32_t room_bytes)
{
	uint32_t root_used = 0, bytes = INODE_ROOT_BYTES;

	for (uint32_t entry = 0; entry < source->count && bytes <= room_bytes; entry++) {
		uint32_t entry_bytes = bytes_of(source, entry);

		/* An entry does not cross from i_block into the xattr; after the first entry there, the order is
		 * kept. */
		if (bytes == INODE_ROOT_BYTES && root_used + entry_bytes <= ROOT_CAPACITY)
			root_used += entry_bytes;
		else
			bytes += entry_bytes;
	}
	return bytes <= room_bytes ? bytes : 0;
}

/* Writes entries from *next on, as many as fit. The last record reaches to the end; without entries it is unused. */
static errcode_t fill(const struct ondisk_format *format, const struct directory_source *source, uint32_t *next,
                      uint8_t *at, uint32_t left)
{
	if (left)
		directory_entry_write(format, at, left, (struct directory_name){ 0 }, (struct directory_target){ 0 });
	while (*next < source->count && bytes_of(source, *next) <= left) {
		struct directory_name name = source->name(source->context, *next);
		struct directory_target target = source->target(source->context, *next);
		uint32_t record_bytes = bytes_of(source, (*next)++);

		if (!target.ino || !name.length_bytes)
			return EINVAL;
		if (*next == source->count || bytes_of(source, *next) > left - record_bytes)
			record_bytes = left;
		directory_entry_write(format, at, record_bytes, name, target);
		at += record_bytes;
		left -= record_bytes;
	}
	return 0;
}

errcode_t directory_build_inline(const struct ondisk_format *format, const struct directory_source *source,
                                 uint32_t parent_ino, void *data, uint32_t bytes)
{
	uint32_t parent = htole32(parent_ino), next = 0;
	uint8_t *at = data;

	if (!parent_ino || bytes < INODE_ROOT_BYTES)
		return EINVAL;
	memset(data, 0, bytes);
	memcpy(at, &parent, sizeof(parent));
	errcode_t error = fill(format, source, &next, at + PARENT_BYTES, ROOT_CAPACITY);

	if (!error)
		error = fill(format, source, &next, at + INODE_ROOT_BYTES, bytes - INODE_ROOT_BYTES);
	return error ? error : next == source->count ? 0 : EINVAL;
}
