/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "simulate/image/inode_buffers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "simulate/image/image.h"

#define MICROSECOND 1000
#define SECOND 1000000000

#define FILE_SECONDS 1752498207 /* 2025-07-14, when the series was posted */

struct inode_value simulated_inode_value(const struct image *image, uint16_t mode, uint32_t links)
{
	const struct inode_time time = { .seconds = FILE_SECONDS };

	return (struct inode_value){
		.mode = mode,
		.links = links,
		.flags = image->format.extents ? EXT4_EXTENTS_FL : 0,
		.atime = time,
		.ctime = time,
		.mtime = time,
		.crtime = time,
	};
}

/* Consecutive files share a buffer if their inodes share a block. */
static bool begins_block(const struct image *image, const struct file_set *set, size_t index)
{
	return !index ||
	       image_inode_block(image, set->files[index].ino) != image_inode_block(image, set->files[index - 1].ino);
}

static errcode_t read_blocks(struct image *image, struct file_set *set)
{
	const uint32_t block_bytes = image->format.block_bytes;
	uint8_t *block = set->buffers->blocks;

	for (size_t index = 0; index < set->count; index++) {
		const struct simulated_file *file = &set->files[index];

		if (begins_block(image, set, index)) {
			block += index ? block_bytes : 0;
			errcode_t error = image_read_inode_block(image, file->ino, block);

			if (error)
				return error;
		}
		set->buffers->inodes[index] = (struct buffered_inode){
			.value = simulated_inode_value(image, S_IFREG | 0644, 1),
			.bytes = block + image_inode_offset(image, file->ino),
		};
	}
	return 0;
}

errcode_t inode_buffers_open(struct image *image, struct file_set *set)
{
	size_t blocks = 0;

	for (size_t index = 0; index < set->count; index++)
		blocks += begins_block(image, set, index);
	set->buffers = calloc(1, sizeof(*set->buffers));
	if (!set->buffers)
		return ENOMEM;
	set->buffers->inodes =
		aligned_alloc(_Alignof(struct buffered_inode), (set->count + 1) * sizeof(struct buffered_inode));
	set->buffers->blocks = aligned_alloc(image->format.block_bytes, (blocks + 1) * image->format.block_bytes);
	return set->buffers->inodes && set->buffers->blocks ? read_blocks(image, set) : ENOMEM;
}

void inode_buffers_touch(struct buffered_inode *inode)
{
	struct inode_time *time = &inode->value.mtime;

	time->nanoseconds += MICROSECOND;
	if (time->nanoseconds >= SECOND) {
		time->nanoseconds -= SECOND;
		time->seconds++;
	}
	inode->value.ctime = *time;
}

errcode_t inode_buffers_mark_dirty(const struct image *image, const struct simulated_file *file,
                                   struct buffered_inode *inode)
{
	inode->value.blocks = image_charged_blocks(image, file);
	inode->changes++;
	return inode_encode(&image->format, file->ino, &inode->value, NULL, inode->bytes);
}

errcode_t inode_buffers_mark_extents(const struct image *image, const struct simulated_file *file,
                                     struct buffered_inode *inode)
{
	if (!file_map_blocks(&image->format, file->map.extents, file->map.count)) {
		errcode_t error = file_map_build(&image->format, file->ino, inode->value.generation, file->map.extents,
		                                 file->map.count, NULL, inode->value.root, NULL);

		if (error)
			return error;
	}
	return inode_buffers_mark_dirty(image, file, inode);
}

uint64_t inode_buffers_changes(const struct file_set *set)
{
	uint64_t changes = 0;

	for (size_t index = 0; index < set->count; index++)
		changes += set->buffers->inodes[index].changes;
	return changes;
}

void inode_buffers_free(struct inode_buffers *buffers)
{
	if (!buffers)
		return;
	free(buffers->inodes);
	free(buffers->blocks);
	free(buffers);
}
