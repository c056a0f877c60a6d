/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Moves the contents of regular files into their blocks. */
#ifndef POPULATE_COPY_H
#define POPULATE_COPY_H

#include "populate/build.h"

/*
 * Copies everything that has blocks. Small files are gathered into large writes, large ones are cut into
 * slices that workers share. Clusters that hold only zeros become holes: their blocks go back to the
 * allocator; not those above RUN_WRITER_BYTES, which no worker sees whole. A file that has become shorter
 * since it was scanned is an error (EIO).
 */
MUST_CHECK errcode_t copy_files(struct build *build);

#endif
