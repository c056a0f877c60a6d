/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "allocator/core/buddy.h"

#include <assert.h>
#include <string.h>

#define WORD_ORDER 6 /* of a buddy that is a word of the bitmap */

size_t buddy_bytes(unsigned int block_bits)
{
	/* Order 1 has half as many bits as the bitmap, and all orders together fewer than the bitmap. */
	return sizeof(struct buddy) + ((size_t)2 << block_bits);
}

void buddy_init(struct buddy *buddy, unsigned int block_bits, uint32_t clusters)
{
	*buddy = (struct buddy){
		.clusters = clusters,
		.capacity_bits = 8u << block_bits,
		.orders = block_bits + 2,
		.order_bits = buddy->bitmap + bits_words(8u << block_bits),
	};
	assert(buddy->orders <= BUDDY_MAX_ORDERS && clusters <= buddy->capacity_bits);
}

/* The bit of block `index` of an order, 1 or higher. */
static inline uint32_t order_bit(const struct buddy *buddy, unsigned int order, uint32_t index)
{
	return buddy->capacity_bits - (buddy->capacity_bits >> (order - 1)) + index;
}

/*
 * True if block `index` is a buddy of this order. For order 0 this only tests for a free cluster. That is the same
 * wherever the other half of the pair is in use, as it is at all callers.
 */
static inline bool is_buddy(const struct buddy *buddy, unsigned int order, uint32_t index)
{
	if (!order)
		return !bits_test(buddy->bitmap, index);
	return bits_test(buddy->order_bits, order_bit(buddy, order, index));
}

static inline void add_buddy(struct buddy *buddy, unsigned int order, uint32_t index)
{
	if (order)
		bits_set(buddy->order_bits, order_bit(buddy, order, index));
	if (!buddy->counters[order]++)
		buddy->present |= 1u << order;
}

static inline void remove_buddy(struct buddy *buddy, unsigned int order, uint32_t index)
{
	if (order)
		bits_clear(buddy->order_bits, order_bit(buddy, order, index));
	if (!--buddy->counters[order])
		buddy->present &= ~(1u << order);
}

/*
 * Makes buddies of a run that has become free. Going up the orders, [first, end) is the part that blocks of this order
 * do not cover yet. Only its two borders can be left over, or can merge with blocks outside.
 */
static void cover(struct buddy *buddy, uint32_t first, uint32_t end)
{
	for (unsigned int order = 0; order + 1 < buddy->orders; order++) {
		if (first & 1) {
			if (is_buddy(buddy, order, first - 1))
				remove_buddy(buddy, order, --first);
			else
				add_buddy(buddy, order, first++);
		}
		if (end & 1) {
			if (is_buddy(buddy, order, end))
				remove_buddy(buddy, order, end++);
			else
				add_buddy(buddy, order, --end);
		}
		if (first >= end)
			return;
		first /= 2;
		end /= 2;
	}
	while (first < end)
		add_buddy(buddy, buddy->orders - 1, first++);
}

void buddy_build(struct buddy *buddy)
{
	memset(buddy->order_bits, 0, buddy->capacity_bits / 8);
	memset(buddy->counters, 0, sizeof(buddy->counters));
	buddy->present = buddy->free_clusters = buddy->fragments = buddy->longest = 0;
	bits_set_range(buddy->bitmap, buddy->clusters, buddy->capacity_bits);

	uint32_t start = bits_next_zero(buddy->bitmap, 0, buddy->clusters);
	buddy->first_free = start;
	while (start < buddy->clusters) {
		uint32_t end = bits_next_one(buddy->bitmap, start, buddy->clusters);

		cover(buddy, start, end);
		buddy->free_clusters += end - start;
		buddy->fragments++;
		if (end - start > buddy->longest)
			buddy->longest = end - start;
		start = bits_next_zero(buddy->bitmap, end, buddy->clusters);
	}
}

/*
 * The order of a free cluster's buddy. Below the order of a word the bitmap tells it, since a buddy is as large as
 * possible.
 */
static unsigned int order_of(const struct buddy *buddy, uint32_t cluster)
{
	uint64_t word = buddy->bitmap[cluster / BITS_PER_WORD];

	for (unsigned int order = 1; order <= WORD_ORDER; order++) {
		uint32_t first = cluster % BITS_PER_WORD >> order << order;

		if (word >> first << (BITS_PER_WORD - (1u << order)))
			return order - 1;
	}
	for (unsigned int order = WORD_ORDER + 1; order < buddy->orders; order++)
		if (bits_test(buddy->order_bits, order_bit(buddy, order, cluster >> order)))
			return order;
	return WORD_ORDER;
}

/* How many of the two clusters just outside the range are free. */
static int free_neighbours(const struct buddy *buddy, uint32_t start, uint32_t end)
{
	return (start > 0 && !bits_test(buddy->bitmap, start - 1)) +
	       (end < buddy->clusters && !bits_test(buddy->bitmap, end));
}

void buddy_alloc(struct buddy *buddy, uint32_t start, uint32_t count)
{
	uint32_t end = start + count;

	assert(count && end <= buddy->clusters && count <= buddy->free_clusters);
	for (uint32_t position = start; position < end;) {
		unsigned int order = order_of(buddy, position);

		/*
		 * A buddy that extends beyond the range is halved until the half that begins here lies inside; the
		 * other halves stay free.
		 */
		remove_buddy(buddy, order, position >> order);
		while (position & ((1u << order) - 1) || position + (1u << order) > end) {
			order--;
			add_buddy(buddy, order, (position >> order) ^ 1);
		}
		bits_set_range(buddy->bitmap, position, position + (1u << order));
		position += 1u << order;
	}
	buddy->fragments += (uint32_t)(free_neighbours(buddy, start, end) - 1);
	buddy->free_clusters -= count;
	if (start == buddy->first_free)
		buddy->first_free = end;
}

void buddy_give(struct buddy *buddy, uint32_t start, uint32_t count)
{
	uint32_t end = start + count;

	assert(count && end <= buddy->clusters);
	assert(bits_next_zero(buddy->bitmap, start, end) == end);
	int neighbours = free_neighbours(buddy, start, end);

	buddy->fragments += (uint32_t)(1 - neighbours);
	if (neighbours)
		buddy->longest = buddy->clusters; /* to measure what it joins would take longer than all of this */
	else if (count > buddy->longest)
		buddy->longest = count;
	cover(buddy, start, end);
	bits_clear_range(buddy->bitmap, start, end);
	buddy->free_clusters += count;
	if (start < buddy->first_free)
		buddy->first_free = start;
}

/*
 * A run's buddies grow from its beginning as far as their places allow and shrink again towards its end, so there is
 * only one way up the orders and one down. Below a word the bitmap is quicker.
 */
uint32_t buddy_run_end(const struct buddy *buddy, uint32_t start)
{
	unsigned int order = buddy->orders - 1;
	uint32_t end = (start | (BITS_PER_WORD - 1)) + 1;
	uint32_t used = bits_next_one(buddy->bitmap, start, end);

	if (used < end)
		return used;
	if (start % BITS_PER_WORD == 0)
		end = start;
	while (end < buddy->capacity_bits && order >= WORD_ORDER) {
		unsigned int most = (unsigned int)__builtin_ctz(end | 1u << order);

		if (is_buddy(buddy, most, end >> most))
			end += 1u << most;
		else
			order = most - 1;
	}
	return end < buddy->capacity_bits ? bits_next_one(buddy->bitmap, end, end + BITS_PER_WORD) : end;
}

/*
 * The first buddy of this order or above that begins in [from, clusters), or clusters if there is none. next[] holds
 * what was found of each order before; 0: not searched yet.
 */
static uint32_t next_buddy(const struct buddy *buddy, unsigned int order, uint32_t from, uint32_t *next)
{
	uint32_t first = buddy->clusters;

	for (; order < buddy->orders; order++) {
		if (!(buddy->present >> order & 1))
			continue;
		if (!next[order] || next[order] - 1 < from) {
			uint32_t bits = order_bit(buddy, order, 0), end = bits + (buddy->capacity_bits >> order);
			uint32_t found =
				bits_next_one(buddy->order_bits, bits + ((from + (1u << order) - 1) >> order), end);

			next[order] = 1 + (found < end ? (found - bits) << order : buddy->clusters);
		}
		if (next[order] - 1 < first)
			first = next[order] - 1;
	}
	return first;
}

uint32_t buddy_next_run(const struct buddy *buddy, uint32_t from, uint32_t least, uint32_t *end)
{
	/* A run of 2^(n+1) - 1 clusters holds a buddy of order n or above, wherever it lies. */
	unsigned int order = 30 - (unsigned int)__builtin_clz(least + 1);
	uint32_t next[BUDDY_MAX_ORDERS] = { 0 };
	uint32_t longest = (2u << order) - 2, start;

	if (from < buddy->first_free)
		from = buddy->first_free;
	if (from < buddy->clusters && !bits_test(buddy->bitmap, from)) {
		*end = bits_next_one(buddy->bitmap, from, buddy->clusters);
		if (*end - from >= least)
			return from;
		if (*end - from > longest)
			longest = *end - from;
		from = *end;
	}
	for (; from < buddy->clusters; from = *end) {
		start = order ? next_buddy(buddy, order, from, next) :
		                bits_next_zero(buddy->bitmap, from, buddy->clusters);
		if (start == buddy->clusters)
			break;
		start = bits_after_last_one(buddy->bitmap, from, start);
		*end = buddy_run_end(buddy, start);
		if (*end - start >= least)
			return start;
		if (*end - start > longest)
			longest = *end - start;
	}
	*end = longest;
	return buddy->clusters;
}

bool buddy_find_order(const struct buddy *buddy, unsigned int order, uint32_t *start)
{
	if (!order) {
		*start = bits_next_zero(buddy->bitmap, buddy->first_free, buddy->clusters);
		return *start < buddy->clusters;
	}
	if (order >= buddy->orders || !(buddy->present >> order))
		return false;
	order += (unsigned int)__builtin_ctz(buddy->present >> order);

	uint32_t first = order_bit(buddy, order, 0);
	uint32_t end = first + (buddy->capacity_bits >> order);
	uint32_t found = bits_next_one(buddy->order_bits, first, end);
	assert(found < end);
	*start = (found - first) << order;
	return true;
}

const char *buddy_check(const struct buddy *buddy, struct buddy *scratch)
{
	unsigned int block_bits = buddy->orders - 2;

	if (bits_next_zero(buddy->bitmap, buddy->clusters, buddy->capacity_bits) != buddy->capacity_bits)
		return "padding after the last cluster is free";
	buddy_init(scratch, block_bits, buddy->clusters);
	memcpy(scratch->bitmap, buddy->bitmap, buddy->capacity_bits / 8);
	buddy_build(scratch);
	if (buddy->free_clusters != scratch->free_clusters)
		return "free clusters are miscounted";
	if (buddy->fragments != scratch->fragments)
		return "fragments are miscounted";
	if (buddy->first_free > scratch->first_free)
		return "a free cluster lies before the first free one";
	if (buddy->longest < scratch->longest)
		return "a run is longer than the longest";
	if (memcmp(buddy->counters, scratch->counters, sizeof(buddy->counters)) || buddy->present != scratch->present)
		return "the orders' counters do not fit the bitmap";
	if (memcmp(buddy->order_bits, scratch->order_bits, buddy->capacity_bits / 8))
		return "the orders' buddies do not fit the bitmap";
	return NULL;
}
