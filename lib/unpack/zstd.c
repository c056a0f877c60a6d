/* SPDX-License-Identifier: GPL-2.0-or-later */
/* zstd (RFC 8878): frames one after another. libzstd compares a frame's checksum, if it has one. */
#include "unpack/decoder.h"

#if HAVE_ZSTD
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "support/little_endian.h"
#include "unpack/window_budget.h"

#define MAGIC_BYTES 4
static const uint8_t magic[MAGIC_BYTES] = { 0x28, 0xb5, 0x2f, 0xfd };

/*
 * A frame may ask for a window of 128 MiB, as with zstd(1). Data that may not be a frame at all gets only the window
 * that the specification requires of every decoder. All larger windows share a budget.
 */
#define LARGEST_WINDOW_LOG 27

#define USUAL_WINDOW (UINT64_C(1) << WINDOW_USUAL_LOG)
#define LARGEST_WINDOW (UINT64_C(1) << LARGEST_WINDOW_LOG)

/* A header has magic, descriptor, window, dictionary and content size. */
#define MOST_HEADER_BYTES 18

struct state {
	ZSTD_DCtx *stream;
	uint64_t window_bytes; /* taken from the budget */
};

static bool is_magic(const uint8_t *bytes)
{
	return !memcmp(bytes, magic, MAGIC_BYTES);
}

/* True for a skippable frame; a file may begin with one. */
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

static errcode_t open_stream(struct decoder *decoder, struct state *state)
{
	const int log = decoder->is_speculative ? WINDOW_USUAL_LOG : LARGEST_WINDOW_LOG;

	state->stream = ZSTD_createDCtx();
	if (!state->stream || ZSTD_isError(ZSTD_DCtx_setParameter(state->stream, ZSTD_d_windowLogMax, log)))
		return ENOMEM;
	return 0;
}

static errcode_t open_state(struct decoder *decoder, void *context)
{
	struct state *state = calloc(1, sizeof(*state));

	(void)context;
	decoder->state = state;
	return state ? open_stream(decoder, state) : ENOMEM;
}

/* Frees the decoder, since libzstd keeps a frame's window for the next frame. */
static void give_window_back(const struct decoder *decoder, struct state *state)
{
	ZSTD_freeDCtx(TAKE(state->stream));
	if (state->window_bytes)
		window_budget_give_back(decoder->reader.file->windows, state->window_bytes);
	state->window_bytes = 0;
}

static void close_state(struct decoder *decoder)
{
	struct state *state = decoder->state;

	if (!state)
		return;
	give_window_back(decoder, state);
	free(state);
}

/* Do these bytes begin a frame, perhaps of a format before 1.0? */
static bool is_frame(const uint8_t *bytes, size_t count)
{
	return begins(bytes, count) || (count >= MAGIC_BYTES && !memcmp(bytes + 1, magic + 1, MAGIC_BYTES - 1));
}

/* Returns the size of the window that a frame with this beginning asks for; 0: none. The size is not checked here. */
static uint64_t window_of(const uint8_t *bytes, size_t count)
{
	static const uint8_t dictionary_bytes[] = { 0, 1, 2, 4 }, size_bytes[] = { 1, 2, 4, 8 };

	if (count < MAGIC_BYTES + 2 || is_skippable(bytes))
		return 0;
	/* The frame has one of the formats before 1.0, some of which libzstd still reads. */
	if (!is_magic(bytes))
		return LARGEST_WINDOW;
	uint8_t descriptor = bytes[MAGIC_BYTES], window = bytes[MAGIC_BYTES + 1];

	if (!(descriptor & 0x20))
		return (8 + (uint64_t)(window & 7)) << (7 + (window >> 3));
	/* The window is the whole content, whose size comes after the dictionary's number. */
	size_t at = MAGIC_BYTES + 1 + dictionary_bytes[descriptor & 3], bytes_of_size = size_bytes[descriptor >> 6];

	return count < at + bytes_of_size ? 0 : little_endian(bytes + at, bytes_of_size);
}

/* Called before a frame. Its window, if larger than usual, must fit the budget beside all other such windows. */
static errcode_t reserve_window(struct decoder *decoder)
{
	struct packed_reader *reader = &decoder->reader;
	struct window_budget *windows = reader->file->windows;
	struct state *state = decoder->state;
	errcode_t error = packed_reader_fill(reader, MOST_HEADER_BYTES);
	uint64_t window_bytes = error ? 0 : window_of(reader->bytes, reader->count);

	/* libzstd refuses a larger window. */
	if (error || !windows || decoder->is_speculative || window_bytes > LARGEST_WINDOW)
		return error;
	if (window_bytes <= USUAL_WINDOW && !state->window_bytes)
		return 0;
	give_window_back(decoder, state);
	error = open_stream(decoder, state);
	if (error || window_bytes <= USUAL_WINDOW)
		return error;
	error = window_budget_reserve(windows, window_bytes, &reader->file->is_stopped);
	state->window_bytes = error ? 0 : window_bytes;
	return error;
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
	const struct state *state = decoder->state;

	while (*written < room) {
		errcode_t error = decoder->place == DECODER_BEFORE_MEMBER ? reserve_window(decoder) :
		                                                            packed_reader_fill(reader, 1);

		if (error)
			return error;
		if (decoder->place == DECODER_BEFORE_MEMBER && !is_frame(reader->bytes, reader->count))
			return decoder_end_known(decoder, "Zstd decompression failed: Unknown frame descriptor");
		ZSTD_inBuffer in = { reader->bytes, reader->count, 0 };
		ZSTD_outBuffer out = { bytes, room, *written };
		size_t result = ZSTD_decompressStream(state->stream, &out, &in);
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
	.name = "zstd",
	.begins = begins,
	.find_member = find_member,
	.open = open_state,
	.close = close_state,
	.run = run,
};

const struct decoder_format *const zstd_format = &format;
#else
const struct decoder_format *const zstd_format;
#endif
