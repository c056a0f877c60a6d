/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "update/directory/editor_inline.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <ext2fs/ext2_err.h>

#include "ondisk/inode.h"

#define PARENT_BYTES 4u

struct entry_block editor_inline_part(const struct editor_inline *data, unsigned int part)
{
	if (!part)
		return (struct entry_block){ data->bytes + PARENT_BYTES, INODE_ROOT_BYTES - PARENT_BYTES };
	return (struct entry_block){ data->bytes + INODE_ROOT_BYTES, data->byte_count - INODE_ROOT_BYTES };
}

errcode_t editor_inline_open(struct editor_inline *data, const void *bytes, uint32_t byte_count, uint32_t room_bytes,
                             uint32_t inode_count)
{
	if (byte_count < INODE_ROOT_BYTES)
		return EXT2_ET_DIR_CORRUPTED;
	if (room_bytes < byte_count)
		return EINVAL;
	data->bytes = calloc(1, room_bytes);
	if (!data->bytes)
		return ENOMEM;
	memcpy(data->bytes, bytes, byte_count);
	data->byte_count = byte_count;
	data->room_bytes = room_bytes;

	uint32_t parent_ino = editor_inline_parent(data);

	if (!parent_ino || parent_ino > inode_count)
		return EXT2_ET_DIR_CORRUPTED;
	for (unsigned int part = 0; part < INLINE_PARTS; part++)
		if (!entry_block_is_sound(editor_inline_part(data, part), inode_count))
			return EXT2_ET_DIR_CORRUPTED;
	return 0;
}

void editor_inline_close(struct editor_inline *data)
{
	free(data->bytes);
	*data = (struct editor_inline){ 0 };
}

uint32_t editor_inline_parent(const struct editor_inline *data)
{
	uint32_t raw;

	memcpy(&raw, data->bytes, sizeof(raw));
	return le32toh(raw);
}

void editor_inline_set_parent(struct editor_inline *data, uint32_t ino)
{
	const uint32_t raw = htole32(ino);

	memcpy(data->bytes, &raw, sizeof(raw));
	data->is_changed = true;
}

bool editor_inline_add(struct editor_inline *data, const struct ondisk_format *format, struct directory_name name,
                       struct directory_target target)
{
	const uint32_t needed = directory_entry_bytes(name.length_bytes);

	for (unsigned int part = 0; part < INLINE_PARTS; part++) {
		if (entry_block_add(format, editor_inline_part(data, part), name, target)) {
			data->is_changed = true;
			return true;
		}
	}
	if (needed > data->room_bytes - data->byte_count)
		return false;
	entry_block_clear(format, (struct entry_block){ data->bytes + data->byte_count, needed });
	data->byte_count += needed;
	data->is_changed = true;
	return entry_block_add(format, editor_inline_part(data, 1), name, target);
}

bool editor_inline_unpack(const struct editor_inline *data, const struct ondisk_format *format, uint32_t ino,
                          struct entry_block entries)
{
	struct entry_packer packer = entry_packer_begin(format, entries);

	if (!entry_packer_put(format, &packer, (struct directory_name){ ".", 1 },
	                      (struct directory_target){ ino, EXT2_FT_DIR }) ||
	    !entry_packer_put(format, &packer, (struct directory_name){ "..", 2 },
	                      (struct directory_target){ editor_inline_parent(data), EXT2_FT_DIR }))
		return false;
	for (unsigned int part = 0; part < INLINE_PARTS; part++) {
		struct directory_record record = { 0 };

		while (entry_block_next(editor_inline_part(data, part), &record))
			if (record.entry.ino && !entry_packer_put(format, &packer, directory_record_name(&record),
			                                          directory_record_target(&record)))
				return false;
	}
	return true;
}
