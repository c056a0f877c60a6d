/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How preallocations are made: the options, with everything that was left open filled in. */
#pragma once

#include <stdint.h>

#include "ext2fs/core/allocator.h"

struct preallocation_options {
	enum ext2mb_normalization normalization;
	enum ext2mb_locality locality;
	uint32_t small_file_blocks; /* files up to this size are small */
	uint32_t small_window;      /* clusters of a full-sized preallocation for them */
};

/* Fills mb->prealloc; geometry, stripe and policy are known. EXT2MB_ET_BAD_ARGUMENT. */
MUST_CHECK errcode_t preallocation_options_set(struct ext2mb *mb, const struct ext2mb_options *options);
