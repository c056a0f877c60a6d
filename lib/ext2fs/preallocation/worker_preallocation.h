/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a worker has for the files that it writes. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ext2fs/core/allocator.h"
#include "ext2fs/preallocation/directory_visits.h"
#include "ext2fs/preallocation/locality_group.h"
#include "ext2fs/preallocation/normalize.h"
#include "ext2fs/preallocation/preallocation_options.h"

struct worker_preallocation {
	bool hints_are_due;
	uint64_t hints_at; /* clusters that it had reserved when the hints were new */
	struct normalize_hints hints;
	struct preallocation_owner owner; /* of the pool */
	struct locality_group pool;       /* for small files, unless their directories' are better for them */
	struct directory_visits visits;
};

/* Prepares a zeroed one and registers its pool. */
void worker_preallocation_open(struct ext2mb_worker *worker);

/* Gives back what is in the pool. */
void worker_preallocation_close(struct ext2mb_worker *worker);

/* Whether our own normalization has seen that the worker writes its small files one directory after the other. */
static inline bool worker_goes_in_order(const struct ext2mb_worker *worker)
{
	return worker->mb->prealloc->normalization == EXT2MB_NORMALIZE_EXT2MB &&
	       directory_visits_in_order(&worker->preallocation->visits);
}
