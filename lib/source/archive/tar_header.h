/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The raw header of a tar member. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define TAR_BLOCK_BYTES 512u
#define TAR_SIZE_AT 124u
#define TAR_SIZE_BYTES 12u
#define TAR_CHECKSUM_AT 148u
#define TAR_CHECKSUM_BYTES 8u
#define TAR_TYPE_AT 156u

/* Does another header of the same member follow, after a body? */
static inline bool tar_header_is_extension(const char *block)
{
	return block[TAR_TYPE_AT] && strchr("xXgALKV", block[TAR_TYPE_AT]);
}

/* Does its body consist of records "BYTES KEY=VALUE\n"? */
static inline bool tar_header_has_records(const char *block)
{
	return block[TAR_TYPE_AT] && strchr("xXg", block[TAR_TYPE_AT]);
}

static inline uint64_t tar_header_octal(const char *field, size_t bytes)
{
	uint64_t number = 0;

	for (size_t at = 0; at < bytes; at++)
		if (field[at] >= '0' && field[at] <= '7')
			number = number << 3 | (uint64_t)(field[at] - '0');
	return number;
}

/* The size of its body, which is followed by zeros up to a whole block. */
static inline uint64_t tar_header_body_bytes(const char *block)
{
	return tar_header_octal(block + TAR_SIZE_AT, TAR_SIZE_BYTES);
}
