/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image/inode_table.h"

#include <string.h>

/* If the table cannot be read at once, it is read block by block. */
void inode_table_read(const struct volume *volume, uint32_t first_ino, uint64_t block, uint32_t count, uint8_t *bytes,
                      inode_table_lost_function lost, void *context)
{
	uint32_t inodes_per_block = volume->format.block_bytes / volume->format.inode_bytes;

	if (!volume_read(volume, block, count, bytes))
		return;
	for (uint32_t n = 0; n < count; n++) {
		uint8_t *at = bytes + ((size_t)n << volume->format.block_bits);
		bool is_end = block + n >= volume->readable_end;

		if (!is_end && !volume_read(volume, block + n, 1, at))
			continue;
		memset(at, 0, (size_t)(is_end ? count - n : 1) << volume->format.block_bits);
		lost(context, first_ino + n * inodes_per_block, block + n);
		if (is_end)
			return;
	}
}
