/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The file that a source is, where it is not a directory. */
#pragma once

#include "source/tree/source_kind.h"

/*
 * Opens a file without waiting for the writer of a pipe: reading waits, and sees signals. -1 with errno.
 */
int source_file_open_path(const char *path);

/* As messages call the source. */
const char *source_file_name(const struct source *source);

/* Opens the source, whose descriptor is taken, as the first origin of an empty tree. EINVAL: it is the image itself. */
MUST_CHECK errcode_t source_file_open(struct source *source, const struct scan_options *options, struct tree *tree,
                                      struct problem *problem);
