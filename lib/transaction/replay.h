/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Replaying a filesystem's own journal, as a mount does, but for the orphans. The log stays until all of its blocks are
 * in place, so a crash at any moment leaves a filesystem that can be replayed again: by this code, the kernel or
 * e2fsck.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <ext2fs/ext2fs.h>

#include "support/problem.h"

/* True if this superblock has needs_recovery or a wrong checksum, which a crash may have left. Pure. */
bool replay_is_needed(const uint8_t *super);

/*
 * Does nothing if that is not needed. channel: open for writing on the filesystem that libext2fs opens by name,
 * io_options (NULL: none) and manager; its block size changes. The caller keeps others from changing the filesystem;
 * that another host has it (MMP) is refused here. If the kernel has aborted the journal, the filesystem is marked as
 * damaged. EXT2MB_ET_NO_JOURNAL: it is on another device; EXT2MB_ET_BAD_JOURNAL: damaged, or unknown features;
 * EXT2MB_ET_REPLAY: it has fast commits; EXT2_ET_SB_CSUM_INVALID; ENOMEM; errors of the channel and of libext2fs.
 * Before the first write all of the log has been read and checked.
 */
MUST_CHECK errcode_t replay_journal(const char *name, const char *io_options, io_manager manager, io_channel channel);

/*
 * As a mount does where the kernel has aborted the journal of a filesystem that does not need recovery: marks the
 * filesystem as damaged, and then clears the error in the journal's superblock. EXT2MB_ET_BAD_ARGUMENT: there is no
 * journal, or a replay is needed; others as above.
 */
MUST_CHECK errcode_t replay_mark_aborted(const char *name, const char *io_options, io_manager manager,
                                         io_channel channel);
