/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opens regular files of a scanned tree, those of one TREE_ORIGIN_DIRECTORY. Each worker has its own: it keeps the
 * last directory open, since the files of a directory are neighbours in the tree. Others use
 * source/host/content_reader.h, which reads files of any origin.
 */
#ifndef SOURCE_DIRECTORY_READER_H
#define SOURCE_DIRECTORY_READER_H

#include "source/tree/tree.h"

struct directory_reader;

/* ENOMEM. The tree must last as long. */
MUST_CHECK errcode_t directory_reader_create(const struct tree *tree, uint32_t origin, struct directory_reader **ret);
void directory_reader_destroy(struct directory_reader *reader);

/* A directory, open for reading until the reader is used again. Symlinks are not followed. */
MUST_CHECK errcode_t directory_reader_enter(struct directory_reader *reader, uint32_t node, int *directory,
                                            struct problem *problem);

/*
 * A descriptor for reading; the caller closes it. Symlinks are not followed: a file that has been replaced
 * by one since the scan is an error. EBUSY with a reason: it is no longer a regular file.
 */
MUST_CHECK errcode_t directory_reader_open(struct directory_reader *reader, uint32_t node, int *descriptor,
                                           struct problem *problem);

#endif
