/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks of 4 KiB where mke2fs(8) would make such of 1 KiB only because the filesystem is small: between 8 MiB, below
 * which 4 KiB leave no room for a journal, and 512 MiB, where its configuration's type `small` ends.
 */
#pragma once

#include "populate/size/size_trial.h"

#define DEFAULT_BLOCK_BYTES 4096u
#define DEFAULT_BLOCKS_LEAST_KIB UINT64_C(8192)

/*
 * Whether that is wanted and not asked for otherwise: by -b, by -T, by an earlier image (--stable-from), by the image
 * that is the source (--like), by files that are encrypted in blocks of one size, or by the configuration, the system's
 * or the file that MKE2FS_CONFIG names, which is the user's own if it says anything for small filesystems but 1024, or
 * for all others but 4096, as e2fsprogs' own does. (Many files that MKE2FS_CONFIG names are copies of that.) mke2fs is
 * asked, on an empty file of sizing's.
 */
MUST_CHECK errcode_t default_blocks_wanted(const struct sizing *sizing, bool *ret, struct problem *problem);

/* Whether a filesystem of this size gets them then. */
static inline bool default_blocks_for(uint64_t kib)
{
	return kib >= DEFAULT_BLOCKS_LEAST_KIB && kib < UINT64_C(512) * 1024;
}
