/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The groups where large files continue: one group number per stream, hashed as in the kernel. Each is on its own cache
 * line and stored only when it changes, so that streams do not slow one another. Hints only.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "allocator/core/allocator.h"
#include "allocator/search/search_memory.h"

struct stream_goal {
	_Alignas(64) _Atomic uint32_t group;
};

struct stream_goals {
	struct stream_goal *goals;
	uint32_t count;
};

#define STREAM_GOALS_DEFAULT 64 /* fixed, so that a result does not depend on the machine */

/*
 * Creates min(streams, ceil(groups / 4)) goals, spread evenly over all groups of a small filesystem or the first groups
 * of a large one, but never in a group kept for directories. ENOMEM.
 */
MUST_CHECK errcode_t stream_goals_create(struct stream_goals *goals, uint32_t streams, const struct geometry *geometry);
void stream_goals_destroy(struct stream_goals *goals);

struct goal_operations {
	/* The cluster is 0 except in older policies. */
	struct cluster_place (*load)(struct ext2mb *mb, uint64_t stream);
	void (*store)(struct ext2mb *mb, uint64_t stream, uint32_t group, uint32_t cluster);
	bool is_cluster;          /* only that cluster is a hit; false: any cluster of the group */
	unsigned int hit_counter; /* COUNT_* */
};

/* ext2mb's own goals. */
extern const struct goal_operations stream_goals_padded;
