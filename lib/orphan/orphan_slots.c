/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "orphan/orphan_slots.h"

#include <errno.h>
#include <string.h>

#include "ext2fs/ext2mb.h"

/* The tests run other threads here, between two steps whose order matters. */
#ifndef ORPHAN_SLOTS_BETWEEN_STEPS
#define ORPHAN_SLOTS_BETWEEN_STEPS()
#endif

/*
 * A reservation means that the block has an empty slot, but other threads may fill it and empty one that this thread
 * has passed. After this many rounds the reservation is given back, so that the search ends even if memory is
 * corrupt.
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
		.reciprocal = ((UINT64_C(1) << ORPHAN_SLOTS_RECIPROCAL_BITS) + per_block - 1) / per_block,
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
		/* A damaged entry stays, but never looks like a kept slot. */
		to[slot] = entries[slot] == ORPHAN_SLOT_KEPT ? ORPHAN_SLOT_KEPT - 1 : entries[slot];
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

			if (ino && ino != ORPHAN_SLOT_KEPT) {
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

	/* Sequentially consistent, and so are the loads below: see tell_change(). */
	if (!atomic_exchange(&slots->block[block].is_changed, false))
		return false;
	for (uint32_t slot = 0; slot < slots->per_block; slot++) {
		uint32_t ino = atomic_load(&from[slot]);

		entries[slot] = ino == ORPHAN_SLOT_KEPT ? 0 : ino;
	}
	return true;
}

void orphan_slots_mark_changed(struct orphan_slots *slots, uint32_t block)
{
	/* Always stored, even if it looks set: that value may be older than a collection that runs now. */
	atomic_store_explicit(&slots->block[block].is_changed, true, memory_order_release);
}

/*
 * Called after a sequentially consistent exchange in an entry: a thread that clears the flag after we have seen it
 * set also reads the entry after that. So the flag is stored once for each collection, and threads that share a block
 * do not take its cache line from one another.
 */
static void tell_change(struct orphan_slots_block *block)
{
	if (!atomic_load(&block->is_changed))
		atomic_store(&block->is_changed, true);
}

/* Lowers the count unless it is zero. A thread that sees a raised count also sees the slot that was emptied before. */
static bool reserve(struct orphan_slots_block *block)
{
	uint32_t free = atomic_load_explicit(&block->free, memory_order_relaxed);

	while (free)
		if (atomic_compare_exchange_weak_explicit(&block->free, &free, free - 1, memory_order_acquire,
		                                          memory_order_relaxed))
			return true;
	return false;
}

/* The slot at which the search in a block begins. It depends on the inode, so that an inode that comes and goes finds
 * its slot in the processor's cache. */
static uint32_t first_slot(const struct orphan_slots *slots, uint32_t ino)
{
	return (uint32_t)((uint64_t)(ino * UINT32_C(0x9e3779b1)) * slots->per_block >> 32);
}

/* Fills a slot; the caller has a reservation in the block. */
static bool fill(struct orphan_slots *slots, uint32_t block, uint32_t ino, uint32_t *index)
{
	_Atomic uint32_t *entries = orphan_slots_entries(slots, block);
	uint32_t slot = first_slot(slots, ino);

	for (uint32_t looks = WRAPS * slots->per_block; looks; looks--) {
		uint32_t empty = 0;

		if (!atomic_load_explicit(&entries[slot], memory_order_relaxed) &&
		    atomic_compare_exchange_strong(&entries[slot], &empty, ino)) {
			*index = block * slots->per_block + slot;
			return true;
		}
		if (++slot == slots->per_block)
			slot = 0;
	}
	return false;
}

static bool claim_reserved(struct orphan_slots *slots, uint32_t block, uint32_t ino, uint32_t *index)
{
	if (!reserve(&slots->block[block]))
		return false;
	ORPHAN_SLOTS_BETWEEN_STEPS();
	if (fill(slots, block, ino, index))
		return true;
	atomic_fetch_add_explicit(&slots->block[block].free, 1, memory_order_release);
	atomic_fetch_add_explicit(&slots->given_back, 1, memory_order_relaxed);
	return false;
}

/* A kept slot comes with its reservation. */
static inline bool claim_kept(struct orphan_slots *slots, uint32_t block, uint32_t ino, uint32_t *index)
{
	uint32_t slot = atomic_load_explicit(&slots->block[block].kept, memory_order_relaxed);
	_Atomic uint32_t *entry = &orphan_slots_entries(slots, block)[slot];
	uint32_t kept = ORPHAN_SLOT_KEPT;

	if (atomic_load_explicit(entry, memory_order_relaxed) != kept ||
	    !atomic_compare_exchange_strong(entry, &kept, ino))
		return false;
	*index = block * slots->per_block + slot;
	return true;
}

/* Tries all blocks, from this one on. */
static bool claim_from_any(struct orphan_slots *slots, uint32_t block, uint32_t ino, uint32_t *index,
                           bool (*claim)(struct orphan_slots *, uint32_t, uint32_t, uint32_t *))
{
	for (uint32_t looks = slots->blocks; looks; looks--) {
		if (claim(slots, block, ino, index)) {
			tell_change(&slots->block[block]);
			return true;
		}
		if (++block == slots->blocks)
			block = 0;
	}
	return false;
}

/* Not inline, so that the usual path, below, saves no registers, which would be a fifth of its instructions. */
static __attribute__((noinline)) errcode_t claim_unkept(struct orphan_slots *slots, uint32_t block, uint32_t ino,
                                                        uint32_t *index)
{
	return claim_from_any(slots, block, ino, index, claim_reserved) ||
	                       claim_from_any(slots, block, ino, index, claim_kept) ?
	               0 :
	               ENOSPC;
}

static errcode_t claim_lockless(struct orphan_slots *slots, uint32_t worker, uint32_t ino, uint32_t *index)
{
	uint32_t block = worker < slots->blocks ? worker : worker % slots->blocks;

	if (!claim_kept(slots, block, ino, index))
		return claim_unkept(slots, block, ino, index);
	tell_change(&slots->block[block]);
	return 0;
}

/* The slot holds ORPHAN_SLOT_KEPT now. The slot that was kept before, if any, becomes empty for all. */
static void keep(struct orphan_slots *slots, uint32_t block_number, uint32_t slot)
{
	struct orphan_slots_block *block = &slots->block[block_number];

	/*
	 * If two threads keep different slots, the later one finds the earlier one's entry, or the earlier one finds
	 * here that it was replaced: no slot is lost.
	 */
	if (atomic_load(&block->kept) == slot)
		return;
	ORPHAN_SLOTS_BETWEEN_STEPS();

	uint32_t before = atomic_exchange(&block->kept, slot), kept = ORPHAN_SLOT_KEPT;
	_Atomic uint32_t *entry = &orphan_slots_entries(slots, block_number)[before];
	if (before != slot && atomic_load(entry) == kept && atomic_compare_exchange_strong(entry, &kept, 0))
		atomic_fetch_add_explicit(&block->free, 1, memory_order_release);
}

static errcode_t put_lockless(struct orphan_slots *slots, uint32_t index, uint32_t ino)
{
	if (index >= slots->blocks * slots->per_block || !ino || ino == ORPHAN_SLOT_KEPT)
		return EXT2MB_ET_ORPHAN_ABSENT;

	uint32_t block_number = orphan_slots_block_of(slots, index), slot = index - block_number * slots->per_block;
	struct orphan_slots_block *block = &slots->block[block_number];
	_Atomic uint32_t *entries = orphan_slots_entries(slots, block_number);
	uint32_t kept = atomic_load_explicit(&block->kept, memory_order_relaxed);
	bool keeps = kept == slot || atomic_load_explicit(&entries[kept], memory_order_relaxed) != ORPHAN_SLOT_KEPT;

	/* Only the slot's owner writes it, so a plain store would do; the exchange detects callers that do not own
	 * it. */
	if (!atomic_compare_exchange_strong(&entries[slot], &ino, keeps ? ORPHAN_SLOT_KEPT : 0))
		return EXT2MB_ET_ORPHAN_ABSENT;
	ORPHAN_SLOTS_BETWEEN_STEPS();
	tell_change(block);
	if (keeps)
		keep(slots, block_number, slot);
	else
		atomic_fetch_add_explicit(&block->free, 1, memory_order_release);
	return 0;
}

const struct orphan_slots_twin orphan_slots_lockless = { claim_lockless, put_lockless };
