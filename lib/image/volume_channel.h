/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libext2fs's way to read a volume, while its superblock and descriptors are read. */
#pragma once

#include "ext2fs/fs_errors.h"
#include "image/volume.h"

/*
 * fs_open(), which reads the volume through its overlay if it has one. Only descriptor, path and offset_bytes must be
 * set, with an overlay the format, too. The volume stays until ext2fs_free(). Errors: those of libext2fs and of the
 * system, EXT2_ET_SHORT_READ where the image ends. Any thread.
 */
MUST_CHECK errcode_t volume_channel_open(const struct volume *volume, int flags, ext2_filsys *fs);
