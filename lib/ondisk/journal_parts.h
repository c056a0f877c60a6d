/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Shared by writing and reading of journal blocks, private to this folder; callers use journal_block.h and
 * journal_view.h. */
#pragma once

#include <endian.h>
#include <string.h>

#include "ondisk/journal_block.h"

#define JOURNAL_MAGIC 0xc03b3998u
#define JOURNAL_UUID_BYTES 16

enum journal_tag_flag { JOURNAL_TAG_ESCAPED = 1, JOURNAL_TAG_SAME_UUID = 2, JOURNAL_TAG_LAST = 8 };

/* Offsets of fields in bytes. */
enum journal_header_field { HEADER_MAGIC = 0, HEADER_TYPE = 4, HEADER_SEQUENCE = 8, HEADER_BYTES = 12 };

enum journal_commit_field {
	COMMIT_CHECKSUM_TYPE = 12,
	COMMIT_CHECKSUM_BYTES = 13,
	COMMIT_CHECKSUM = 16,
	COMMIT_SECONDS = 48,
	COMMIT_NANOSECONDS = 56,
	COMMIT_HEADER_BYTES = 64, /* of the kernel's struct, with its padding */
};

static inline uint32_t journal_get32(const void *bytes, size_t offset)
{
	uint32_t value;

	memcpy(&value, (const uint8_t *)bytes + offset, sizeof(value));
	return be32toh(value);
}

static inline uint16_t journal_get16(const void *bytes, size_t offset)
{
	uint16_t value;

	memcpy(&value, (const uint8_t *)bytes + offset, sizeof(value));
	return be16toh(value);
}

/* Version 3 has 16 bytes in any case. Version 2 has 2 bytes more than without checksums, at the end. */
static inline uint32_t journal_tag_bytes(const struct journal_format *format)
{
	if (format->checksum_version == 3)
		return 16;
	return 8 + (format->has_64bit ? 4 : 0) + (format->checksum_version == 2 ? 2 : 0);
}

/* A descriptor and a block of revokes end with their checksum. */
static inline uint32_t journal_tail_bytes(const struct journal_format *format)
{
	return format->checksum_version ? 4 : 0;
}

/* The checksum of a block as in the log; it depends on the transaction. Version 2 stores the lower half. */
uint32_t journal_contents_checksum(const struct journal_format *format, uint32_t sequence, const void *contents);
