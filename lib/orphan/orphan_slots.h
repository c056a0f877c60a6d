/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The orphan file's slots in memory. Adding takes a free slot, in two steps: it reserves one by lowering its
 * block's count of free slots, then finds the slot. Deleting empties the slot first and raises the count after
 * that, so there are never fewer empty slots than the count and the reservations ask for.
 *
 * orphan_slots_lockless is after Jan Kara's "ext4: Improve scalability of ext4 orphan
 * file handling" (Linux 5.15, mail of 16 June 2021); compare/orphan_slots_locked.h has its twin, what was before it.
 *
 * Beyond the kernel, the lockless one keeps a block's slot that was deleted from last: it holds ORPHAN_SLOT_KEPT, an
 * empty slot that the count leaves out, and the next to begin in this block takes it with one compare-and-swap. An
 * inode that comes and goes, as truncations do, costs two locked instructions that way instead of four. Who finds all
 * counts at zero takes what other blocks keep, so a slot that is kept is never one that is missing.
 *
 * Any number of threads may claim, put, look and collect at the same time; create, load and destroy are for one.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "support/problem.h"

/* Two lines of its own, which processors fetch in pairs: threads work in different blocks. */
struct orphan_slots_block {
	_Alignas(128) _Atomic uint32_t free; /* slots that are neither taken nor reserved */
	_Atomic bool is_changed;             /* since it was collected last */
	_Atomic uint32_t kept;               /* the slot that may be kept; exact while no thread adds or deletes */
};

/* What a kept slot holds, in memory only; never an inode's number, as groups have inodes by the eight. */
#define ORPHAN_SLOT_KEPT UINT32_MAX

struct orphan_slots;

struct orphan_slots_twin {
	/* ENOSPC. */
	errcode_t (*claim)(struct orphan_slots *slots, uint32_t worker, uint32_t ino, uint32_t *index);
	/* EXT2MB_ET_ORPHAN_ABSENT, and nothing done, when the slot does not hold ino. */
	errcode_t (*put)(struct orphan_slots *slots, uint32_t index, uint32_t ino);
};

extern const struct orphan_slots_twin orphan_slots_lockless;

struct orphan_slots {
	const struct orphan_slots_twin *twin;
	uint32_t blocks;
	uint32_t per_block;
	uint32_t stride;     /* from one block's entries to the next one's: whole lines */
	uint64_t reciprocal; /* of per_block, see orphan_slots_block_of() */
	struct orphan_slots_block *block;
	_Atomic uint32_t *entries;   /* inode numbers in host order, 0: empty, or ORPHAN_SLOT_KEPT */
	_Atomic uint64_t given_back; /* reservations for which no slot was found: 0 unless threads are very unlucky */
	pthread_mutex_t lock;        /* of the locked twin */
};

/* An index is block * per_block + slot, as the kernel's i_orphan_idx. All slots are empty. ENOMEM. */
MUST_CHECK errcode_t orphan_slots_create(struct orphan_slots *slots, const struct orphan_slots_twin *twin,
                                         uint32_t blocks, uint32_t per_block);
void orphan_slots_destroy(struct orphan_slots *slots);

/* Fills a block with the per_block entries that are on disk; of those that no inode can have, one is like another. */
void orphan_slots_load(struct orphan_slots *slots, uint32_t block, const uint32_t *entries);

/* The first entry at or after *index: its inode number, and where it is; 0 at the end. */
uint32_t orphan_slots_next(const struct orphan_slots *slots, uint32_t *index);

/*
 * If the block has changed since it was last collected: true, and its entries. A change that runs beside this
 * is in the copy or makes the block changed again.
 */
MUST_CHECK bool orphan_slots_collect(struct orphan_slots *slots, uint32_t block, uint32_t *entries);

/* The collected copy could not be written: collect it again next time. */
void orphan_slots_mark_changed(struct orphan_slots *slots, uint32_t block);

static inline _Atomic uint32_t *orphan_slots_entries(const struct orphan_slots *slots, uint32_t block)
{
	return slots->entries + (size_t)block * slots->stride;
}

/* Enough: ORPHAN_FILE_MAX_BLOCKS blocks of 64 KiB have fewer than 2^23 slots, so products stay below 2^63. */
#define ORPHAN_SLOTS_RECIPROCAL_BITS 40

/*
 * The block of an index below blocks * per_block. By multiplication, as a division would be a fifth of what an
 * orphan costs: exact, because index * per_block is less than 2^40.
 */
static inline uint32_t orphan_slots_block_of(const struct orphan_slots *slots, uint32_t index)
{
	return (uint32_t)(index * slots->reciprocal >> ORPHAN_SLOTS_RECIPROCAL_BITS);
}

/*
 * Takes a slot for ino. worker: threads with different ones begin in different blocks. ENOSPC: no
 * block had a free slot when it was looked at.
 */
MUST_CHECK static inline errcode_t orphan_slots_claim(struct orphan_slots *slots, uint32_t worker, uint32_t ino,
                                                      uint32_t *index)
{
	return slots->twin->claim(slots, worker, ino, index);
}

/* EXT2MB_ET_ORPHAN_ABSENT, and nothing done, when ino is not there. */
MUST_CHECK static inline errcode_t orphan_slots_put(struct orphan_slots *slots, uint32_t index, uint32_t ino)
{
	return slots->twin->put(slots, index, ino);
}
