/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An archive as a source, of the kind that its name says (source/archive/archive_kind.h), or a manifest. An archive's
 * headers are read once, in order. Contents stay where they are if they lie in a regular file as they are, and are
 * read by copying workers; what has to be unpacked or comes through a pipe is kept in an unlinked temporary file.
 * So memory grows with the number of members only.
 */
#ifndef SOURCE_ARCHIVE_SOURCE_H
#define SOURCE_ARCHIVE_SOURCE_H

#include "source/archive/archive_kind.h"
#include "source/host/directory_source.h"

struct source {
	const char *path;                /* borrowed; "-": standard input, unless it is a directory */
	const struct archive_kind *kind; /* NULL: a directory */
	int descriptor;                  /* the file, open at its beginning; -1: it is opened by its path */
};

/*
 * Reads an archive or a manifest, whose descriptor becomes the tree's, also after a failure. Names are bytes, whatever
 * the locale; see source/tree/tree_builder.h for what paths may be. Of members with the same path the last one counts.
 * Errors name the archive and, where one is concerned, the member. The pool numbers the nodes; members are read by the
 * caller.
 */
MUST_CHECK errcode_t archive_source_scan(struct source *source, const struct scan_options *options, struct pool *pool,
                                         struct tree **ret, struct problem *problem);

#endif
