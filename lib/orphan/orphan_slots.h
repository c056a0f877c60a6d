/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The orphan file's slots in memory. Adding takes a free slot, in two steps: it reserves one by lowering its
 * block's count of free slots, then finds the slot. Deleting empties the slot first and raises the count after
 * that, so there are never fewer empty slots than the count and the reservations ask for.
 *
 * orphan_slots_lockless follows Jan Kara's "ext4: Improve scalability of ext4 orphan file handling" (Linux 5.15, mail
 * of 16 June 2021); compare/orphan_slots_locked.h has the locked version that preceded it.
 *
 * Unlike the kernel, the lockless version keeps the slot of a block that was emptied last. It holds ORPHAN_SLOT_KEPT
 * and is not counted as free, and the next thread that begins in this block takes it with one compare-and-swap. An
 * inode that comes and goes, as in truncations, so costs two locked instructions instead of four. A thread that finds
 * all counts at zero takes slots that other blocks keep, so that no kept slot is ever missing.
 *
 * Any number of threads may claim, put, look and collect at the same time; create, load and destroy are
 * single-threaded.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "support/problem.h"

/* Each block has two cache lines of its own, because processors fetch pairs of lines, and threads work in different
 * blocks. */
struct orphan_slots_block {
	_Alignas(128) _Atomic uint32_t free; /* slots that are neither taken nor reserved */
	_Atomic bool is_changed;             /* since the last collection */
	_Atomic uint32_t kept;               /* the slot that may be kept; exact while no thread adds or deletes */
};

/* The value of a kept slot, in memory only. It is never an inode number, because a group's inode count is a multiple
 * of eight. */
#define ORPHAN_SLOT_KEPT UINT32_MAX

struct orphan_slots;

struct orphan_slots_twin {
	/* ENOSPC. */
	errcode_t (*claim)(struct orphan_slots *slots, uint32_t worker, uint32_t ino, uint32_t *index);
	/* EXT2MB_ET_ORPHAN_ABSENT, and nothing is done, if the slot does not hold ino. */
	errcode_t (*put)(struct orphan_slots *slots, uint32_t index, uint32_t ino);
};

extern const struct orphan_slots_twin orphan_slots_lockless;

struct orphan_slots {
	const struct orphan_slots_twin *twin;
	uint32_t blocks;
	uint32_t per_block;
	uint32_t stride;     /* entries from one block to the next: whole cache lines */
	uint64_t reciprocal; /* of per_block, see orphan_slots_block_of() */
	struct orphan_slots_block *block;
	_Atomic uint32_t *entries;   /* inode numbers in host order, 0: empty, or ORPHAN_SLOT_KEPT */
	_Atomic uint64_t given_back; /* reservations for which no slot was found; usually 0 */
	pthread_mutex_t lock;        /* of the locked version */
};

/* An index is block * per_block + slot, as the kernel's i_orphan_idx. All slots are empty. ENOMEM. */
MUST_CHECK errcode_t orphan_slots_create(struct orphan_slots *slots, const struct orphan_slots_twin *twin,
                                         uint32_t blocks, uint32_t per_block);
void orphan_slots_destroy(struct orphan_slots *slots);

/* Fills a block with its per_block entries from disk. Values that are no inode number may be replaced by other such
 * values. */
void orphan_slots_load(struct orphan_slots *slots, uint32_t block, const uint32_t *entries);

/* Returns the inode number of the first entry at or after *index, and sets *index to it; 0 at the end. */
uint32_t orphan_slots_next(const struct orphan_slots *slots, uint32_t *index);

/*
 * If the block has changed since its last collection, returns true and copies its entries. A concurrent change is in
 * the copy or marks the block as changed again.
 */
MUST_CHECK bool orphan_slots_collect(struct orphan_slots *slots, uint32_t block, uint32_t *entries);

/* The collected copy could not be written: the block is collected again next time. */
void orphan_slots_mark_changed(struct orphan_slots *slots, uint32_t block);

static inline _Atomic uint32_t *orphan_slots_entries(const struct orphan_slots *slots, uint32_t block)
{
	return slots->entries + (size_t)block * slots->stride;
}

/* Large enough: ORPHAN_FILE_MAX_BLOCKS blocks of 64 KiB have fewer than 2^23 slots, so products stay below 2^63. */
#define ORPHAN_SLOTS_RECIPROCAL_BITS 40

/*
 * The block of an index below blocks * per_block. It multiplies, because a division would take a fifth of an orphan's
 * time. The result is exact, because index * per_block is less than 2^40.
 */
static inline uint32_t orphan_slots_block_of(const struct orphan_slots *slots, uint32_t index)
{
	return (uint32_t)(index * slots->reciprocal >> ORPHAN_SLOTS_RECIPROCAL_BITS);
}

/*
 * Takes a slot for ino. worker: threads with different ones begin in different blocks. ENOSPC: every block was full
 * when it was looked at.
 */
MUST_CHECK static inline errcode_t orphan_slots_claim(struct orphan_slots *slots, uint32_t worker, uint32_t ino,
                                                      uint32_t *index)
{
	return slots->twin->claim(slots, worker, ino, index);
}

/* EXT2MB_ET_ORPHAN_ABSENT, and nothing is done, if ino is not there. */
MUST_CHECK static inline errcode_t orphan_slots_put(struct orphan_slots *slots, uint32_t index, uint32_t ino)
{
	return slots->twin->put(slots, index, ino);
}
