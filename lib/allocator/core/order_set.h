/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * An ordered set of group numbers that threads change and search concurrently, without a lock. It is a bitmap with
 * summary levels: one bit for each word of the level below. It replaces the kernel's xarrays.
 *
 * A member's own bit is always exact. Its summary bits may briefly be missing while another thread adds it, so a search
 * may pass over it: results are hints. Once all threads have finished their changes, no search misses a member.
 * (Summary bits above an empty word are harmless.)
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/problem.h"

#define ORDER_SET_LEVELS 6 /* 64^6 is more than 2^32 */
#define ORDER_SET_NONE UINT32_MAX

/*
 * The top summary is a member of the struct, so that testing many sets, most of them empty, reads one cache line each.
 */
struct order_set {
	_Alignas(64) _Atomic uint64_t top;
	_Atomic uint64_t *levels[ORDER_SET_LEVELS]; /* levels[0] holds the members, the last one is top */
	unsigned int level_count;
	uint32_t size;
};

/* Makes an empty set for numbers in [0, size). The struct must not move in memory. ENOMEM. */
MUST_CHECK errcode_t order_set_create(struct order_set *set, uint32_t size);

/* An empty (zeroed) set is allowed. */
void order_set_destroy(struct order_set *set);

/* Two threads must not change the same number at the same time (callers hold the group's lock). */
void order_set_add(struct order_set *set, uint32_t number);
void order_set_remove(struct order_set *set, uint32_t number);

/*
 * Whether the set has no members: what order_set_next() would find in the whole set, read from the top summary alone.
 */
static inline bool order_set_is_empty(const struct order_set *set)
{
	return !atomic_load_explicit(&set->top, memory_order_relaxed);
}

bool order_set_has(const struct order_set *set, uint32_t number);

/* The first member in [from, end), ORDER_SET_NONE if there is none; end may be beyond the size. */
uint32_t order_set_next(const struct order_set *set, uint32_t from, uint32_t end);
