// SPDX-License-Identifier: LGPL-2.1-or-later
#include "ext2fs/preallocation/worker_preallocation.h"

#include <stddef.h>

static struct locality_group *pool_of(const struct preallocation_owner *owner)
{
	return &((struct worker_preallocation *)((char *)owner - offsetof(struct worker_preallocation, owner)))->pool;
}

static uint64_t give_owner_back(struct preallocation_owner *owner, struct ext2mb *mb, struct stats *stats,
                                const struct cluster_range *range)
{
	return locality_group_give_back(pool_of(owner), mb, stats, range);
}

static void visit_owner(const struct preallocation_owner *owner, preallocation_visit visit, void *context)
{
	locality_group_visit(pool_of(owner), visit, context);
}

static const struct preallocation_owner_kind kind = { give_owner_back, visit_owner, NULL };

void worker_preallocation_open(struct ext2mb_worker *worker)
{
	struct worker_preallocation *own = worker->preallocation;

	own->hints_are_due = true;
	own->pool.window_clusters = worker->mb->prealloc->small_window;
	own->owner.kind = &kind;
	preallocation_register_add(worker->mb->preallocations, &own->owner, worker->number);
}

void worker_preallocation_close(struct ext2mb_worker *worker)
{
	struct worker_preallocation *own = worker->preallocation;

	locality_group_give_back(&own->pool, worker->mb, &worker->stats, NULL);
	preallocation_register_remove(worker->mb->preallocations, &own->owner);
}
