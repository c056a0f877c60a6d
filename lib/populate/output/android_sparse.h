/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Android's sparse image format (fastboot and simg2img read it): chunks of blocks as they are, of one repeated 32-bit
 * value, or that do not matter. mke2fs writes it with -E android_sparse, but not as Debian builds it.
 */
#ifndef POPULATE_ANDROID_SPARSE_H
#define POPULATE_ANDROID_SPARSE_H

#include "populate/build.h"
#include "populate/output/output.h"

/*
 * Puts the finished filesystem into that format, in a new temporary file. Blocks that the filesystem has not allocated
 * do not matter. Main thread only; EFBIG: more than 2^32 blocks.
 */
MUST_CHECK errcode_t android_sparse_convert(const struct build *build, struct output *output);

#endif
