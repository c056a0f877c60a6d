/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ondisk/directory.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "ondisk/directory_block.h"
#include "ondisk/inode.h"

#define PARENT_BYTES 4
#define ROOT_CAPACITY (INODE_ROOT_BYTES - PARENT_BYTES)

uint32_t directory_inline_bytes(const struct directory_source *source, uint32_t room_bytes)
{
	uint32_t root_used = 0, bytes = INODE_ROOT_BYTES;

	for (uint32_t entry = 0; entry < source->count && bytes <= room_bytes; entry++) {
		uint32_t entry_bytes = directory_entry_bytes(source->name(source->context, entry).length_bytes);

		/* An entry does not reach from i_block into the xattr; after the first that is there, the order is
		 * kept. */
		if (bytes == INODE_ROOT_BYTES && root_used + entry_bytes <= ROOT_CAPACITY)
			root_used += entry_bytes;
		else
			bytes += entry_bytes;
	}
	return bytes <= room_bytes ? bytes : 0;
}

static uint32_t bytes_of(const struct directory_source *source, uint32_t entry)
{
	return directory_entry_bytes(source->name(source->context, entry).length_bytes);
}

/* Writes entries from *next on, as many as fit. The last one's record reaches to the end; without any, an unused one.
 */
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
