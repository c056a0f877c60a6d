/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds blocks that a program has marked in libext2fs's block bitmap without telling the attached allocator. */
#pragma once

#include <stdbool.h>

#include "allocator/core/allocator.h"

/*
 * Whether all blocks that the worker is about to hand out are free in the bitmap, too. If not, the marked blocks stay
 * in use in the allocator, and the others become free there again: the caller searches anew.
 */
bool marked_has_none(struct ext2mb_worker *worker, const struct ext2mb_extent *extent);
