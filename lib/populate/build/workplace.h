/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The stages' tools: options, threads, and the problem for errors. */
#pragma once

#include "populate/build/options.h"
#include "support/problem.h"
#include "support/run/pool.h"

struct workplace {
	const struct populate_options *options;
	struct problem *problem;
	struct pool *pool;
	struct pool *readers; /* what reads the source has one of its own: readers wait, they do not work */
};

/* True if the source is slow: there are more readers than threads, and small tasks are better. */
static inline bool workplace_reads_slowly(const struct workplace *work)
{
	return pool_active(work->readers) > pool_workers(work->pool);
}

/* Records a problem of the image, unless error is 0, which it returns then. */
static inline errcode_t workplace_result(const struct workplace *work, errcode_t error, const char *action)
{
	return error ? problem_set(work->problem, error, work->options->image, action) : 0;
}
