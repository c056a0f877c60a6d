/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A model of so many processors for streams that take turns in one thread: the streams that had the latest turns, one
 * for each processor but that of the one whose turn it is, are modelled as still holding the group that they last
 * searched with success. One thread.
 */
#pragma once

#include "allocator/search/group_search.h"
#include "support/problem.h"

struct processors;

/* count: at least 1, and 1 is no contention at all. ENOMEM. */
MUST_CHECK errcode_t processors_create(unsigned int count, unsigned int streams, uint32_t groups,
                                       struct processors **ret);

/* NULL is allowed. */
void processors_destroy(struct processors *processors);

/* For contention_simulate(). */
const struct contention *processors_contention(const struct processors *processors);

/* What follows is done by this stream, on a processor that the stream of longest ago leaves. */
void processors_turn(struct processors *processors, unsigned int stream);
