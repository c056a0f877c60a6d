/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ids that xattrs hold: of POSIX ACLs, and of a file capability the root of its user namespace. */
#pragma once

#include "source/owners/owner_map.h"

/*
 * Maps the ids within node's set of xattrs, in place: *is_changed becomes true if any was, and sets may then be equal.
 * Malformed values stay as they are. ERANGE with a reason: an id is in no range; ENOMEM.
 */
MUST_CHECK errcode_t owner_xattrs_map(const struct owner_map *map, struct tree *tree, uint32_t node, bool *is_changed,
                                      struct problem *problem);
