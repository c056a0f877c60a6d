/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The commit, which makes freed clusters available again. */
#pragma once

#include "allocator/core/allocator.h"
#include "allocator/group/pending_free.h"

/* ext2mb's own way. */
extern const struct pending_operations pending_in_groups;

/*
 * Ends the running transaction and begins the next one. Passes each range freed in it to the caller's discard function,
 * then releases it; returns that function's first error. Any thread. EXT2MB_ET_IN_DISCARD: the discard function called
 * this. EXT2MB_ET_FORKED.
 */
MUST_CHECK errcode_t commit_frees(struct ext2mb *mb);

/* EXT2MB_ET_IN_DISCARD: this thread is in the discard function. Else waits for a running commit to end. */
MUST_CHECK errcode_t commit_refuse_in_discard(struct ext2mb *mb);
