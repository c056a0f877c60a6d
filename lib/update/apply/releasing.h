/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Releases inodes and contents that go. What a transaction can hold goes free in the step that drops it. A file whose
 * blocks lie in so many groups that the log has no room for their bitmaps becomes an orphan in that step, which a
 * mount or e2fsck would delete after a crash; steps that follow free it piece by piece.
 *
 * Contents without an inode of their own, old ones of an inode that gets new ones or parts of new ones that do not fit
 * a transaction, get one meanwhile, which is an orphan too: a holder. Main thread.
 */
#pragma once

#include "update/apply/applying.h"

/* Deletes an inode that has lost its last name. */
MUST_CHECK errcode_t release_inode(struct applying *applying, uint32_t ino);

/* Releases all that an inode owns; it stays in use, and its bytes are as before: the caller writes it anew. */
MUST_CHECK errcode_t release_contents(struct applying *applying, uint32_t ino);

/*
 * Makes a holder of blocks that are in use or have just been taken: an inode of the owner of `owner`, who is charged
 * for it. EXT2MB_ET_NO_INODES, EXT2MB_ET_NO_SPACE (of the map).
 */
MUST_CHECK errcode_t holder_make(struct applying *applying, const struct inode_value *owner,
                                 const struct extent_list *extents, struct holder *holder);

/* Drops the holder; the blocks that it held belong to another inode by now. */
MUST_CHECK errcode_t holder_drop(struct applying *applying, const struct holder *holder);
