/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the contents of a tree's regular files, whatever each of them comes from. */
#pragma once

#include "source/tree/tree.h"

/* One worker's. Files are opened as they were scanned, without following symlinks, and keep their atime. */
struct content_reader;

/* ENOMEM. The tree must last as long, and its origins stay the same. */
MUST_CHECK errcode_t content_reader_create(const struct tree *tree, struct content_reader **ret);
void content_reader_destroy(struct content_reader *reader);

/*
 * Makes node, a regular file and no further name of one, the file to be read. EBUSY with a reason: it is no longer a
 * regular file; where it is a directory now, reading may be what says so.
 */
MUST_CHECK errcode_t content_reader_open(struct content_reader *reader, uint32_t node, struct problem *problem);

/* The descriptor of that file; -1 where it is not a file of the host. Until the next one is opened. */
int content_reader_descriptor(const struct content_reader *reader);

/*
 * Where count bytes of that file, from offset on, lie side by side in a file of the host: its descriptor, and their
 * place there. False: they do not, or have been unpacked. Until the next one is opened.
 */
bool content_reader_lies_at(const struct content_reader *reader, uint64_t offset, uint64_t count, int *descriptor,
                            uint64_t *place);

/*
 * Where the host has a node of a TREE_ORIGIN_DIRECTORY: its name in an open directory, until the reader is used again.
 * Symlinks are not followed on the way. Errors of open(2), ENOMEM.
 */
MUST_CHECK errcode_t content_reader_locate(struct content_reader *reader, uint32_t node, int *directory,
                                           const char **name, struct problem *problem);

/*
 * Exactly count bytes of that file, beginning at offset, within its size; holes are zeros. ENODATA with a reason where
 * it has become shorter, EBUSY where it is a directory now. The problem names the file.
 */
MUST_CHECK errcode_t content_reader_read(struct content_reader *reader, void *bytes, size_t count, uint64_t offset,
                                         struct problem *problem);

/*
 * What this has read there is not read again by anybody, and it was read once: what was unpacked is given up. Where
 * contents lie elsewhere it does nothing.
 */
void content_reader_release(const struct content_reader *reader, size_t count, uint64_t offset);

/* The flags of that file (source/tree/file_flags.h); 0 where it is not a file of the host. */
uint32_t content_reader_flags(const struct content_reader *reader);

/*
 * Once everything has been read: EBUSY if an archive has been changed meanwhile. (A file that changes is read as it
 * is; an archive that changes gives a file other files' bytes.)
 */
MUST_CHECK errcode_t content_reader_check(const struct tree *tree, struct problem *problem);
