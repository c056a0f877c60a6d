/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The names of a directory of the tree, for directories of the image that ignore case. */
#pragma once

#include "ondisk/directory.h"
#include "update/compare/comparison.h"

/* A name of the tree, by the hash of its folded form. */
struct folded_name {
	uint32_t hash, minor;
	uint32_t node;
};

struct folded_names {
	struct folded_name *list; /* owned; sorted by hash */
	uint32_t count;
};

/* Those of a node, a directory. The filesystem has an encoding. Names that are not valid in it are left out. ENOMEM. */
MUST_CHECK errcode_t folded_names_make(const struct comparison *comparison, uint32_t directory,
                                       struct folded_names *names);

/* The node whose name differs by case at most; TREE_ROOT: there is none. */
uint32_t folded_names_find(const struct comparison *comparison, const struct folded_names *names,
                           struct directory_name name);

/* Two nodes whose names differ only by case. */
bool folded_names_clash(const struct comparison *comparison, const struct folded_names *names, uint32_t *one,
                        uint32_t *other);

void folded_names_free(struct folded_names *names);
