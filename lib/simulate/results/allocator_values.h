/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The values that the allocator counts: what was found where, and who stood in whose way. */
#pragma once

#include "simulate/streams/streams.h"

/* Adds them, and what the streams waited for. Errors of ext2mb_read_stats(). */
MUST_CHECK errcode_t allocator_values_add(struct simulation *simulation, const char *section,
                                          const struct streams_cost *cost);
