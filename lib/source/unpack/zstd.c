// SPDX-License-Identifier: GPL-2.0-or-later
/* zstd (RFC 8878): frames one after another. libzstd compares their checksums, where they have any. */
#include "source/unpack/decoder.h"

#if HAVE_ZSTD
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <zstd.h>
#include <zstd_errors.h>

#define MAGIC_BYTES 4
static const uint8_t magic[MAGIC_BYTES] = { 0x28, 0xb5, 0x2f, 0xfd };

/*
 * A frame may ask for a window of 128 MiB, as with zstd(1). Where it is not even known to be one it gets no more than
 * the specification wants every decoder to have.
 */
#define SPECULATIVE_WINDOW_LOG 23

static bool is_magic(const uint8_t *bytes)
{
	return !memcmp(bytes, magic, MAGIC_BYTES);
}

/* Of frames that say something else; a file may begin with them. */
static bool is_skippable(const uint8_t *bytes)
{
	return (bytes[0] & 0xf0) == 0x50 && bytes[1] == 0x2a && bytes[2] == 0x4d && bytes[3] == 0x18;
}

static bool begins(const uint8_t *bytes, size_t count)
{
	return count >= MAGIC_BYTES && (is_magic(bytes) || is_skippable(bytes));
}

static size_t find_member(const uint8_t *bytes, size_t count)
{
	const uint8_t *found = memmem(bytes, count, magic, MAGIC_BYTES);

	return found ? (size_t)(found - bytes) : count;
}

static errcode_t open_state(struct decoder *decoder, void *context)
{
	ZSTD_DCtx *stream = ZSTD_createDCtx();

	(void)context;
	decoder->state = stream;
	if (!stream || (decoder->is_speculative &&
	                ZSTD_isError(ZSTD_DCtx_setParameter(stream, ZSTD_d_windowLogMax, SPECULATIVE_WINDOW_LOG))))
		return ENOMEM;
	return 0;
}

static void close_state(struct decoder *decoder)
{
	ZSTD_freeDCtx(decoder->state);
}

static errcode_t failure(struct decoder *decoder, size_t result)
{
	char reason[120];

	if (ZSTD_getErrorCode(result) == ZSTD_error_memory_allocation)
		return ENOMEM;
	if (decoder->is_speculative && ZSTD_getErrorCode(result) == ZSTD_error_frameParameter_windowTooLarge)
		return EAGAIN;
	snprintf(reason, sizeof(reason), "Zstd decompression failed: %s", ZSTD_getErrorName(result));
	return decoder_damaged(decoder, reason);
}

static errcode_t run(struct decoder *decoder, uint8_t *bytes, size_t room, size_t *written)
{
	struct packed_reader *reader = &decoder->reader;

	while (*written < room) {
		errcode_t error = packed_reader_fill(reader, 1);

		if (error)
			return error;
		if (!reader->count && decoder->place == DECODER_BEFORE_MEMBER) {
			decoder->place = DECODER_AT_END;
			return 0;
		}
		ZSTD_inBuffer in = { reader->bytes, reader->count, 0 };
		ZSTD_outBuffer out = { bytes, room, *written };
		size_t result = ZSTD_decompressStream(decoder->state, &out, &in);
		bool has_moved = in.pos || out.pos > *written;

		*written = out.pos;
		if (ZSTD_isError(result))
			return failure(decoder, result);
		packed_reader_skip(reader, in.pos);
		decoder->place = result ? DECODER_IN_MEMBER : DECODER_BEFORE_MEMBER;
		if (!result)
			return 0;
		if (!has_moved && reader->is_at_end)
			return decoder_damaged(decoder, "Truncated zstd input");
	}
	return 0;
}

static const struct decoder_format format = {
	.name = "zstd", .begins = begins, .find_member = find_member, .open = open_state, .close = close_state, .run = run,
};

const struct decoder_format *const zstd_format = &format;
#else
const struct decoder_format *const zstd_format;
#endif
