/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A bit for each cluster of a group that lies in a preallocation, so that ext2mb_free() can refuse it. The buddy counts
 * such clusters as in use, like those of files.
 *
 * A thread sets a bit under the group's lock, when it takes the cluster for a preallocation. It is cleared without that
 * lock, by the thread that has handed the cluster out or under the lock of the preallocation's owner. The bits of
 * clusters that a file takes from the front of its preallocation are cleared later, many at once
 * (preallocation_owner_clear_served()): an atomic operation for each append would cost a fifth of its time. So before
 * the caller refuses a cluster, it must call preallocation_register_clear_served().
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "support/problem.h"

struct ext2mb;

/* Allocates the bits of a group, all clear, unless it has them. The group's lock is held. ENOMEM. */
MUST_CHECK errcode_t group_reserved_prepare(struct ext2mb *mb, uint32_t number);

/* The clusters now lie in a preallocation. The group's lock is held, and the bits are allocated. */
void group_reserved_set(struct ext2mb *mb, uint32_t number, uint32_t start, uint32_t count);

/* The run no longer lies in a preallocation; it does not cross its group's end. Any thread. */
void group_reserved_clear(struct ext2mb *mb, uint64_t position, uint32_t count);

/* Whether any cluster of the range has its bit set. Any thread. */
bool group_reserved_overlaps(const struct ext2mb *mb, uint32_t number, uint32_t start, uint32_t count);

/* Returns the bits of one 64-bit word of the group's clusters. Any thread. */
uint64_t group_reserved_word(const struct ext2mb *mb, uint32_t number, uint32_t word);

/* The number of set bits in the group. Exact while no other thread runs. */
uint32_t group_reserved_count(const struct ext2mb *mb, uint32_t number);
