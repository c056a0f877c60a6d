/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "allocator/core/order_set.h"

#include <errno.h>

#include "support/bits.h"

/* The unit test includes this file and here does what another thread might. */
#ifndef ORDER_SET_MEANWHILE
#define ORDER_SET_MEANWHILE(set)
#endif

errcode_t order_set_create(struct order_set *set, uint32_t size)
{
	*set = (struct order_set){ .size = size };
	for (uint64_t bits = size; bits > BITS_PER_WORD; bits = bits_words(bits)) {
		_Atomic uint64_t *words = calloc(bits_words(bits) + 1, sizeof(*words));
		if (!words) {
			order_set_destroy(set);
			return ENOMEM;
		}
		set->levels[set->level_count++] = words;
	}
	set->levels[set->level_count++] = &set->top;
	return 0;
}

void order_set_destroy(struct order_set *set)
{
	for (unsigned int level = 0; level < set->level_count; level++)
		if (set->levels[level] != &set->top)
			free((void *)set->levels[level]);
	*set = (struct order_set){ 0 };
}

static uint64_t bit_of(uint32_t number)
{
	return UINT64_C(1) << (number % BITS_PER_WORD);
}

/*
 * Every summary is written, whatever it looks like: "leave it if the bit is set already" would be a race with
 * a thread that is about to clear it (store buffering; x86 hides it, ARM does not).
 */
static void add_from(struct order_set *set, unsigned int level, uint32_t number)
{
	for (; level < set->level_count; level++, number /= BITS_PER_WORD)
		atomic_fetch_or_explicit(&set->levels[level][number / BITS_PER_WORD], bit_of(number),
		                         memory_order_acq_rel);
}

void order_set_add(struct order_set *set, uint32_t number)
{
	add_from(set, 0, number);
}

/*
 * Clears the bit and, where a word became empty, its summary. Another thread that added to the word meanwhile wrote the
 * summary either before the clearing read-modify-write, which then reads from it, so that the second look at the word
 * sees the addition; or after it, so that the summary ends up set.
 */
static void remove_from(struct order_set *set, unsigned int level, uint32_t number)
{
	_Atomic uint64_t *word = &set->levels[level][number / BITS_PER_WORD];
	uint64_t before = atomic_fetch_and_explicit(word, ~bit_of(number), memory_order_acq_rel);

	if (before & ~bit_of(number) || level + 1 >= set->level_count)
		return;
	ORDER_SET_MEANWHILE(set);
	remove_from(set, level + 1, number / BITS_PER_WORD);
	if (atomic_load_explicit(word, memory_order_acquire))
		add_from(set, level + 1, number / BITS_PER_WORD);
}

void order_set_remove(struct order_set *set, uint32_t number)
{
	remove_from(set, 0, number);
}

bool order_set_has(const struct order_set *set, uint32_t number)
{
	return atomic_load_explicit(&set->levels[0][number / BITS_PER_WORD], memory_order_acquire) & bit_of(number);
}

uint32_t order_set_next(const struct order_set *set, uint32_t from, uint32_t end)
{
	unsigned int level = 0;
	uint64_t position = from; /* in bits of the level: the first that may hold the answer */

	if (end > set->size)
		end = set->size;
	while (position << 6 * level < end) {
		uint64_t word =
			atomic_load_explicit(&set->levels[level][position / BITS_PER_WORD], memory_order_acquire);
		word &= ~UINT64_C(0) << (position % BITS_PER_WORD);
		if (!word) {
			if (level + 1 >= set->level_count)
				return ORDER_SET_NONE;
			position = position / BITS_PER_WORD + 1;
			level++;
			continue;
		}
		position = position / BITS_PER_WORD * BITS_PER_WORD + (uint64_t)__builtin_ctzll(word);
		if (level == 0)
			return position < end ? (uint32_t)position : ORDER_SET_NONE;
		level--;
		position *= BITS_PER_WORD;
	}
	return ORDER_SET_NONE;
}
