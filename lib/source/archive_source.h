/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An archive as a source: every format and filter that libarchive reads (tar, cpio, zip, 7z; gz, xz, zst ...). Its
 * headers are read once, in order. Contents stay where they are if they lie in a regular file as they are, and are
 * read by copying workers; what has to be unpacked or comes through a pipe is kept in an unlinked temporary file.
 * So memory grows with the number of members only.
 */
#ifndef SOURCE_ARCHIVE_SOURCE_H
#define SOURCE_ARCHIVE_SOURCE_H

#include "source/directory_source.h"

/*
 * Reads the archive at path, or from standard input if path is "-". Names are bytes, whatever the locale; see
 * source/tree_builder.h for what paths may be. Of members with the same path the last one counts. Errors name the
 * archive and, where one is concerned, the member. The pool numbers the nodes; members are read by the caller.
 */
MUST_CHECK errcode_t archive_source_scan(const char *path, const struct scan_options *options, struct pool *pool,
                                         struct tree **ret, struct problem *problem);

#endif
