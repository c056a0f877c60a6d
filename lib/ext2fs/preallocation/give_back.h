/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Preallocated clusters become free again. */
#pragma once

#include "ext2fs/core/allocator.h"

/* What lies between the two is a move: see preallocation.h. */
static inline void preallocation_move_begin(struct stats *stats)
{
	stats_add(stats, COUNT_MOVES_BEGUN, 1);
}

static inline void preallocation_move_end(struct stats *stats)
{
	stats_add(stats, COUNT_MOVES_ENDED, 1);
}

/* Within a move and with the lock of their owner held. */
void preallocation_give_back(struct ext2mb *mb, struct stats *stats, uint64_t position, uint32_t count);
