/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One source of any kind becomes a tree. */
#ifndef SOURCE_SOURCE_H
#define SOURCE_SOURCE_H

#include "source/directory_source.h"

/* What is at path is read as an archive: it is there and no directory. */
bool source_is_archive(const char *path);

/*
 * Reads what is at path: a directory (which may be reached through a symlink), or an archive in any other file;
 * "-" is an archive on standard input. The tree is as source/tree.h promises;
 * contents are read through source/content_reader.h while the tree lasts. Errors name what could not be read.
 */
MUST_CHECK errcode_t source_scan(const char *path, const struct scan_options *options, struct pool *pool,
                                 struct tree **ret, struct problem *problem);

#endif
