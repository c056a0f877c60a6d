/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Patterns that exclude files of a source, with the meaning that gitignore(5) gives them.
 *
 *   NAME       (no slash but at its end) files of this name, wherever they lie
 *   a/b, /a    a path from the source's root
 *   .../       directories only
 *   **         as a component: any number of directories, also none
 *   !...       what an earlier pattern left out is kept after all: the last pattern that matches decides
 *
 * Within a component *, ?, [...] and \ mean what they mean to fnmatch(3), leading dots included. Callers walk from the
 * root downwards and do not enter an excluded directory, so "!" cannot keep anything below one.
 */
#pragma once

#include <stdbool.h>

#include "support/problem.h"

struct exclude;

/* No patterns yet. ENOMEM. */
MUST_CHECK errcode_t exclude_create(struct exclude **ret);
void exclude_destroy(struct exclude *exclude);

/*
 * Adds a copy of a pattern. EINVAL, with a reason: it can match nothing (it is empty, has a component ".." or ends in a
 * backslash). origin says in the problem where the pattern comes from.
 */
MUST_CHECK errcode_t exclude_add(struct exclude *exclude, const char *pattern, const char *origin,
                                 struct problem *problem);

/*
 * Adds the patterns of a file, one a line; skips empty lines and those that begin with #. Problems name file and line.
 */
MUST_CHECK errcode_t exclude_add_file(struct exclude *exclude, const char *path, struct problem *problem);

/*
 * Is the file at a path excluded? path: relative to the source's root, not empty, without a slash at either end. Does
 * not test the directories above it. Any thread.
 */
bool exclude_matches(const struct exclude *exclude, const char *path, bool is_directory);

/* Is the file, or a directory above it, excluded? For archives, whose members come in any order. Any thread. */
bool exclude_covers(const struct exclude *exclude, const char *path, bool is_directory);
