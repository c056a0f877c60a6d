/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "allocator/preallocation/block_range.h"

#include <sched.h>

#include "allocator/group/group.h"
#include "allocator/group/group_reserved.h"
#include "allocator/preallocation/preallocation_register.h"
#include "support/bits.h"

/* The clusters of a word that are used so, as set bits. The group is locked and loaded. */
static uint64_t word_of(const struct ext2mb *mb, uint32_t number, uint32_t word, enum ext2mb_block_use use)
{
	uint64_t used = mb->groups[number].buddy->bitmap[word], reserved = group_reserved_word(mb, number, word);

	switch (use) {
	case EXT2MB_BLOCKS_FREE:
		return ~used;
	case EXT2MB_BLOCKS_RESERVED:
		return used & reserved;
	default:
		return used & ~reserved;
	}
}

static enum ext2mb_block_use use_of(const struct ext2mb *mb, uint32_t number, uint32_t cluster)
{
	uint32_t word = cluster / BITS_PER_WORD;
	enum ext2mb_block_use use = EXT2MB_BLOCKS_FREE;

	while (use < EXT2MB_BLOCKS_USED && !(word_of(mb, number, word, use) >> cluster % BITS_PER_WORD & 1))
		use++;
	return use;
}

/* Returns the end of the run of clusters in this state that begins at start; at most `end`. */
static uint32_t end_of(const struct ext2mb *mb, uint32_t number, uint32_t start, uint32_t end,
                       enum ext2mb_block_use use)
{
	for (uint32_t at = start; at < end; at = (at / BITS_PER_WORD + 1) * BITS_PER_WORD) {
		uint64_t others = ~word_of(mb, number, at / BITS_PER_WORD, use) >> at % BITS_PER_WORD;

		if (others) {
			at += (uint32_t)__builtin_ctzll(others);
			return at < end ? at : end;
		}
	}
	return end;
}

/* met_reserved: a bit of a preallocation decided where the run ends. */
static errcode_t look(struct ext2mb *mb, uint64_t position, uint64_t count, enum ext2mb_block_use *use, uint64_t *alike,
                      bool *met_reserved)
{
	for (*alike = 0; *alike < count;) {
		struct group_piece piece = geometry_piece(&mb->geometry, position + *alike, count - *alike);
		errcode_t error = group_enter(mb, piece.group);

		if (error)
			return *alike && error == EXT2MB_ET_CORRUPT_GROUP ? 0 : error;
		if (!*alike)
			*use = use_of(mb, piece.group, piece.start);
		uint32_t end = end_of(mb, piece.group, piece.start, piece.start + piece.count, *use);
		bool goes_on = end == piece.start + piece.count;
		*met_reserved = *use == EXT2MB_BLOCKS_RESERVED ||
		                (!goes_on && use_of(mb, piece.group, end) == EXT2MB_BLOCKS_RESERVED);
		group_leave(mb, piece.group);
		*alike += end - piece.start;
		if (!goes_on)
			break;
	}
	return 0;
}

errcode_t block_range_use(struct ext2mb *mb, uint64_t position, uint64_t count, enum ext2mb_block_use *use,
                          uint64_t *alike)
{
	bool met_reserved;
	errcode_t error = look(mb, position, count, use, alike, &met_reserved);

	if (error || !met_reserved)
		return error;
	/* Some of these clusters may have been handed out: see group_reserved.h. */
	preallocation_register_clear_served(mb);
	return look(mb, position, count, use, alike, &met_reserved);
}

/* The group stays locked unless this fails. */
static errcode_t enter_free_piece(struct ext2mb *mb, const struct group_piece *piece)
{
	uint32_t end = piece->start + piece->count;
	errcode_t error = group_enter(mb, piece->group);

	if (error)
		return error;
	if (buddy_next_used(mb->groups[piece->group].buddy, piece->start, end) == end)
		return 0;
	group_leave(mb, piece->group);
	return EXT2MB_ET_NO_SPACE;
}

static void alloc_piece(struct ext2mb *mb, const struct group_piece *piece)
{
	group_alloc(mb, piece->group, piece->start, piece->count);
	group_leave_changed(mb, piece->group);
}

static errcode_t refuse_used(struct ext2mb *mb, uint64_t position, uint64_t count)
{
	for (uint64_t alike, done = 0; done < count; done += alike) {
		enum ext2mb_block_use use;
		errcode_t error = block_range_use(mb, position + done, count - done, &use, &alike);

		if (error || use == EXT2MB_BLOCKS_USED)
			return error ? error : EXT2MB_ET_NO_SPACE;
	}
	return 0;
}

/* A preallocation that another thread makes there meanwhile hands out a part of itself at once, so this ends. */
errcode_t block_range_alloc(struct ext2mb_worker *worker, uint64_t position, uint64_t count)
{
	const struct cluster_range range = { position, position + count };
	struct ext2mb *mb = worker->mb;

	for (;;) {
		errcode_t error = group_change_range(mb, position, count, enter_free_piece, alloc_piece);

		if (error == EXT2MB_ET_NO_SPACE) {
			error = refuse_used(mb, position, count);
			if (error)
				return error;
			preallocation_register_give_back(mb, &worker->stats, &range);
			sched_yield();
			continue;
		}
		if (error)
			return error;
		stats_add(&worker->stats, COUNT_REQUESTS, 1);
		stats_add(&worker->stats, COUNT_SUCCESSES, 1);
		stats_add(&worker->stats, COUNT_CLUSTERS_ALLOCATED, count);
		return 0;
	}
}
