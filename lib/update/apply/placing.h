/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The first stage of a batch: it takes the inode number and the blocks that each action needs. Main thread. */
#pragma once

#include "update/apply/applying.h"

/*
 * Takes the inode number and the blocks of an action, if it needs any. EXT2MB_ET_NO_SPACE, ENOSPC (no inode): it has
 * given back what it took, which can be taken again after the next commit. Other errors: ENOMEM, E2BIG and others of
 * xattrs.
 */
MUST_CHECK errcode_t place_action(struct applying *applying, const struct update_action *action);

void placed_inode_free(struct placed_inode *placed);
