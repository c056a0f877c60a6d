/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which files of a source are left out: patterns with the meaning that gitignore(5) gives them.
 *
 *   NAME       (no slash but at its end) files of this name, wherever they lie
 *   a/b, /a    a path from the source's root
 *   .../       directories only
 *   **         as a component: any number of directories, also none
 *   !...       what an earlier pattern left out is kept after all: the last pattern that matches decides
 *
 * Within a component *, ?, [...] and \ mean what they mean to fnmatch(3), leading dots included. Callers go from the
 * root downwards: nothing below an excluded directory is examined, so nothing there can be kept.
 */
#pragma once

#include <stdbool.h>

#include "support/problem.h"

struct exclude;

/* No patterns yet. ENOMEM. */
MUST_CHECK errcode_t exclude_create(struct exclude **ret);
void exclude_destroy(struct exclude *exclude);

/*
 * Adds a pattern, which is copied. EINVAL, with a reason: it can match nothing (it is empty, has a component ".."
 * or ends in a backslash). origin says in the problem where the pattern comes from.
 */
MUST_CHECK errcode_t exclude_add(struct exclude *exclude, const char *pattern, const char *origin,
                                 struct problem *problem);

/*
 * Adds the patterns of a file, one a line, without empty lines and those that begin with #. Problems name file and
 * line.
 */
MUST_CHECK errcode_t exclude_add_file(struct exclude *exclude, const char *path, struct problem *problem);

/*
 * Is the file at a path left out? path: from the source's root, no slash at its beginning or end, not empty. The
 * directories that it is in are not asked about. Any thread.
 */
bool exclude_matches(const struct exclude *exclude, const char *path, bool is_directory);

/* Is the file, or a directory that it is in, left out? For archives, whose members come in any order. Any thread. */
bool exclude_covers(const struct exclude *exclude, const char *path, bool is_directory);
