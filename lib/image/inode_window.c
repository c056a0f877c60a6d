/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image/inode_window.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MOST_BYTES (64u << 10)

errcode_t inode_window_open(struct inode_window *window, const struct volume *volume)
{
	size_t bytes = volume->format.block_bytes > MOST_BYTES ? volume->format.block_bytes : MOST_BYTES;

	*window = (struct inode_window){ .volume = volume, .bytes = malloc(bytes) };
	return window->bytes ? 0 : ENOMEM;
}

void inode_window_free(struct inode_window *window)
{
	free(window->bytes);
	*window = (struct inode_window){ 0 };
}

/* Reads the piece that begins with a block, of which `left` remain in the table. */
static errcode_t move_to(struct inode_window *window, uint64_t block, uint64_t left)
{
	uint32_t most = MOST_BYTES >> window->volume->format.block_bits, blocks = 1;

	if (window->blocks && block == window->block + window->blocks)
		blocks = 2 * window->blocks;
	blocks = blocks < most ? blocks : most ? most : 1;
	blocks = blocks < left ? blocks : (uint32_t)left;
	errcode_t error = volume_read(window->volume, block, blocks, window->bytes);

	/* A damaged block does not lose the others. */
	if (error && blocks > 1) {
		blocks = 1;
		error = volume_read(window->volume, block, blocks, window->bytes);
	}
	window->block = block;
	window->blocks = error ? 0 : blocks;
	return error;
}

errcode_t inode_window_read(struct inode_window *window, uint32_t ino, void *raw, struct volume_inode *inode)
{
	const struct volume *volume = window->volume;
	struct inode_place place;
	errcode_t error = volume_find_inode(volume, ino, &place);

	if (!error && (place.block < window->block || place.block >= window->block + window->blocks))
		error = move_to(window, place.block, place.table_blocks);
	if (error)
		return error;
	memcpy(raw, window->bytes + ((place.block - window->block) << volume->geometry.block_bits) + place.offset_bytes,
	       volume->format.inode_bytes);
	return volume_inode_decode(volume, ino, raw, inode);
}
