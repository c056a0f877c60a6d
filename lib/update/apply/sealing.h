/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The third stage of a batch: it changes inodes and names. Main thread. */
#pragma once

#include "update/apply/applying.h"

/* placed is the action's; NULL if it has none. */
MUST_CHECK errcode_t seal_action(struct applying *applying, const struct update_action *action,
                                 const struct placed_inode *placed);
