/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "tree/tree.h"

/*
 * Checks the promises of tree/tree.h: order of names, runs, links, counts and parents. Returns true, or false with
 * the reason in why.
 */
bool tree_check(const struct tree *tree, char *why, size_t why_bytes);
