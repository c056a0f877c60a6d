/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One group's free space: its bitmap and, for every order, a bit at the start of each free maximal buddy of that order.
 * Exactly one buddy covers each free cluster: the largest aligned block that is entirely free, capped at the top order.
 * There are block_bits + 2 orders, so a buddy of the top order is a quarter of a full group.
 *
 * Pure and single-threaded: the thread that holds the group's lock may call. Ranges are [start, start + count) in
 * clusters of the group. A range outside the group, or in the wrong state for the call, is the caller's bug.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/bits.h"

#define BUDDY_MAX_ORDERS 18 /* of 64 KiB blocks */

struct buddy {
	uint32_t clusters; /* in this group; the bits after them are set */
	uint32_t free_clusters;
	uint32_t fragments;     /* maximal runs of free clusters */
	uint32_t first_free;    /* no cluster before it is free */
	uint32_t longest;       /* an upper bound for the length of free runs */
	uint32_t capacity_bits; /* 8 * block size: a power of two */
	uint32_t orders;
	uint32_t present; /* bit k: counters[k] is not 0 */
	uint32_t counters[BUDDY_MAX_ORDERS];
	uint64_t *order_bits; /* the orders from 1 up, consecutive; a set bit is a buddy */
	uint64_t bitmap[];    /* as on disk: a set bit is a cluster in use */
};

/* Memory for a buddy of this block size: 8344 bytes at 4 KiB. */
size_t buddy_bytes(unsigned int block_bits);

/* Prepares memory of buddy_bytes(); the caller then fills in bitmap (capacity_bits bits) and calls build. */
void buddy_init(struct buddy *buddy, unsigned int block_bits, uint32_t clusters);

/* Computes all other members from the bitmap, and sets the bitmap's bits after the last cluster. */
void buddy_build(struct buddy *buddy);

/* Takes clusters that are all free. */
void buddy_alloc(struct buddy *buddy, uint32_t start, uint32_t count);

/* Frees clusters that are all in use. Takes as many steps as there are orders, for any count. */
void buddy_give(struct buddy *buddy, uint32_t start, uint32_t count);

/* -1: no cluster is free. */
static inline int buddy_largest_order(const struct buddy *buddy)
{
	return buddy->present ? 31 - __builtin_clz(buddy->present) : -1;
}

/*
 * Finds the start of a free buddy of the lowest order that is at least `order`; with order 0, the first free cluster.
 * False: there is none.
 */
bool buddy_find_order(const struct buddy *buddy, unsigned int order, uint32_t *start);

/* The first free cluster in [from, end), end if there is none. */
static inline uint32_t buddy_next_free(const struct buddy *buddy, uint32_t from, uint32_t end)
{
	return bits_next_zero(buddy->bitmap, from > buddy->first_free ? from : buddy->first_free, end);
}

/* The first cluster in use in [from, end), end if there is none. */
static inline uint32_t buddy_next_used(const struct buddy *buddy, uint32_t from, uint32_t end)
{
	return bits_next_one(buddy->bitmap, from, end);
}

/*
 * Returns the end of the run of free clusters that begins at start. The cluster before start is in use, or start is 0.
 * Takes as many steps as there are orders, for any length.
 */
uint32_t buddy_run_end(const struct buddy *buddy, uint32_t start);

/*
 * Returns the start of the first run in [from, clusters) that has at least `least` clusters, and its end in *end. If
 * there is none, returns clusters, and *end is an upper bound for the length of runs there. A run that contains `from`
 * counts from there. Measures only runs with a buddy as long as every run of `least` clusters must contain.
 */
uint32_t buddy_next_run(const struct buddy *buddy, uint32_t from, uint32_t least, uint32_t *end);

/* The longest run in a group whose largest buddy is of this order, which is not the top one. */
static inline uint32_t buddy_longest_run(unsigned int order)
{
	return (4u << order) - 2;
}

/*
 * Recounts everything from the bitmap. Returns NULL, or a literal that says which counter is wrong. Needs twice
 * buddy_bytes().
 */
const char *buddy_check(const struct buddy *buddy, struct buddy *scratch);
