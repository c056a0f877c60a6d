/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes the inode of a node: a new one, a new version with the same number, or only its metadata. Main thread. */
#pragma once

#include "update/apply/applying.h"

/* With one link; a directory has no entries yet. directory: the inode of its parent. */
MUST_CHECK errcode_t new_inode_write(struct applying *applying, const struct placed_inode *placed, uint32_t directory);

/* All that the inode owned goes free; its number and its links stay. */
MUST_CHECK errcode_t new_inode_replace(struct applying *applying, const struct placed_inode *placed);

/* placed: of its xattrs; NULL: they stay. */
MUST_CHECK errcode_t new_inode_change(struct applying *applying, const struct update_action *action,
                                      const struct placed_inode *placed);
