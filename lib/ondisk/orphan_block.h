/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A block of the orphan file: slots with the numbers of inodes that the next mount deletes or truncates (0: a free
 * slot), and at its end a magic number and a checksum.
 */
#pragma once

#include "ondisk/format.h"

#define ORPHAN_FILE_MAX_BLOCKS 512 /* libext2fs 1.47 and, at mount, the kernel refuse more */

/* Slots per block: 254 of 1 KiB, 1022 of 4 KiB. */
uint32_t orphan_block_slots(const struct ondisk_format *format);

enum orphan_block_state { ORPHAN_BLOCK_GOOD, ORPHAN_BLOCK_BAD_MAGIC, ORPHAN_BLOCK_BAD_CHECKSUM };

/*
 * Verifies a block as on disk and copies its slots in host order (not if it is bad). The checksum depends on its file
 * (file_seed: ondisk_inode_seed() of the file's inode) and on its block number.
 */
MUST_CHECK enum orphan_block_state orphan_block_read(const struct ondisk_format *format, uint32_t file_seed,
                                                     uint64_t physical_block, const void *bytes, uint32_t *slots);

/* Makes the whole block from its slots. */
void orphan_block_write(const struct ondisk_format *format, uint32_t file_seed, uint64_t physical_block,
                        const uint32_t *slots, void *bytes);
