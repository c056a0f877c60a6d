/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * xz: streams one after another, perhaps with zeros between them. liblzma compares their checksums. libarchive takes
 * all that follows the first stream for a further one, but in an initramfs something else may follow.
 */
#include "unpack/decoder.h"

#if HAVE_LZMA
#include <errno.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>

#include "unpack/window_budget.h"

#define MAGIC "\xfd\x37\x7a\x58\x5a"
#define MAGIC_BYTES 6 /* with the zero that ends the string */

/* A dictionary of usual size, and liblzma's own memory. Streams that take more share a budget. */
#define USUAL_BYTES ((UINT64_C(1) << WINDOW_USUAL_LOG) + (UINT64_C(1) << 20))

struct state {
	lzma_stream stream;
	uint64_t window_bytes; /* taken from the budget */
};

static bool begins(const uint8_t *bytes, size_t count)
{
	return count >= MAGIC_BYTES && !memcmp(bytes, MAGIC, MAGIC_BYTES);
}

static errcode_t open_state(struct decoder *decoder, void *context)
{
	struct state *state = calloc(1, sizeof(*state));

	(void)context;
	decoder->state = state;
	if (!state)
		return ENOMEM;
	state->stream = (lzma_stream)LZMA_STREAM_INIT;
	return 0;
}

static void give_window_back(const struct decoder *decoder, struct state *state)
{
	if (state->window_bytes)
		window_budget_give_back(decoder->reader.file->windows, state->window_bytes);
	state->window_bytes = 0;
}

/* Frees what the stream has, since liblzma keeps its dictionary for the next one. */
static void end_stream(const struct decoder *decoder, struct state *state)
{
	lzma_end(&state->stream);
	give_window_back(decoder, state);
}

static void close_state(struct decoder *decoder)
{
	if (decoder->state)
		end_stream(decoder, decoder->state);
	free(decoder->state);
}

/* Begins the next stream, if there is one. */
static errcode_t begin_stream(struct decoder *decoder)
{
	struct packed_reader *reader = &decoder->reader;
	struct state *state = decoder->state;

	for (;;) {
		errcode_t error = packed_reader_fill(reader, MAGIC_BYTES);

		if (error)
			return error;
		if (!reader->count || *reader->bytes)
			break;
		packed_reader_skip(reader, 1);
	}
	if (!begins(reader->bytes, reader->count))
		return decoder_end_known(decoder, "xz decompression failed: what follows is unknown");
	decoder->place = DECODER_IN_MEMBER;
	state->stream = (lzma_stream)LZMA_STREAM_INIT;
	return lzma_stream_decoder(&state->stream, USUAL_BYTES, 0) == LZMA_OK ? 0 : ENOMEM;
}

/* The stream wants more memory than usual, which must fit the budget beside all others that do. */
static errcode_t reserve_window(struct decoder *decoder)
{
	const struct packed_file *file = decoder->reader.file;
	struct state *state = decoder->state;
	const uint64_t bytes = lzma_memusage(&state->stream);
	errcode_t error = 0;

	give_window_back(decoder, state);
	if (file->windows) {
		error = window_budget_reserve(file->windows, bytes, &file->is_stopped);
		state->window_bytes = error ? 0 : bytes;
	}
	return error || lzma_memlimit_set(&state->stream, bytes) == LZMA_OK ? error : ENOMEM;
}

static errcode_t go_on(struct decoder *decoder, lzma_ret result)
{
	switch (result) {
	case LZMA_OK:
		return 0;
	case LZMA_STREAM_END:
		end_stream(decoder, decoder->state);
		decoder->place = DECODER_BEFORE_MEMBER;
		return 0;
	case LZMA_MEMLIMIT_ERROR:
		return reserve_window(decoder);
	case LZMA_MEM_ERROR:
		return ENOMEM;
	case LZMA_BUF_ERROR:
		return decoder_damaged(decoder, "truncated xz input");
	case LZMA_OPTIONS_ERROR:
		return decoder_damaged(decoder, "xz decompression failed: this liblzma does not know its filters");
	default:
		return decoder_damaged(decoder, "xz decompression failed");
	}
}

static errcode_t run(struct decoder *decoder, uint8_t *bytes, size_t room, size_t *written)
{
	struct packed_reader *reader = &decoder->reader;
	struct state *state = decoder->state;
	errcode_t error = decoder->place == DECODER_BEFORE_MEMBER ? begin_stream(decoder) : 0;

	while (!error && decoder->place == DECODER_IN_MEMBER && *written < room) {
		error = packed_reader_fill(reader, 1);
		if (error)
			break;
		state->stream.next_in = reader->bytes;
		state->stream.avail_in = reader->count;
		state->stream.next_out = bytes + *written;
		state->stream.avail_out = room - *written;
		/* Twice without progress: that is LZMA_BUF_ERROR. */
		const lzma_ret result = lzma_code(&state->stream, LZMA_RUN);

		packed_reader_skip(reader, reader->count - state->stream.avail_in);
		*written = room - state->stream.avail_out;
		error = go_on(decoder, result);
	}
	return error;
}

static const struct decoder_format format = {
	.name = "xz",
	.begins = begins,
	.open = open_state,
	.close = close_state,
	.run = run,
};

const struct decoder_format *const xz_format = &format;
#else
const struct decoder_format *const xz_format;
#endif
