/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Android's sparse images, as mke2fs -E android_sparse, img2simg and e2populate write them. */
#pragma once

#include "support/problem.h"
#include "support/run/progress.h"
#include "tree/source_limits.h"

/*
 * Writes the disk to `to`, a new file, and leaves out what is zero or does not matter. counts: of the bytes that it
 * unpacks to; progress counts those of the file; both may be NULL. path is for the problem. EINVAL with a reason:
 * another version; EBADMSG: it is damaged or cut off; EDQUOT, ENOMEM, errors of reading and writing, EINTR.
 */
MUST_CHECK errcode_t android_sparse_unpack(int from, struct source_counts *counts, struct progress *progress, int to,
                                           const char *path, struct problem *problem);
