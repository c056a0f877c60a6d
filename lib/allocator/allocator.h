/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "allocator/core/allocator.h"

/* ext2mb's own policy. */
extern const struct policy allocator_policy;

/*
 * Like ext2mb_open(), with any policy. The caller has checked the size of options (may be NULL). The policy's state is
 * freed with the allocator, or at once if this fails. Errors: ext2mb_open()'s.
 */
MUST_CHECK errcode_t allocator_open(ext2_filsys fs, const struct ext2mb_options *options, const struct policy *policy,
                                    struct ext2mb **ret);

/*
 * Uses our own policy, for a filesystem in which libext2fs's own calls mark and free blocks (fs_state.h: follows_map).
 */
MUST_CHECK errcode_t allocator_open_following(ext2_filsys fs, const struct ext2mb_options *options,
                                              struct ext2mb **ret);

/* ext2mb_worker_open(). If the allocator follows fs->block_map, the worker checks there what is marked. */
MUST_CHECK errcode_t allocator_open_worker(struct ext2mb *mb, struct ext2mb_worker **ret);

/* Whether any worker is open except `own` (NULL: none), or the number of open files is not own_files. */
bool allocator_is_used(struct ext2mb *mb, const struct ext2mb_worker *own, uint64_t own_files);

/* ext2mb_close(), also for an allocator that follows the map, which ext2mb_close() refuses. */
errcode_t allocator_close(struct ext2mb *mb);
