/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The headers of Android's sparse image format, which fastboot and simg2img read; numbers are little-endian. */
#pragma once

#include <stdint.h>

#define SPARSE_MAGIC 0xed26ff3au

struct sparse_header {
	uint32_t magic;
	uint16_t major, minor;
	uint16_t header_bytes, chunk_header_bytes;
	uint32_t block_bytes, blocks, chunks;
	uint32_t checksum; /* 0: none */
};

_Static_assert(sizeof(struct sparse_header) == 28, "as in the file");

/* Blocks as they are, of one word over and over, that do not matter; and the checksum of all that came before. */
enum chunk_type { CHUNK_RAW = 0xcac1, CHUNK_FILL = 0xcac2, CHUNK_ANY = 0xcac3, CHUNK_CHECKSUM = 0xcac4 };

struct chunk_header {
	uint16_t type, reserved;
	uint32_t blocks;
	uint32_t bytes; /* in the file, with this header */
};

_Static_assert(sizeof(struct chunk_header) == 12, "as in the file");
