/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "allocator/group/group_reserved.h"

#include <errno.h>

#include "allocator/core/allocator.h"
#include "allocator/group/group.h"
#include "support/bits.h"

errcode_t group_reserved_prepare(struct ext2mb *mb, uint32_t number)
{
	struct group *group = &mb->groups[number];

	if (atomic_load_explicit(&group->reserved, memory_order_relaxed))
		return 0;
	_Atomic uint64_t *words = calloc(bits_words(mb->geometry.clusters_per_group), sizeof(*words));
	if (!words)
		return ENOMEM;
	atomic_store_explicit(&group->reserved, words, memory_order_release);
	return 0;
}

/*
 * Preallocations that touch share a word, hence the atomic operations; but a word that is one preallocation's alone is
 * stored.
 */
static void change(_Atomic uint64_t *words, uint32_t start, uint32_t end, bool is_set)
{
	for (uint32_t word = start / BITS_PER_WORD; word <= (end - 1) / BITS_PER_WORD; word++) {
		uint64_t mask = bits_range_mask(word, start, end);

		if (mask == ~UINT64_C(0))
			atomic_store_explicit(&words[word], is_set ? mask : 0, memory_order_relaxed);
		else if (is_set)
			atomic_fetch_or_explicit(&words[word], mask, memory_order_relaxed);
		else
			atomic_fetch_and_explicit(&words[word], ~mask, memory_order_relaxed);
	}
}

void group_reserved_set(struct ext2mb *mb, uint32_t number, uint32_t start, uint32_t count)
{
	change(atomic_load_explicit(&mb->groups[number].reserved, memory_order_relaxed), start, start + count, true);
}

void group_reserved_clear(struct ext2mb *mb, uint64_t position, uint32_t count)
{
	uint32_t number = (uint32_t)(position / mb->geometry.clusters_per_group);
	uint32_t start = (uint32_t)(position % mb->geometry.clusters_per_group);

	change(atomic_load_explicit(&mb->groups[number].reserved, memory_order_acquire), start, start + count, false);
}

bool group_reserved_overlaps(const struct ext2mb *mb, uint32_t number, uint32_t start, uint32_t count)
{
	const _Atomic uint64_t *words = atomic_load_explicit(&mb->groups[number].reserved, memory_order_acquire);
	uint32_t end = start + count;

	if (!words)
		return false;
	for (uint32_t word = start / BITS_PER_WORD; word <= (end - 1) / BITS_PER_WORD; word++)
		if (atomic_load_explicit(&words[word], memory_order_relaxed) & bits_range_mask(word, start, end))
			return true;
	return false;
}

uint64_t group_reserved_word(const struct ext2mb *mb, uint32_t number, uint32_t word)
{
	const _Atomic uint64_t *words = atomic_load_explicit(&mb->groups[number].reserved, memory_order_acquire);

	return words ? atomic_load_explicit(&words[word], memory_order_relaxed) : 0;
}

uint32_t group_reserved_count(const struct ext2mb *mb, uint32_t number)
{
	const _Atomic uint64_t *words = atomic_load_explicit(&mb->groups[number].reserved, memory_order_acquire);
	uint32_t count = 0;

	for (size_t word = 0; words && word < bits_words(mb->geometry.clusters_per_group); word++)
		count += (uint32_t)__builtin_popcountll(atomic_load_explicit(&words[word], memory_order_relaxed));
	return count;
}
