/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A manifest, mtree(5), as a source: its lines are the tree, and regular files have the contents of files of the host:
 * those that contents= names, symlinks followed, else those at the line's own path, following none. What is no regular
 * file, or gives other bytes than its size says (in /proc and /sys), is refused. Relative paths begin in the manifest's
 * directory (in the current one for standard input). What a line does not say is mode 0755 (0777 symlinks, 0644 all
 * others), owner 0:0 and the manifest's own time. A further line for the same file and type changes what it says. Every
 * line that names a regular file makes a file of its own; hard links are not known.
 */
#ifndef SOURCE_MANIFEST_SOURCE_H
#define SOURCE_MANIFEST_SOURCE_H

#include <stdbool.h>

#include "source/tree/tree_builder.h"

struct archive_scan;

/*
 * Does what begins so look like a manifest? "#mtree" says it, and so does the first line that is no comment if it looks
 * so. This is for messages and to see that one is not packed: bytes do not make a source a manifest, its name does.
 */
bool manifest_is(const char *bytes, size_t count);

/*
 * Makes the tree of scan, whose kind is a manifest, whole. Names of users and groups are those of
 * its own etc/passwd and etc/group. Files are found and measured here and read later. Problems name manifest and line.
 */
MUST_CHECK errcode_t manifest_source_build(struct archive_scan *scan, struct tree_builder *builder, struct pool *pool);

#endif
