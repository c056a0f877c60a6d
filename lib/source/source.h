/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One source of any kind becomes a tree. */
#ifndef SOURCE_SOURCE_H
#define SOURCE_SOURCE_H

#include "source/archive/archive_source.h"

/*
 * The source that a name says: KIND:FILE one of that kind (source/archive/archive_kind.h); else a directory if there is one (or
 * nothing) of that name; else a manifest if the file's name ends in .mtree (and how it is packed); else a common
 * archive,
 * "-" one on standard input.
 */
struct source source_of(const char *name);

/*
 * Reads a source: a directory (which may be reached through a symlink), an archive or a manifest. The tree is as
 * source/tree/tree.h promises; contents are read through source/host/content_reader.h while the tree lasts. Errors name what
 * could not be read. The source's descriptor becomes the tree's, also after a failure.
 */
MUST_CHECK errcode_t source_scan(struct source *source, const struct scan_options *options, struct pool *pool,
                                 struct tree **ret, struct problem *problem);

#endif
