/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a program has marked in libext2fs's block bitmap without telling the allocator that is attached. */
#pragma once

#include <stdbool.h>

#include "allocator/core/allocator.h"

/*
 * Whether all of what the worker is to hand out is free in the bitmap, too. If not, what is marked stays in use in the
 * allocator's books, as it is, and the rest is free again there: the search begins anew.
 */
bool marked_has_none(struct ext2mb_worker *worker, const struct ext2mb_extent *extent);
