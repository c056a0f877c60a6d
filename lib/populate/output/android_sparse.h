/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Android's sparse image format (fastboot and simg2img read it): chunks of blocks as they are, of one repeated 32-bit
 * value, or that do not matter. mke2fs writes it with -E android_sparse, but not as Debian builds it.
 */
#pragma once

#include "output/image_sink.h"
#include "output/output.h"
#include "populate/build/workplace.h"

/*
 * Puts the finished filesystem into this form, in a new temporary file; not for a device. Blocks that the filesystem
 * has not allocated do not matter. Main thread only. Errors: EFBIG (more than 2^32 blocks), and those of reading and
 * writing.
 */
MUST_CHECK errcode_t android_sparse_convert(const struct image_file *file, uint32_t block_bytes,
                                            const struct workplace *work, struct output *output);
