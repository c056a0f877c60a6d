/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The channel through which libext2fs reads a volume's superblock and descriptors. */
#pragma once

#include "filesystem/fs_errors.h"
#include "image/volume.h"

/*
 * Calls fs_open(), which reads the volume through its overlay if it has one. Only descriptor, path and offset_bytes
 * must be set, with an overlay the format, too. The volume must outlive ext2fs_free(). Errors: those of libext2fs and
 * of the system, EXT2_ET_SHORT_READ at the end of the image. Any thread.
 */
MUST_CHECK errcode_t volume_channel_open(const struct volume *volume, int flags, ext2_filsys *fs);
