/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* CRC-32C (Castagnoli), as ext4's metadata_csum uses it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Continues crc over the bytes; no inversion before or after, exactly as ext2fs_crc32c_le(). Any thread. Uses the
 * processor's instruction if it has one (libext2fs's software version: 1.9 GB/s).
 */
uint32_t crc32c(uint32_t crc, const void *bytes, size_t count);

/* Does the processor have such an instruction? If not, crc32c() calls ext2fs_crc32c_le(). */
bool crc32c_has_instruction(void);
