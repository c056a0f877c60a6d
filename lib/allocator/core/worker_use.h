/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Detects wrong use of a worker, and returns an error instead of crashing: the worker is NULL or closed. Debug builds
 * (-DEXT2MB_DEBUG, and with sanitizers) also detect two threads that use one at the same time; other builds avoid that
 * cost.
 */
#pragma once

#include "allocator/core/allocator.h"

struct worker_use {
	struct ext2mb_worker *worker; /* the worker to release; NULL: none */
	errcode_t error;              /* EXT2MB_ET_BAD_ARGUMENT, EXT2MB_ET_WORKER_BUSY */
};

static inline struct worker_use worker_use_begin(struct ext2mb_worker *worker)
{
	if (!worker || !worker->mb)
		return (struct worker_use){ NULL, EXT2MB_ET_BAD_ARGUMENT };
#ifdef EXT2MB_DEBUG
	if (atomic_exchange(&worker->is_in_use, true))
		return (struct worker_use){ NULL, EXT2MB_ET_WORKER_BUSY };
#endif
	return (struct worker_use){ worker, 0 };
}

static inline void worker_use_end(const struct worker_use *use)
{
#ifdef EXT2MB_DEBUG
	if (use->worker)
		atomic_store(&use->worker->is_in_use, false);
#else
	(void)use;
#endif
}

/* Uses the worker until the end of the scope. */
#define SCOPE_WORKER_USE(name, worker)                                                                                 \
	__attribute__((cleanup(worker_use_end))) const struct worker_use name = worker_use_begin(worker)
