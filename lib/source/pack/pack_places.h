/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The places of contents in a pack. */
#pragma once

#include "tree/tree.h"

/*
 * The place of a regular file's contents: from *end on, in bytes after the header. Advances *end to where those of the
 * next file begin. A sparse file's segments lie at starts[0] and so on (starts may be NULL); its blocks without data
 * are left out. Any other file lies there as a whole. EFBIG: it would be too large; *end stays.
 */
MUST_CHECK errcode_t pack_places_add(uint64_t size_bytes, const struct tree_data_map *map, uint64_t *end,
                                     uint64_t *starts);
