/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Directories that a batch changes. They stay open until its end, so that each of their blocks is written once. */
#pragma once

#include "ondisk/directory.h"
#include "update/apply/applying.h"

/*
 * ino: what has the name. ENOENT, EEXIST, EUCLEAN: the directory is not what it was when it was compared. Errors of the
 * directory editor.
 */
MUST_CHECK errcode_t names_add(struct applying *applying, uint32_t directory, struct directory_name name,
                               struct directory_target target);
MUST_CHECK errcode_t names_replace(struct applying *applying, uint32_t directory, struct directory_name name,
                                   uint32_t ino, struct directory_target target);
MUST_CHECK errcode_t names_remove(struct applying *applying, uint32_t directory, struct directory_name name,
                                  uint32_t ino);

/* It has so many subdirectories more. */
MUST_CHECK errcode_t names_count_subdirectories(struct applying *applying, uint32_t directory, int more);

/* The directory's inode, for what new files inherit. ENOTDIR. */
MUST_CHECK errcode_t names_inode(struct applying *applying, uint32_t directory, struct inode_decoded *inode);

/* Writes what was done to the directory so far, since its inode is about to get other xattrs. */
MUST_CHECK errcode_t names_settle(struct applying *applying, uint32_t directory);

/* The directory is about to be deleted: what was done to it is forgotten. */
void names_forget(struct applying *applying, uint32_t directory);

/* Writes all changes, in the order in which directories were opened first, and closes them. */
MUST_CHECK errcode_t names_flush(struct applying *applying);
void names_close(struct applying *applying);
