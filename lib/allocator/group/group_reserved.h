/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which clusters of a group lie in preallocations: a bit for each, so that ext2mb_free() can refuse them. In the buddy
 * they are in use like those of files.
 *
 * A bit is set under the group's lock, when its cluster is taken for a preallocation. It is cleared without the lock,
 * by the thread that has handed the cluster out or under the lock of the preallocation's owner. What a file takes from
 * the front of its preallocation is cleared later, many clusters at once (preallocation_owner_clear_served()): an
 * atomic operation for each append would cost a fifth of its time. So before a cluster is refused,
 * preallocation_register_clear_served() has to be called.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "support/problem.h"

struct ext2mb;

/* Makes the bits of a group, all clear, unless it has them. The group's lock is held. ENOMEM. */
MUST_CHECK errcode_t group_reserved_prepare(struct ext2mb *mb, uint32_t number);

/* The clusters now lie in a preallocation. The group's lock is held, and the bits have been made. */
void group_reserved_set(struct ext2mb *mb, uint32_t number, uint32_t start, uint32_t count);

/* The run lies in no preallocation any more; it is not longer than its group. Any thread. */
void group_reserved_clear(struct ext2mb *mb, uint64_t position, uint32_t count);

/* Whether any cluster of the range has its bit set. Any thread. */
bool group_reserved_overlaps(const struct ext2mb *mb, uint32_t number, uint32_t start, uint32_t count);

/* Those of word `word` of the group's clusters. Any thread. */
uint64_t group_reserved_word(const struct ext2mb *mb, uint32_t number, uint32_t word);

/* How many have. Exact while no other thread runs. */
uint32_t group_reserved_count(const struct ext2mb *mb, uint32_t number);
