/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* First fit, for callers that plan a layout: no index and no hint, so the result depends on the range alone. */
#pragma once

#include <stdint.h>

#include "ext2fs/core/allocator.h"

/*
 * Takes the first free clusters at or after position `goal` and before `limit`: the first run of at least `least`
 * there, cut to count clusters and not joined across groups. A limit beyond the last cluster is the filesystem's end.
 * EXT2MB_ET_NO_SPACE, ENOMEM. start and count are in clusters.
 */
MUST_CHECK errcode_t first_fit_take(struct ext2mb_worker *worker, uint64_t goal, uint64_t limit, uint32_t least,
                               uint64_t count, uint64_t *start, uint32_t *taken);

/* Only finds the first run of any length, whole. */
MUST_CHECK errcode_t first_fit_find(struct ext2mb *mb, uint64_t goal, uint64_t limit, uint64_t *start, uint32_t *count);
