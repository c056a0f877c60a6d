/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opens an image whose journal needs recovery as it would be after a replay, without any write. */
#pragma once

#include "image/volume.h"

/*
 * Calls volume_open(); then every block is read as if the journal had been replayed: superblock, descriptors, bitmaps,
 * inode tables and all others (volume->is_replayed). A journal that needs no recovery is not read. The work of a mount
 * after the replay, for instance on orphans, is not done.
 *
 * A mounted filesystem is read as it is on disk, unless it is read-only: the kernel may write its journal and its
 * blocks while we read them.
 *
 * Errors: those of volume_open(), and those of journal/journal_overlay.h, each with a problem that says "cannot read
 * the journal" and why: fast commits, a journal on another device, unknown features, damage. Such an image may still be
 * read as it is on disk, by volume_open(). Memory, besides the overlay's: 24 bytes for each piece of the journal's
 * file.
 */
MUST_CHECK errcode_t volume_open_as_replayed(const char *path, uint64_t offset_bytes, struct volume *volume,
                                             struct problem *problem);

/*
 * Why the kernel has aborted the journal of a volume that has one in its own blocks, as a negative errno value; 0: it
 * did not, or the journal is damaged. Errors of reading, ENOMEM.
 */
MUST_CHECK errcode_t volume_journal_error(const struct volume *volume, int32_t *ret, struct problem *problem);
