/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A manifest, mtree(5), as a source: its lines are the tree, and regular files have the contents of files of the host:
 * those that contents= names, symlinks followed, else those at the line's own path, following none. Any other file,
 * or one that gives other bytes than its size says (in /proc and /sys), is refused. Relative paths begin in the
 * manifest's directory (in the current one for standard input). What a line does not say is mode 0755 (0777 symlinks, 0644 all
 * others), owner 0:0 and the manifest's own time. A further line for the same file and type changes what it says. Every
 * line that names a regular file makes a file of its own; hard links are not known. Names of users and groups are those
 * of the tree's own etc/passwd and etc/group. Files are found and measured by the scan and read later. Problems name
 * manifest and line.
 */
#ifndef SOURCE_MANIFEST_SOURCE_H
#define SOURCE_MANIFEST_SOURCE_H

#include "source/tree/source_kind.h"

extern const struct source_kind manifest_source;

#endif
