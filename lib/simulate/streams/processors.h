/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A model of several processors for streams that take turns in one thread: the streams with the latest turns, one for
 * each processor but the present stream's, are modelled as still holding the lock of the group from which they last
 * allocated. One thread.
 */
#pragma once

#include "allocator/search/group_search.h"
#include "support/problem.h"

struct processors;

/* count: at least 1, which means no contention. ENOMEM. */
MUST_CHECK errcode_t processors_create(unsigned int count, unsigned int streams, uint32_t groups,
                                       struct processors **ret);

/* NULL is allowed. */
void processors_destroy(struct processors *processors);

/* For contention_simulate(). */
const struct contention *processors_contention(const struct processors *processors);

/* Begins a turn of this stream, on the processor of the stream whose turn is longest ago. */
void processors_turn(struct processors *processors, unsigned int stream);
