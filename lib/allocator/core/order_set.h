/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * An ordered set of group numbers that any threads change and search at once, without a lock: a bitmap with
 * summaries, one bit of a level for every word of the level below. It plays the role of the kernel's xarrays.
 *
 * A member's own bit is always exact. Its summaries may for a moment miss a member that another thread is
 * just adding, so a search may pass over it: it is a hint, never the truth. Once all threads have finished
 * what they were doing, no member is missed. (Summary bits that promise what is not there are harmless.)
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/problem.h"

#define ORDER_SET_LEVELS 6 /* 64^6 is more than 2^32 */
#define ORDER_SET_NONE UINT32_MAX

/* The summary of all is here, so that a look at many sets, most of them empty, takes one line of the cache for each. */
struct order_set {
	_Alignas(64) _Atomic uint64_t top;
	_Atomic uint64_t *levels[ORDER_SET_LEVELS]; /* levels[0] holds the members, the last one is top */
	unsigned int level_count;
	uint32_t size;
};

/* An empty set for numbers in [0, size), which must stay where it is in memory. ENOMEM. */
MUST_CHECK errcode_t order_set_create(struct order_set *set, uint32_t size);

/* An empty (zeroed) set is allowed. */
void order_set_destroy(struct order_set *set);

/* Two threads that change the same number must not do so at once (they hold the group's lock). */
void order_set_add(struct order_set *set, uint32_t number);
void order_set_remove(struct order_set *set, uint32_t number);

/* Whether it has no members: what order_set_next() would say of all of it, from the topmost summary alone. */
static inline bool order_set_is_empty(const struct order_set *set)
{
	return !atomic_load_explicit(&set->top, memory_order_relaxed);
}

bool order_set_has(const struct order_set *set, uint32_t number);

/* The first member in [from, end), ORDER_SET_NONE if there is none; end may be beyond the size. */
uint32_t order_set_next(const struct order_set *set, uint32_t from, uint32_t end);
