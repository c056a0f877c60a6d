/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/archive/lz4_legacy.h"

#include "source/archive/archive_kind.h"
#include "support/little_endian.h"

#define MAGIC 0x184c2102
#define MAGIC_BYTES 4

/* A block of 8 MiB that lz4 cannot compress. */
#define MOST_BLOCK_BYTES ((8u << 20) + (8u << 20) / 255 + 16)

/* The header of lzma, and the first byte of what follows it. */
#define LEAST_BYTES 14

/* Streams of lz4's other format, and bytes to be skipped: the whole is for libarchive. */
static bool is_frame(uint32_t magic)
{
	return magic == 0x184d2204 || (magic & ~0xfu) == 0x184d2a50;
}

/* One block in 65 536 has a size that begins as gzip's magic does: the rest of a header is compared. */
static bool is_gzip(const uint8_t *bytes, size_t count)
{
	return count >= 10 && bytes[0] == 0x1f && bytes[1] == 0x8b && bytes[2] == 8 && bytes[3] == 0 &&
	       (bytes[8] == 0 || bytes[8] == 2 || bytes[8] == 4) && (bytes[9] <= 13 || bytes[9] == UINT8_MAX);
}

/* Does the stream end where this block could begin? The kernel ends at a size of 0. Magics of other streams and
 * archives are too large. */
static bool ends(const uint8_t *bytes, size_t count)
{
	const uint32_t block_bytes = count < MAGIC_BYTES ? 0 : (uint32_t)little_endian(bytes, MAGIC_BYTES);

	return !block_bytes || block_bytes > MOST_BLOCK_BYTES || is_gzip(bytes, count) || packing_is_lzma(bytes, count);
}

struct lz4_legacy lz4_legacy_begin(const uint8_t *bytes, size_t count)
{
	return (struct lz4_legacy){ .is_followed = count >= MAGIC_BYTES && little_endian(bytes, MAGIC_BYTES) == MAGIC };
}

size_t lz4_legacy_part(struct lz4_legacy *stream, const uint8_t *bytes, size_t count, bool is_last)
{
	size_t at = 0;

	while (stream->is_followed && at < count) {
		const size_t left = count - at;

		if (stream->block_bytes) {
			const size_t part = left < stream->block_bytes ? left : stream->block_bytes;

			at += part;
			stream->block_bytes -= (uint32_t)part;
			continue;
		}
		if (left < LEAST_BYTES && !is_last)
			return at;
		const uint32_t word = left < MAGIC_BYTES ? 0 : (uint32_t)little_endian(bytes + at, MAGIC_BYTES);

		if (is_frame(word)) {
			stream->is_followed = false;
		} else if (word != MAGIC && ends(bytes + at, left)) {
			stream->is_over = true;
			return at;
		} else {
			at += MAGIC_BYTES;
			stream->block_bytes = word == MAGIC ? 0 : word;
		}
	}
	return count;
}
