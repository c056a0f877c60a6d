/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One source of any kind becomes a tree. The kinds are listed in source/source.c. */
#pragma once

#include "source/tree/source_kind.h"

/*
 * The source that a name says, never its bytes: otherwise the author of an archive could make it a manifest, whose
 * lines name files of this host. KIND:NAME is one of that kind (manual page e2populate(8)); else a directory if there
 * is one of that name, or nothing; else a manifest if the file's name ends in .mtree, and how it is packed; else a
 * common archive, "-" one on standard input.
 */
struct source source_of(const char *name);

/* Does the name say that the source is standard input, or KIND: and no file? */
bool source_is_standard_input(const char *name);
bool source_names_nothing(const char *name);

/*
 * Reads a source that is not an image of layers. The tree is as source/tree/tree.h promises; contents are read through
 * source/host/content_reader.h while the tree lasts. Errors name what could not be read.
 */
MUST_CHECK errcode_t source_scan(struct source *source, const struct scan_options *options, struct pool *pool,
                                 struct tree **ret, struct problem *problem);
