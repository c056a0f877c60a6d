/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What anyone may know of a group's free space without its lock, in one word. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum group_state {
	GROUP_UNTOUCHED, /* known from the descriptor only */
	GROUP_LOADED,
	GROUP_CORRUPT,   /* its descriptor, bitmap and the rest disagree: left out */
};

/* What a summary says; of an untouched group: at best. */
struct group_summary {
	uint32_t free_clusters;
	uint32_t fragments;
	int largest_order; /* -1: full */
	int average_order; /* set of its average fragment: [2^(k+1), 2^(k+2)) clusters, 0: [1, 4); -1: full */
	enum group_state state;
};

/* One more than the number of the highest bit that is set; 0 if none is: the kernel's fls(). */
static inline unsigned int last_set(uint32_t value)
{
	return value ? 32 - (unsigned int)__builtin_clz(value) : 0;
}

/* fls(free / fragments) - 2, within the orders; -1 for a full group. */
static inline int group_average_order(uint32_t free_clusters, uint32_t fragments, uint32_t orders)
{
	if (!free_clusters || !fragments)
		return -1;
	int order = (int)last_set(free_clusters / fragments) - 2;
	if (order < 0)
		return 0;
	return order < (int)orders ? order : (int)orders - 1;
}

#define SUMMARY_COUNT_BITS 20 /* 64 KiB blocks: 2^19 clusters */
#define SUMMARY_COUNT_MASK ((UINT64_C(1) << SUMMARY_COUNT_BITS) - 1)
#define SUMMARY_ORDER_BITS 6
#define SUMMARY_ORDER_MASK ((UINT64_C(1) << SUMMARY_ORDER_BITS) - 1)

static inline uint64_t group_summary_pack(const struct group_summary *summary)
{
	uint64_t orders = (uint64_t)(summary->largest_order + 1) |
			  (uint64_t)(summary->average_order + 1) << SUMMARY_ORDER_BITS |
			  (uint64_t)summary->state << 2 * SUMMARY_ORDER_BITS;

	return summary->free_clusters | (uint64_t)summary->fragments << SUMMARY_COUNT_BITS |
	       orders << 2 * SUMMARY_COUNT_BITS;
}

static inline struct group_summary group_summary_unpack(uint64_t packed)
{
	uint64_t orders = packed >> 2 * SUMMARY_COUNT_BITS;

	return (struct group_summary){
		.free_clusters = (uint32_t)(packed & SUMMARY_COUNT_MASK),
		.fragments = (uint32_t)(packed >> SUMMARY_COUNT_BITS & SUMMARY_COUNT_MASK),
		.largest_order = (int)(orders & SUMMARY_ORDER_MASK) - 1,
		.average_order = (int)(orders >> SUMMARY_ORDER_BITS & SUMMARY_ORDER_MASK) - 1,
		.state = (enum group_state)(orders >> 2 * SUMMARY_ORDER_BITS),
	};
}

/* Whether a run of so many clusters may be free there: it would hold a buddy of more than a quarter of its length. */
static inline bool group_summary_may_have(const struct group_summary *summary, uint32_t clusters)
{
	return summary->free_clusters >= clusters && summary->largest_order >= 0 &&
	       4u << summary->largest_order >= clusters;
}
