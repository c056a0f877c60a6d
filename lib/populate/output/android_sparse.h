/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Android's sparse image format (fastboot and simg2img read it): chunks of blocks as they are, of one repeated 32-bit
 * value, or that do not matter. mke2fs writes it with -E android_sparse, but not as Debian builds it.
 */
#pragma once

#include "populate/output/image_form.h"

/*
 * Only for new files. Blocks that the filesystem has not allocated do not matter. Errors of converting: EFBIG (more
 * than 2^32 blocks), and those of reading and writing.
 */
extern const struct image_form android_sparse;
