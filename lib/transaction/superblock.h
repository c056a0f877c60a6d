/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The filesystem's superblock as it is on disk, little-endian, while a transaction may be in the journal: it says
 * needs_recovery there, and the program does not see that.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "support/problem.h"

#define SUPERBLOCK_OFFSET_BYTES 1024
#define SUPERBLOCK_BYTES 1024

bool superblock_has_magic(const uint8_t *super);

/* 1024 to 65536; 0: none that ext4 has. */
uint32_t superblock_block_bytes(const uint8_t *super);
bool superblock_needs_recovery(const uint8_t *super);

/* Sets the flag or clears it, and puts the checksum right if that changed anything. */
void superblock_set_needs_recovery(uint8_t *super, bool is_needed);

/*
 * Whether a program may put one in place of the other while a transaction is open. EXT2MB_ET_LAYOUT_CHANGE: it has
 * another size or journal.
 */
MUST_CHECK errcode_t superblock_may_become(const uint8_t *committed, const uint8_t *written);
