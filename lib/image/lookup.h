/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From a path to an inode number, reading only the directories on the way. */
#pragma once

#include "image/volume.h"

/*
 * Finds the inode of a path: looks up components from the root, without following symbolic links; "<123>" is
 * inode 123, as in debugfs(8). ENOENT, ENOTDIR, EINVAL (no such inode number), ENOMEM, errors in reading.
 */
MUST_CHECK errcode_t paths_lookup(const struct volume *volume, const char *path, struct damage_listener damage,
                                  uint32_t *ino);
