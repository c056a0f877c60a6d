/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Contents whose blocks lie in more groups than a transaction can log bitmaps of. They are written in parts, each of
 * which has a transaction of its own and is a holder's meanwhile (releasing.h); in the last step all of them become the
 * file's, and the holders go. After a crash in between the parts are orphans, and the file is the old one. Main thread.
 */
#pragma once

#include "update/apply/applying.h"

/* True if the blocks that have been taken for this inode, and nothing else, have to be committed before others. */
bool parts_have_to_end(const struct applying *applying);

/*
 * Copies the contents to the blocks that have been taken since the last part, and commits them. The inode is the one
 * after the batch's last one, which is empty.
 */
MUST_CHECK errcode_t parts_end(struct applying *applying, struct placed_inode *placed);

/* Drops the holders of a file that has all of its parts. */
MUST_CHECK errcode_t parts_join(struct applying *applying, const struct placed_inode *placed);
