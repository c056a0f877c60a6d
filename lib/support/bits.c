/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "support/bits.h"

#include <endian.h>
#include <string.h>

/* The first bit of the range whose value differs from every bit of `flip`. */
static inline uint32_t next_bit(const uint64_t *words, uint32_t from, uint32_t end, uint64_t flip)
{
	if (from >= end)
		return end;

	size_t index = from / BITS_PER_WORD;
	size_t last = (end - 1) / BITS_PER_WORD;
	uint64_t found = (words[index] ^ flip) & ~UINT64_C(0) << (from % BITS_PER_WORD);
	while (!found && index < last)
		found = words[++index] ^ flip;
	if (!found)
		return end;

	uint32_t bit = (uint32_t)(index * BITS_PER_WORD) + (uint32_t)__builtin_ctzll(found);
	return bit < end ? bit : end;
}

uint32_t bits_next_one(const uint64_t *words, uint32_t from, uint32_t end)
{
	return next_bit(words, from, end, 0);
}

uint32_t bits_next_zero(const uint64_t *words, uint32_t from, uint32_t end)
{
	return next_bit(words, from, end, ~UINT64_C(0));
}

uint32_t bits_after_last_one(const uint64_t *words, uint32_t from, uint32_t end)
{
	if (from >= end)
		return from;

	size_t index = (end - 1) / BITS_PER_WORD;
	uint64_t found = words[index] & ~UINT64_C(0) >> (BITS_PER_WORD - 1 - (end - 1) % BITS_PER_WORD);
	while (!found && index > from / BITS_PER_WORD)
		found = words[--index];
	if (!found)
		return from;

	uint32_t bit = (uint32_t)(index * BITS_PER_WORD) + BITS_PER_WORD - (uint32_t)__builtin_clzll(found);
	return bit > from ? bit : from;
}

void bits_set_range(uint64_t *words, uint32_t from, uint32_t end)
{
	for (size_t index = from / BITS_PER_WORD; index < bits_words(end); index++)
		words[index] |= bits_range_mask(index, from, end);
}

void bits_clear_range(uint64_t *words, uint32_t from, uint32_t end)
{
	for (size_t index = from / BITS_PER_WORD; index < bits_words(end); index++)
		words[index] &= ~bits_range_mask(index, from, end);
}

uint32_t bits_count(const uint64_t *words, uint32_t from, uint32_t end)
{
	uint32_t count = 0;

	for (size_t index = from / BITS_PER_WORD; index < bits_words(end); index++)
		count += (uint32_t)__builtin_popcountll(words[index] & bits_range_mask(index, from, end));
	return count;
}

void bits_from_disk(uint64_t *words, size_t count)
{
	for (size_t index = 0; index < count; index++)
		words[index] = le64toh(words[index]);
}

void bits_to_disk(uint8_t *bytes, const uint64_t *words, size_t byte_count)
{
	for (size_t done = 0; done < byte_count; done += sizeof(uint64_t)) {
		uint64_t word = htole64(words[done / sizeof(uint64_t)]);
		size_t rest = byte_count - done;

		memcpy(bytes + done, &word, rest < sizeof(word) ? rest : sizeof(word));
	}
}
