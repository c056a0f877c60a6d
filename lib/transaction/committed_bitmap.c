/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "transaction/committed_bitmap.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#define DESCRIPTOR_FLAGS 18 /* bytes into a descriptor */

errcode_t committed_bitmap_init(struct committed_bitmap *bitmap, const struct layout *layout)
{
	*bitmap = (struct committed_bitmap){ layout, calloc(layout->groups, sizeof(*bitmap->groups)), NULL, 0, 0 };
	return bitmap->groups ? 0 : ENOMEM;
}

static void forget(struct committed_bitmap *bitmap, uint32_t group)
{
	free(TAKE(bitmap->groups[group]));
}

void committed_bitmap_destroy(struct committed_bitmap *bitmap)
{
	for (size_t index = 0; index < bitmap->read_count; index++)
		forget(bitmap, bitmap->read[index]);
	free(TAKE(bitmap->groups));
	free(TAKE(bitmap->read));
	bitmap->read_count = 0;
}

static uint64_t bit_of(const struct layout *layout, uint64_t block)
{
	return ((block - layout->first_block) % layout->group_blocks) >> layout->cluster_bits;
}

/* Marks metadata with a fixed place as used, whatever the bitmap says. */
static void mark_fixed(const struct layout *layout, uint32_t group, uint8_t *bits)
{
	const struct block_ranges *fixed = &layout->fixed;
	uint64_t start = layout->first_block + (uint64_t)group * layout->group_blocks;
	uint64_t end = start + layout->group_blocks;

	for (size_t index = block_ranges_at(fixed, start); index < fixed->count; index++) {
		const struct block_run *run = &fixed->runs[index];
		uint64_t first = run->start > start ? run->start : start;
		uint64_t last = run->start + run->count < end ? run->start + run->count : end;

		if (run->start >= end)
			break;
		for (uint64_t bit = bit_of(layout, first); first < last && bit <= bit_of(layout, last - 1); bit++)
			bits[bit / 8] |= (uint8_t)(1u << bit % 8);
	}
}

static errcode_t read_group(struct committed_bitmap *bitmap, io_channel backing, uint32_t group)
{
	const struct layout *layout = bitmap->layout;
	const struct group_layout *of_group = &layout->group[group];
	SCOPE_FREE uint8_t *bits = calloc(1, layout->block_bytes);
	errcode_t error =
		vector_reserve(&bitmap->read, &bitmap->read_capacity, bitmap->read_count + 1, sizeof(*bitmap->read));

	if (!bits || error)
		return ENOMEM;
	if (!of_group->is_uninit)
		error = io_channel_read_blk64(backing, of_group->block_bitmap, 1, bits);
	if (error)
		return error;
	mark_fixed(layout, group, bits);
	bitmap->read[bitmap->read_count++] = group;
	bitmap->groups[group] = TAKE(bits);
	return 0;
}

/* Needs the group's bitmap, which has been read. */
static bool is_used(const struct committed_bitmap *bitmap, uint64_t block)
{
	const uint8_t *bits = bitmap->groups[layout_group_of(bitmap->layout, block)];
	uint64_t bit = bit_of(bitmap->layout, block);

	return bits[bit / 8] & 1u << bit % 8;
}

errcode_t committed_bitmap_is_free(struct committed_bitmap *bitmap, io_channel backing, uint64_t block, bool *is_free)
{
	const struct layout *layout = bitmap->layout;

	*is_free = false;
	if (block < layout->first_block || block >= layout->blocks)
		return 0;
	uint32_t group = layout_group_of(layout, block);
	errcode_t error = bitmap->groups[group] ? 0 : read_group(bitmap, backing, group);

	if (error)
		return error;
	*is_free = !is_used(bitmap, block);
	return 0;
}

errcode_t committed_bitmap_read(struct committed_bitmap *bitmap, io_channel backing, uint64_t start, uint64_t count)
{
	uint32_t last = layout_group_of(bitmap->layout, start + count - 1);
	errcode_t error = 0;

	for (uint32_t group = layout_group_of(bitmap->layout, start); group <= last && !error; group++)
		if (!bitmap->groups[group])
			error = read_group(bitmap, backing, group);
	return error;
}

bool committed_bitmap_has_read(const struct committed_bitmap *bitmap, uint64_t start, uint64_t count)
{
	uint32_t last = layout_group_of(bitmap->layout, start + count - 1);

	for (uint32_t group = layout_group_of(bitmap->layout, start); group <= last; group++)
		if (!bitmap->groups[group])
			return false;
	return true;
}

bool committed_bitmap_are_free(const struct committed_bitmap *bitmap, uint64_t start, uint64_t count)
{
	for (uint64_t block = start; block < start + count; block++)
		if (is_used(bitmap, block))
			return false;
	return true;
}

/* Descriptors say which groups have an initialised bitmap. */
static void refresh_flags(struct committed_bitmap *bitmap, struct layout *layout, uint32_t index, const uint8_t *data)
{
	uint32_t first = index * layout->descriptors_in_block;

	for (uint32_t at = 0; at < layout->descriptors_in_block && first + at < layout->groups; at++) {
		struct group_layout *of_group = &layout->group[first + at];
		uint16_t flags_le;

		memcpy(&flags_le, data + (size_t)at * layout->descriptor_bytes + DESCRIPTOR_FLAGS, sizeof(flags_le));
		bool is_uninit = layout->has_uninit_groups && (le16toh(flags_le) & EXT2_BG_BLOCK_UNINIT);

		if (is_uninit != of_group->is_uninit)
			forget(bitmap, first + at);
		of_group->is_uninit = is_uninit;
	}
}

void committed_bitmap_refresh(struct committed_bitmap *bitmap, struct layout *layout, const struct held_blocks *held)
{
	size_t kept = 0;

	for (uint32_t index = 0; index < layout->descriptor_count; index++) {
		const struct held_block *block = held_blocks_find(held, layout->descriptor_blocks[index]);

		if (block)
			refresh_flags(bitmap, layout, index, block->data);
	}
	for (size_t index = 0; index < bitmap->read_count; index++) {
		uint32_t group = bitmap->read[index];

		if (held_blocks_find(held, layout->group[group].block_bitmap))
			forget(bitmap, group);
		if (bitmap->groups[group])
			bitmap->read[kept++] = group;
	}
	bitmap->read_count = kept;
}
