/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The directories that a batch changes. They stay open until the batch ends, so that each of their blocks is written
 * once.
 */
#pragma once

#include "ondisk/directory.h"
#include "update/apply/applying.h"

/* ENOENT, EEXIST: the directory has changed since it was compared. Other errors are the directory editor's. */
MUST_CHECK errcode_t names_add(struct applying *applying, uint32_t directory, struct directory_name name,
                               struct directory_target target);
MUST_CHECK errcode_t names_replace(struct applying *applying, uint32_t directory, struct directory_name name,
                                   struct directory_target target);
MUST_CHECK errcode_t names_remove(struct applying *applying, uint32_t directory, struct directory_name name);

/* Adds `more` to the directory's number of subdirectories. */
MUST_CHECK errcode_t names_count_subdirectories(struct applying *applying, uint32_t directory, int more);

/* Returns the directory's inode, from which new files inherit. ENOTDIR. */
MUST_CHECK errcode_t names_inode(struct applying *applying, uint32_t directory, struct inode_decoded *inode);

/* Writes the changes made to the directory so far, since its inode is about to get other xattrs. */
MUST_CHECK errcode_t names_settle(struct applying *applying, uint32_t directory);

/* Forgets the changes made to a directory that is about to be deleted. */
void names_forget(struct applying *applying, uint32_t directory);

/* Writes all changes, in the order in which the directories were first opened, and closes them. */
MUST_CHECK errcode_t names_flush(struct applying *applying);
void names_close(struct applying *applying);
