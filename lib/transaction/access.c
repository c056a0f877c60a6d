/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "transaction/access.h"

#include <errno.h>
#include <string.h>

#include "ext2fs/ext2mb_err.h"

#define MOST_BLOCKS 65536 /* per call of the backing channel, which counts with an int */

/* A part of a request that lies in one block. */
struct part {
	uint64_t block;
	uint32_t within;
	uint32_t bytes;
};

static struct part part_at(const struct channel_state *state, uint64_t offset, uint64_t bytes)
{
	uint32_t block_bytes = state->layout.block_bytes;
	struct part part = { offset / block_bytes, (uint32_t)(offset % block_bytes), 0 };

	part.bytes = block_bytes - part.within;
	if (bytes < part.bytes)
		part.bytes = (uint32_t)bytes;
	return part;
}

static bool is_whole(const struct channel_state *state, const struct part *part)
{
	return part->bytes == state->layout.block_bytes;
}

/* Reads a block as the program sees it. */
static errcode_t read_block(struct channel_state *state, uint64_t block, uint8_t *data)
{
	errcode_t error = io_channel_read_blk64(state->backing, block, 1, data);

	if (!error && block == channel_super_block(state))
		superblock_set_needs_recovery(data + channel_super_offset(state), false);
	return error;
}

static errcode_t read_part(struct channel_state *state, const struct part *part, void *data)
{
	SCOPE_FREE uint8_t *copy = malloc(state->layout.block_bytes);

	if (!copy)
		return ENOMEM;
	errcode_t error = read_block(state, part->block, copy);

	if (!error)
		memcpy(data, copy + part->within, part->bytes);
	return error;
}

/* How many whole blocks from here on can be read from the backing channel unchanged. */
static uint64_t plain_blocks(const struct channel_state *state, uint64_t block, uint64_t most)
{
	uint64_t count = 0;

	while (count < most && count < MOST_BLOCKS && block + count != channel_super_block(state) &&
	       !held_blocks_find(&state->held, block + count))
		count++;
	return count;
}

errcode_t access_read(struct channel_state *state, uint64_t offset, uint64_t bytes, void *data)
{
	const uint32_t block_bytes = state->layout.block_bytes;
	uint8_t *to = data;

	while (bytes) {
		struct part part = part_at(state, offset, bytes);
		const struct held_block *held = held_blocks_find(&state->held, part.block);
		uint64_t done = part.bytes;
		uint64_t plain = is_whole(state, &part) ? plain_blocks(state, part.block, bytes / block_bytes) : 0;
		errcode_t error = 0;

		/* The superblock may be read in parts. */
		if (held) {
			memcpy(to, held->data + part.within, part.bytes);
		} else if (plain) {
			done = plain * block_bytes;
			error = io_channel_read_blk64(state->backing, part.block, (int)plain, to);
		} else {
			error = read_part(state, &part, to);
		}
		if (error)
			return error;
		to += done;
		offset += done;
		bytes -= done;
	}
	return 0;
}

/* Refuses a journal inode with another block map. */
static errcode_t check_journal_inode(struct channel_state *state, const struct held_block *held)
{
	const struct layout *layout = &state->layout;
	static const struct {
		size_t offset, bytes;
	} kept[] = {
		{ offsetof(struct ext2_inode, i_mode), 2 },      { offsetof(struct ext2_inode, i_size), 4 },
		{ offsetof(struct ext2_inode, i_flags), 4 },     { offsetof(struct ext2_inode, i_block), 60 },
		{ offsetof(struct ext2_inode, i_size_high), 4 }, { offsetof(struct ext2_inode, i_links_count), 2 },
	};

	if (!layout->has_journal || held->block != layout->journal_inode_block)
		return 0;
	errcode_t error = io_channel_read_blk64(state->backing, held->block, 1, state->bounce);
	if (error)
		return error;
	for (size_t index = 0; index < sizeof(kept) / sizeof(*kept); index++) {
		size_t at = layout->journal_inode_offset + kept[index].offset;

		if (memcmp(held->data + at, state->bounce + at, kept[index].bytes))
			return EXT2MB_ET_JOURNAL_WRITE;
	}
	return 0;
}

/* Refuses contents of a held block that change the layout or the journal. */
static errcode_t check_held(struct channel_state *state, struct held_block *held)
{
	if (held->block != channel_super_block(state))
		return check_journal_inode(state, held);
	uint8_t *super = held->data + channel_super_offset(state);
	errcode_t error = superblock_may_become(state->super, super);

	if (!error)
		superblock_set_needs_recovery(super, false);
	return error;
}

static void put(void *to, const void *data, uint32_t bytes)
{
	if (data)
		memcpy(to, data, bytes);
	else
		memset(to, 0, bytes);
}

static errcode_t hold(struct channel_state *state, const struct part *part, const void *data)
{
	struct held_block *held = held_blocks_find(&state->held, part->block);

	if (!held) {
		errcode_t error = held_blocks_add(&state->held, part->block, &held);

		if (error)
			return error;
		if (!is_whole(state, part))
			error = read_block(state, part->block, held->data);
		if (error) {
			held_blocks_drop(&state->held, held);
			return error;
		}
	}
	put(held->data + part->within, data, part->bytes);
	return check_held(state, held);
}

static errcode_t write_direct(struct channel_state *state, const struct part *part, const void *data, uint64_t count)
{
	state->has_unflushed = true;
	state->counts.direct_blocks += count;
	if (data && is_whole(state, part))
		return io_channel_write_blk64(state->backing, part->block, (int)count, data);
	if (!data && is_whole(state, part) && !io_channel_zeroout(state->backing, part->block, count))
		return 0;

	for (uint64_t index = 0; index < count; index++) {
		errcode_t error = is_whole(state, part) ?
		                          0 :
		                          io_channel_read_blk64(state->backing, part->block + index, 1, state->bounce);

		if (error)
			return error;
		put(state->bounce + part->within, data, part->bytes);
		error = io_channel_write_blk64(state->backing, part->block + index, 1, state->bounce);
		if (error)
			return error;
	}
	return 0;
}

/* Valid only while frees are reported: a block that was freed and allocated again is no longer this file's on disk. */
static bool is_named_data(const struct channel_state *state, uint64_t block)
{
	if (!block_ranges_has(&state->data, block))
		return false;
	ext2_filsys fs = channel_filesystem(state);

	return fs && channel_hears_frees(state, fs);
}

/* Whether the block is written in place at once: nothing refers to it before the commit, or it is named data, or the
 * MMP block. A rehearsal writes only that. */
static errcode_t may_go_down(struct channel_state *state, uint64_t block, bool *is_direct)
{
	const struct layout *layout = &state->layout;

	*is_direct = layout->mmp_block && block == layout->mmp_block;
	if (block >= layout->blocks)
		return EXT2MB_ET_BAD_RANGE;
	if (block_ranges_has(&layout->journal, block))
		return EXT2MB_ET_JOURNAL_WRITE;
	if (*is_direct || state->is_rehearsal || held_blocks_find(&state->held, block))
		return 0;
	*is_direct = is_named_data(state, block);
	return *is_direct ? 0 : committed_bitmap_is_free(&state->committed, state->backing, block, is_direct);
}

/* How many whole blocks from here on are written at once; the first one is. */
static errcode_t direct_blocks(struct channel_state *state, uint64_t block, uint64_t most, uint64_t *count)
{
	bool is_direct = true;
	errcode_t error = 0;

	for (*count = 1; *count < most && *count < MOST_BLOCKS; ++*count) {
		error = may_go_down(state, block + *count, &is_direct);
		if (error || !is_direct)
			break;
	}
	/* A block that must be refused is refused when its turn comes. */
	return error == EXT2MB_ET_BAD_RANGE || error == EXT2MB_ET_JOURNAL_WRITE ? 0 : error;
}

/*
 * Only we write the journal. A write that changes nothing succeeds: when it mounts, fuse2fs 1.47.4 writes the
 * journal's superblock as it has read it.
 */
static errcode_t write_to_journal(struct channel_state *state, const struct part *part, const void *data)
{
	errcode_t error = io_channel_read_blk64(state->backing, part->block, 1, state->bounce);

	if (error)
		return error;
	return data && !memcmp(state->bounce + part->within, data, part->bytes) ? 0 : EXT2MB_ET_JOURNAL_WRITE;
}

errcode_t access_write(struct channel_state *state, uint64_t offset, uint64_t bytes, const void *data)
{
	const uint8_t *from = data;

	while (bytes) {
		struct part part = part_at(state, offset, bytes);
		uint64_t count = 1, done;
		bool is_direct;
		errcode_t error = may_go_down(state, part.block, &is_direct);

		if (!error && is_direct && is_whole(state, &part))
			error = direct_blocks(state, part.block, bytes / part.bytes, &count);
		/* Two concurrent writes to one block would leave any mixture. */
		if (!error && is_direct && data_claims_overlap(&state->data_claims, part.block, count))
			error = EXT2MB_ET_CLAIMED;
		if (!error)
			error = block_ranges_remove(&state->discards, part.block, count);
		if (!error)
			error = is_direct ? write_direct(state, &part, from, count) : hold(state, &part, from);
		else if (error == EXT2MB_ET_JOURNAL_WRITE)
			error = write_to_journal(state, &part, from);
		if (error)
			return error;
		done = (uint64_t)part.bytes * count;
		from = from ? from + done : NULL;
		offset += done;
		bytes -= done;
	}
	return 0;
}
