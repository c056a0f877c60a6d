/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image/volume_channel.h"

#include <string.h>

#include "support/io/whole_io.h"

/* An io_manager opens by name alone: this is the volume that it opens for this thread. */
static __thread const struct volume *opening;

static errcode_t close_channel(io_channel channel)
{
	if (--channel->refcount > 0)
		return 0;
	free(channel->name);
	free(channel);
	return 0;
}

static errcode_t set_block_size(io_channel channel, int block_bytes)
{
	channel->block_size = block_bytes;
	return 0;
}

/* Reads whole blocks from an overlay; the superblock is part of a block. */
static errcode_t read_through_overlay(const struct volume *volume, uint64_t offset, size_t count, void *bytes)
{
	uint64_t first = offset >> volume->format.block_bits;
	uint64_t last = (offset + count - 1) >> volume->format.block_bits;
	SCOPE_FREE uint8_t *blocks = malloc((size_t)(last - first + 1) << volume->format.block_bits);

	if (!blocks)
		return ENOMEM;
	errcode_t error = volume_read(volume, first, last - first + 1, blocks);

	if (!error)
		memcpy(bytes, blocks + (offset - (first << volume->format.block_bits)), count);
	return error;
}

/* A negative count is in bytes. */
static errcode_t read_blocks(io_channel channel, unsigned long long block, int count, void *bytes)
{
	const struct volume *volume = channel->private_data;
	size_t byte_count = count < 0 ? (size_t)-count : (size_t)count * (size_t)channel->block_size;
	uint64_t offset;

	if (__builtin_mul_overflow(block, (uint64_t)channel->block_size, &offset) ||
	    offset > (uint64_t)INT64_MAX - volume->offset_bytes || !byte_count)
		return EXT2_ET_SHORT_READ;
	if (volume->overlay)
		return read_through_overlay(volume, offset, byte_count, bytes);
	errcode_t error = whole_read(volume->descriptor, bytes, byte_count, volume->offset_bytes + offset);

	return error == ENODATA ? EXT2_ET_SHORT_READ : error;
}

static errcode_t read_few_blocks(io_channel channel, unsigned long block, int count, void *bytes)
{
	return read_blocks(channel, block, count, bytes);
}

static errcode_t open_channel(const char *name, int flags, io_channel *channel);

/* The manager has no functions for operations that it does not support. */
static struct struct_io_manager manager = {
	.magic = EXT2_ET_MAGIC_IO_MANAGER,
	.name = "a volume",
	.open = open_channel,
	.close = close_channel,
	.set_blksize = set_block_size,
	.read_blk = read_few_blocks,
	.read_blk64 = read_blocks,
};

static errcode_t open_channel(const char *name, int flags, io_channel *channel)
{
	SCOPE_FREE io_channel made = calloc(1, sizeof(*made));

	(void)flags;
	if (!made || !(made->name = strdup(name)))
		return ENOMEM;
	made->magic = EXT2_ET_MAGIC_IO_CHANNEL;
	made->manager = &manager;
	made->block_size = 1024;
	made->refcount = 1;
	made->private_data = (void *)opening;
	*channel = TAKE(made);
	return 0;
}

errcode_t volume_channel_open(const struct volume *volume, int flags, ext2_filsys *fs)
{
	opening = volume;
	errcode_t error = fs_open_with(&manager, volume->path, 0, flags, fs);

	opening = NULL;
	return error;
}
