/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The locked version: one lock for all blocks; it takes the first empty slot of the first block with room, as the
 * kernel's orphan file did before it became lockless. (The entries are atomic for threads that only read.)
 */
#include "compare/orphan_slots_locked.h"

#include <errno.h>

#include "support/scope_lock.h"

static uint32_t count_of(const struct orphan_slots *slots, uint32_t block)
{
	return atomic_load_explicit(&slots->block[block].free, memory_order_relaxed);
}

static void set_count(struct orphan_slots *slots, uint32_t block, uint32_t count)
{
	atomic_store_explicit(&slots->block[block].free, count, memory_order_relaxed);
}

static errcode_t claim_locked(struct orphan_slots *slots, uint32_t worker UNUSED, uint32_t ino, uint32_t *index)
{
	SCOPE_LOCK(&slots->lock);
	uint32_t block = 0;

	while (block < slots->blocks && !count_of(slots, block))
		block++;
	if (block == slots->blocks)
		return ENOSPC;

	_Atomic uint32_t *entries = orphan_slots_entries(slots, block);
	uint32_t slot = 0;
	while (slot < slots->per_block && atomic_load_explicit(&entries[slot], memory_order_relaxed))
		slot++;
	if (slot == slots->per_block)
		return ENOSPC;
	set_count(slots, block, count_of(slots, block) - 1);
	atomic_store_explicit(&entries[slot], ino, memory_order_release);
	orphan_slots_mark_changed(slots, block);
	*index = block * slots->per_block + slot;
	return 0;
}

static errcode_t put_locked(struct orphan_slots *slots, uint32_t index, uint32_t ino)
{
	SCOPE_LOCK(&slots->lock);
	uint32_t block = index / slots->per_block;

	if (block >= slots->blocks || !ino)
		return EXT2MB_ET_ORPHAN_ABSENT;
	_Atomic uint32_t *entry = &orphan_slots_entries(slots, block)[index % slots->per_block];
	if (atomic_load_explicit(entry, memory_order_relaxed) != ino)
		return EXT2MB_ET_ORPHAN_ABSENT;
	atomic_store_explicit(entry, 0, memory_order_release);
	orphan_slots_mark_changed(slots, block);
	set_count(slots, block, count_of(slots, block) + 1);
	return 0;
}

const struct orphan_slots_twin orphan_slots_locked = { claim_locked, put_locked };

errcode_t orphan_open_locked(ext2_filsys fs, const struct ext2mb_orphan_options *options, char *why, size_t why_bytes,
                             struct ext2mb_orphans **ret)
{
	return orphan_file_open(fs, options, &orphan_slots_locked, why, why_bytes, ret);
}
