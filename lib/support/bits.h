/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Arrays of bits in 64-bit words, bit i of the array being bit i % 64 of word i / 64: the order of ext4's
 * on-disk bitmaps once their words are in host byte order. Pure, single-threaded. A range is [from, end).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BITS_PER_WORD 64u

static inline size_t bits_words(uint64_t bits)
{
	return (bits + BITS_PER_WORD - 1) / BITS_PER_WORD;
}

static inline bool bits_test(const uint64_t *words, uint32_t bit)
{
	return words[bit / BITS_PER_WORD] >> (bit % BITS_PER_WORD) & 1;
}

static inline void bits_set(uint64_t *words, uint32_t bit)
{
	words[bit / BITS_PER_WORD] |= UINT64_C(1) << (bit % BITS_PER_WORD);
}

static inline void bits_clear(uint64_t *words, uint32_t bit)
{
	words[bit / BITS_PER_WORD] &= ~(UINT64_C(1) << (bit % BITS_PER_WORD));
}

/* The bits of word `index`, one of the range's, that lie in the range. */
static inline uint64_t bits_range_mask(size_t index, uint32_t from, uint32_t end)
{
	uint64_t mask = ~UINT64_C(0);

	if (index == from / BITS_PER_WORD)
		mask &= ~UINT64_C(0) << (from % BITS_PER_WORD);
	if (index == end / BITS_PER_WORD)
		mask &= (UINT64_C(1) << (end % BITS_PER_WORD)) - 1;
	return mask;
}

/* The first set bit in the range, end if there is none. */
uint32_t bits_next_one(const uint64_t *words, uint32_t from, uint32_t end);

/* The first clear bit in the range, end if there is none. */
uint32_t bits_next_zero(const uint64_t *words, uint32_t from, uint32_t end);

/* The bit after the last set one in the range; from, if no bit is set. */
uint32_t bits_after_last_one(const uint64_t *words, uint32_t from, uint32_t end);

void bits_set_range(uint64_t *words, uint32_t from, uint32_t end);
void bits_clear_range(uint64_t *words, uint32_t from, uint32_t end);

/* How many bits of the range are set. */
uint32_t bits_count(const uint64_t *words, uint32_t from, uint32_t end);

/* Between the disk's byte order (little endian, padded with set bits to whole words) and words. */
void bits_from_disk(uint64_t *words, size_t count);
void bits_to_disk(uint8_t *bytes, const uint64_t *words, size_t byte_count);
