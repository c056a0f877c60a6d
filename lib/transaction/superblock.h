/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The filesystem's superblock as on disk, little-endian. While the journal may have a transaction, it has
 * needs_recovery on disk, which the program does not see.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "support/problem.h"

#define SUPERBLOCK_OFFSET_BYTES 1024
#define SUPERBLOCK_BYTES 1024

bool superblock_has_magic(const uint8_t *super);

/* Returns 1024 to 65536; 0: not a block size of ext4. */
uint32_t superblock_block_bytes(const uint8_t *super);
bool superblock_needs_recovery(const uint8_t *super);

/* True if it has needs_recovery, or a wrong checksum, which a crash may have left. */
bool superblock_needs_replay(const uint8_t *super);

/* Sets or clears the flag, and updates the checksum if that changed anything. */
void superblock_set_needs_recovery(uint8_t *super, bool is_needed);

/* Sets ERROR_FS in s_state: e2fsck is to look at the filesystem. */
void superblock_mark_damaged(uint8_t *super);

/* True if the filesystem has no checksums. */
bool superblock_checksum_is_good(const uint8_t *super);

/*
 * The flag is in the first of the superblock's two sectors, the checksum in the second. If a crash has left only one of
 * them with a change of the flag, this makes it the one that fits the checksum.
 */
void superblock_mend(uint8_t *super);

/* s_blocks_count, of 32 bits without the feature 64bit. */
uint64_t superblock_blocks(const uint8_t *super);

/*
 * Checks whether a program may replace one by the other while a transaction is open. EXT2MB_ET_LAYOUT_CHANGE: the
 * size or the journal differs.
 */
MUST_CHECK errcode_t superblock_may_become(const uint8_t *committed, const uint8_t *written);
