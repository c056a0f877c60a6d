/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ext2fs/orphan_slots.h"

#include <errno.h>
#include <string.h>

#include "ext2fs/ext2mb.h"

/* The tests let other threads in here, between two steps whose order matters. */
#ifndef ORPHAN_SLOTS_BETWEEN_STEPS
#define ORPHAN_SLOTS_BETWEEN_STEPS()
#endif

/*
 * A reservation means that there is an empty slot, but others may fill the one ahead and empty one behind. After so
 * many times around the block the reservation is given back: it ends even if memory is corrupt.
 */
#define WRAPS 3

#define LINE_BYTES 128

errcode_t orphan_slots_create(struct orphan_slots *slots, const struct orphan_slots_twin *twin, uint32_t blocks,
                              uint32_t per_block)
{
	const uint32_t per_line = LINE_BYTES / sizeof(*slots->entries);

	*slots = (struct orphan_slots){
		.twin = twin,
		.blocks = blocks,
		.per_block = per_block,
		.stride = (per_block + per_line - 1) / per_line * per_line,
	};
	const size_t entries_bytes = (size_t)blocks * slots->stride * sizeof(*slots->entries);
	slots->block = aligned_alloc(LINE_BYTES, blocks * sizeof(*slots->block));
	slots->entries = aligned_alloc(LINE_BYTES, entries_bytes);
	if (!slots->block || !slots->entries) {
		free(slots->block);
		free(slots->entries);
		return ENOMEM;
	}
	memset(slots->block, 0, blocks * sizeof(*slots->block));
	memset(slots->entries, 0, entries_bytes);
	for (uint32_t block = 0; block < blocks; block++)
		slots->block[block].free = per_block;
	pthread_mutex_init(&slots->lock, NULL);
	return 0;
}

void orphan_slots_destroy(struct orphan_slots *slots)
{
	pthread_mutex_destroy(&slots->lock);
	free(slots->block);
	free(slots->entries);
}

void orphan_slots_load(struct orphan_slots *slots, uint32_t block, const uint32_t *entries)
{
	_Atomic uint32_t *to = orphan_slots_entries(slots, block);
	uint32_t empty = 0;

	for (uint32_t slot = 0; slot < slots->per_block; slot++) {
		to[slot] = entries[slot];
		empty += !entries[slot];
	}
	slots->block[block].free = empty;
}

uint32_t orphan_slots_next(const struct orphan_slots *slots, uint32_t *index)
{
	uint32_t slot = *index % slots->per_block;

	for (uint32_t block = *index / slots->per_block; block < slots->blocks; block++, slot = 0) {
		const _Atomic uint32_t *entries = orphan_slots_entries(slots, block);

		for (; slot < slots->per_block; slot++) {
			uint32_t ino = atomic_load_explicit(&entries[slot], memory_order_acquire);

			if (ino) {
				*index = block * slots->per_block + slot;
				return ino;
			}
		}
	}
	return 0;
}

bool orphan_slots_collect(struct orphan_slots *slots, uint32_t block, uint32_t *entries)
{
	const _Atomic uint32_t *from = orphan_slots_entries(slots, block);

	/* Whoever set the flag before this changed the slot before that, so the copy has it. */
	if (!atomic_exchange_explicit(&slots->block[block].is_changed, false, memory_order_acquire))
		return false;
	for (uint32_t slot = 0; slot < slots->per_block; slot++)
		entries[slot] = atomic_load_explicit(&from[slot], memory_order_relaxed);
	return true;
}

void orphan_slots_mark_changed(struct orphan_slots *slots, uint32_t block)
{
	/* Always stored, even if it looks set: the look could be older than a collection that runs now. */
	atomic_store_explicit(&slots->block[block].is_changed, true, memory_order_release);
}

/* Lowers the count unless it is zero. Who sees a raised count also sees the slot that was emptied before. */
static bool reserve(struct orphan_slots_block *block)
{
	uint32_t free = atomic_load_explicit(&block->free, memory_order_relaxed);

	while (free)
		if (atomic_compare_exchange_weak_explicit(&block->free, &free, free - 1, memory_order_acquire,
		                                          memory_order_relaxed))
			return true;
	return false;
}

/* Where the search in a block begins. By inode, so that one that comes and goes finds its slot in its cache. */
static uint32_t first_slot(const struct orphan_slots *slots, uint32_t ino)
{
	return (uint32_t)((uint64_t)(ino * UINT32_C(0x9e3779b1)) * slots->per_block >> 32);
}

/* With a reservation in the block. */
static bool fill(struct orphan_slots *slots, uint32_t block, uint32_t ino, uint32_t *index)
{
	_Atomic uint32_t *entries = orphan_slots_entries(slots, block);
	uint32_t slot = first_slot(slots, ino);

	for (uint32_t looks = WRAPS * slots->per_block; looks; looks--) {
		uint32_t empty = 0;

		if (!atomic_load_explicit(&entries[slot], memory_order_relaxed) &&
		    atomic_compare_exchange_strong_explicit(&entries[slot], &empty, ino, memory_order_acq_rel,
		                                            memory_order_relaxed)) {
			*index = block * slots->per_block + slot;
			return true;
		}
		if (++slot == slots->per_block)
			slot = 0;
	}
	return false;
}

static errcode_t take_lockless(struct orphan_slots *slots, uint32_t worker, uint32_t ino, uint32_t *index)
{
	uint32_t block = worker % slots->blocks;

	for (uint32_t looks = slots->blocks; looks; looks--) {
		if (reserve(&slots->block[block])) {
			ORPHAN_SLOTS_BETWEEN_STEPS();
			if (fill(slots, block, ino, index)) {
				orphan_slots_mark_changed(slots, block);
				return 0;
			}
			atomic_fetch_add_explicit(&slots->block[block].free, 1, memory_order_release);
			atomic_fetch_add_explicit(&slots->given_back, 1, memory_order_relaxed);
		}
		if (++block == slots->blocks)
			block = 0;
	}
	return ENOSPC;
}

static errcode_t put_lockless(struct orphan_slots *slots, uint32_t index, uint32_t ino)
{
	uint32_t block = index / slots->per_block;

	if (block >= slots->blocks || !ino)
		return EXT2MB_ET_ORPHAN_ABSENT;
	_Atomic uint32_t *entry = &orphan_slots_entries(slots, block)[index % slots->per_block];
	/* The slot is its owner's alone, so a plain store would do; this finds out who is not its owner. */
	if (!atomic_compare_exchange_strong_explicit(entry, &ino, 0, memory_order_release, memory_order_relaxed))
		return EXT2MB_ET_ORPHAN_ABSENT;
	ORPHAN_SLOTS_BETWEEN_STEPS();
	orphan_slots_mark_changed(slots, block);
	atomic_fetch_add_explicit(&slots->block[block].free, 1, memory_order_release);
	return 0;
}

const struct orphan_slots_twin orphan_slots_lockless = { take_lockless, put_lockless };
