/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From a path to an inode number, reading only the directories on the way. */
#pragma once

#include "image/volume.h"

/*
 * The inode that a path names: components are looked up from the root, symbolic links are not followed; "<123>" is
 * inode 123, as in debugfs(8). ENOENT, ENOTDIR, EINVAL (no such inode number), ENOMEM, errors in reading.
 */
MUST_CHECK errcode_t paths_lookup(const struct volume *volume, const char *path, struct damage_listener damage,
                                  uint32_t *ino);
