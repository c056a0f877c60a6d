/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A manifest, mtree(5), as a source: its lines are the tree, and regular files have the contents of files of the host.
 *
 * A file's contents are those of the file that contents= names, symlinks followed, else of the one at the line's own
 * path, following no symlink. It must be a regular file, and give as many bytes as its size says: those in /proc and
 * /sys do not, and are refused. Relative paths begin in the manifest's directory (for standard input, in the current
 * one). Such files are found and measured by the scan and read later.
 *
 * Unless a line says more, a file has mode 0755 (directories), 0777 (symlinks) or 0644 (all others), owner 0:0 and the
 * manifest's own time. A further line for the same file and type changes what it says. There are no hard links: each
 * line for a regular file makes a file of its own. Names of users and groups are those of the tree's own etc/passwd and
 * etc/group. Problems name manifest and line.
 */
#pragma once

#include "source/tree/source_kind.h"

extern const struct source_kind manifest_source;
