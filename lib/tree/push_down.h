/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A tree becomes a part of a larger one. */
#pragma once

#include "tree/tree.h"

/*
 * All of the tree moves to this path, which has one name at least: the directories on the way, and the new root, are
 * implied. ENAMETOOLONG, EOVERFLOW: too many nodes; ENOMEM, errors of tree_fix_contents(). Pure otherwise; one thread.
 */
MUST_CHECK errcode_t tree_push_down(struct tree *tree, const char *path);
