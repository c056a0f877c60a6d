/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "allocator/core/allocator.h"

/* Ours. */
extern const struct policy allocator_policy;

/*
 * As ext2mb_open(), whose options, if any, have been checked for their size, with any policy, whose state is freed with
 * the allocator, or at once where this fails. ext2mb_open()'s errors.
 */
MUST_CHECK errcode_t allocator_open(ext2_filsys fs, const struct ext2mb_options *options, const struct policy *policy,
                                    struct ext2mb **ret);

/* With our own policy, for a filesystem whose blocks libext2fs's own calls mark and free (fs_state.h: follows_map). */
MUST_CHECK errcode_t allocator_open_following(ext2_filsys fs, const struct ext2mb_options *options,
                                              struct ext2mb **ret);

/* ext2mb_worker_open(), whose workers look what is marked in fs->block_map if the allocator follows it. */
MUST_CHECK errcode_t allocator_open_worker(struct ext2mb *mb, struct ext2mb_worker **ret);

/* Whether a worker is open besides `own` (NULL: none), or other files than so many. */
bool allocator_is_used(struct ext2mb *mb, const struct ext2mb_worker *own, uint64_t own_files);

/* ext2mb_close(), which refuses to close one that follows. */
errcode_t allocator_close(struct ext2mb *mb);
