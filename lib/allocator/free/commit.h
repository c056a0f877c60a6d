/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The commit that makes what was freed available again. */
#pragma once

#include "allocator/core/allocator.h"
#include "allocator/group/pending_free.h"

/* Ours. */
extern const struct pending_operations pending_in_groups;

/*
 * Releases what was freed in the running transaction and begins the next one; before that, shows it to the caller's
 * discard function, whose first error it returns. Any thread. EXT2MB_ET_IN_DISCARD: that function has called it.
 * EXT2MB_ET_FORKED.
 */
MUST_CHECK errcode_t commit_frees(struct ext2mb *mb);

/* EXT2MB_ET_IN_DISCARD: this thread is in the discard function. Else waits for a commit that goes on. */
MUST_CHECK errcode_t commit_refuse_in_discard(struct ext2mb *mb);
