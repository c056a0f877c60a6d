/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Paths of the image that the user names: from its root, whether they begin with a slash or not. */
#pragma once

#include <stdbool.h>

/* One of its names is "..", which would need a directory to come from: there is no such path. */
bool plain_path_climbs(const char *path);

/*
 * The path with one slash before each name, and without names that are "."; "" is the root. So equal paths are equal
 * strings, and none is taken for an inode number. The caller frees it; NULL: no memory.
 */
char *plain_path(const char *path);
