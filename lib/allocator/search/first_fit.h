/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* First fit, for callers that plan a layout: no index and no hint, so the result depends on the range alone. */
#pragma once

#include "allocator/search/scan.h"

/*
 * Allocates the first free clusters at or after the request's goal and before its limit: the first run of at least
 * `least` clusters, cut to count clusters. A run ends at its group's end. A limit beyond the last cluster is the
 * filesystem's end. EXT2MB_ET_NO_SPACE, ENOMEM. start and taken are in clusters.
 */
MUST_CHECK errcode_t first_fit_alloc(struct ext2mb_worker *worker, const struct scan_request *request, uint64_t *start,
                                     uint32_t *taken);

/* Only finds the first run of any length, and returns its full length. */
MUST_CHECK errcode_t first_fit_find(struct ext2mb *mb, uint64_t goal, uint64_t limit, uint64_t *start, uint32_t *count);
