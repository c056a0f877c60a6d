/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Where large files go on: one group number per stream, hashed as the kernel does, each on a cache line of
 * its own and stored only when it changes, so that streams do not disturb one another. Hints only.
 */
#ifndef EXT2FS_GOALS_H
#define EXT2FS_GOALS_H

#include <stdatomic.h>
#include <stdint.h>

#include "support/problem.h"

struct stream_goal {
	_Alignas(64) _Atomic uint32_t group;
};

struct goals {
	struct stream_goal *goals;
	uint32_t count;
};

#define GOALS_DEFAULT_STREAMS 64 /* fixed, so that a result does not depend on the machine */

/*
 * min(streams, ceil(groups / 4)) goals, spread evenly over the groups of a small filesystem and over the first ones
 * of a large one, not in a flex group's first one if flex_groups is 4 or more. ENOMEM.
 */
MUST_CHECK errcode_t goals_create(struct goals *goals, uint32_t streams, uint32_t groups, uint32_t flex_groups);
void goals_destroy(struct goals *goals);

static inline uint32_t goals_load(const struct goals *goals, uint64_t stream)
{
	return atomic_load_explicit(&goals->goals[stream % goals->count].group, memory_order_relaxed);
}

static inline void goals_store(struct goals *goals, uint64_t stream, uint32_t group)
{
	_Atomic uint32_t *goal = &goals->goals[stream % goals->count].group;

	if (atomic_load_explicit(goal, memory_order_relaxed) != group)
		atomic_store_explicit(goal, group, memory_order_relaxed);
}

#endif
