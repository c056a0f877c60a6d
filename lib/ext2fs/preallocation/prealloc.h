/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How windows are made: the options, with everything that was left open filled in. */
#ifndef EXT2FS_PREALLOC_H
#define EXT2FS_PREALLOC_H

#include <stdint.h>

#include "ext2fs/ext2mb.h"
#include "ext2fs/core/geometry.h"

struct prealloc {
	enum ext2mb_normalization normalization;
	enum ext2mb_small_windows small_windows;
	uint32_t small_file_blocks; /* files up to this size are small */
	uint32_t small_window;      /* clusters of a full-sized window for them */
};

/* options may be NULL; stripe_clusters 0: no stripe. EXT2MB_ET_BAD_ARGUMENT. */
EXT2MB_MUST_CHECK errcode_t prealloc_set(struct prealloc *prealloc, const struct ext2mb_options *options,
                                         const struct geometry *geometry, uint32_t stripe_clusters);

#endif
