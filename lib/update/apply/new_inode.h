/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes a node's inode: a new inode, a new version with the same number, or only the metadata. Main thread. */
#pragma once

#include "update/apply/applying.h"

/* Writes a new inode with one link; a directory has no entries yet. directory is its parent's inode. */
MUST_CHECK errcode_t new_inode_write(struct applying *applying, const struct placed_inode *placed, uint32_t directory);

/* Writes a new version of an inode: all that it owned goes free, its number and its links stay. */
MUST_CHECK errcode_t new_inode_replace(struct applying *applying, const struct placed_inode *placed);

/* Changes only metadata. placed has the new xattrs; NULL: the xattrs stay. */
MUST_CHECK errcode_t new_inode_change(struct applying *applying, const struct update_action *action,
                                      const struct placed_inode *placed);
