/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Contention that is simulated, for runs that must be repeatable: one thread takes turns for many (see struct
 * contention in group_search.h).
 */
#pragma once

#include "ext2fs/search/group_search.h"

/* NULL: none any more. While no thread allocates; its functions are called by all that do. */
void contention_simulate(struct ext2mb *mb, const struct contention *contention);
