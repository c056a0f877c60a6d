/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An image whose journal needs recovery, opened as a replay would leave it, without any write. */
#pragma once

#include "image/volume.h"

/*
 * volume_open(), after which every block is read as if the journal had been replayed: superblock, descriptors, bitmaps,
 * inode tables and all else (volume->is_replayed). A journal that needs no recovery is not read. What a mount does
 * after the replay, to orphans for instance, is not done.
 *
 * A mounted filesystem is read as it lies: the kernel writes its journal while we would read it, and its blocks as
 * well.
 *
 * Errors: those of volume_open(), and those of image/journal_overlay.h, each with a problem that says "cannot read the
 * journal" and why: fast commits, a journal on another device, unknown features, damage. Such an image may still be
 * read as it lies, by volume_open(). Memory, beside the overlay's: 24 bytes for each piece of the journal's file.
 */
MUST_CHECK errcode_t volume_open_as_replayed(const char *path, uint64_t offset_bytes, struct volume *volume,
                                             struct problem *problem);
