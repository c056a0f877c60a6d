/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unpack/decoder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

errcode_t decoder_open(struct decoder *decoder, const struct decoder_format *format, void *context,
                       const struct packed_file *file, uint64_t at, bool is_speculative)
{
	*decoder = (struct decoder){ .format = format, .is_speculative = is_speculative };
	errcode_t error = packed_reader_open(&decoder->reader, file, at);

	return error ? error : format->open(decoder, context);
}

void decoder_close(struct decoder *decoder)
{
	if (!decoder->format)
		return;
	decoder->format->close(decoder);
	packed_reader_close(&decoder->reader);
	free(TAKE(decoder->rest.bytes));
	decoder->format = NULL;
}

errcode_t decoder_run(struct decoder *decoder, uint8_t *bytes, size_t room, size_t *written)
{
	*written = 0;
	return decoder->place == DECODER_AT_END ? 0 : decoder->format->run(decoder, bytes, room, written);
}

/* What follows is there, from the bytes at hand on. Those of a pipe do not come again. */
static errcode_t note_rest(struct decoder *decoder)
{
	const struct packed_reader *reader = &decoder->reader;

	decoder->rest.at = packed_reader_position(reader);
	if (reader->file->is_regular)
		return 0;
	decoder->rest.bytes = malloc(reader->count);
	if (!decoder->rest.bytes)
		return ENOMEM;
	memcpy(decoder->rest.bytes, reader->bytes, reader->count);
	decoder->rest.count = reader->count;
	return 0;
}

errcode_t decoder_end(struct decoder *decoder)
{
	struct packed_reader *reader = &decoder->reader;
	errcode_t error = 0;

	decoder->place = DECODER_AT_END;
	while (!error) {
		size_t zeros = 0;

		while (zeros < reader->count && !reader->bytes[zeros])
			zeros++;
		packed_reader_skip(reader, zeros);
		if (reader->count)
			return note_rest(decoder);
		if (reader->is_at_end)
			return 0;
		error = packed_reader_fill(reader, 1);
	}
	return error;
}

errcode_t decoder_end_known(struct decoder *decoder, const char *reason)
{
	const struct packed_reader *reader = &decoder->reader;
	errcode_t error = decoder_end(decoder);

	if (error || !decoder->rest.at)
		return error;
	if (!reader->file->may_follow || !reader->file->may_follow(reader->bytes, reader->count))
		return decoder_damaged(decoder, reason);
	return 0;
}

errcode_t decoder_damaged(struct decoder *decoder, const char *reason)
{
	snprintf(decoder->reason, sizeof(decoder->reason), "%s", reason);
	return EBADMSG;
}

static errcode_t open_plain(struct decoder *decoder, void *context)
{
	(void)decoder;
	(void)context;
	return 0;
}

static void close_plain(struct decoder *decoder)
{
	(void)decoder;
}

/* Reads plain bytes directly to the place where they stay, without another copy. */
static errcode_t run_plain(struct decoder *decoder, uint8_t *bytes, size_t room, size_t *written)
{
	struct packed_reader *reader = &decoder->reader;
	errcode_t error = packed_file_read(reader->file, bytes, room, reader->next, written);

	reader->next += *written;
	decoder->place = *written ? DECODER_IN_MEMBER : DECODER_AT_END;
	return error;
}

const struct decoder_format plain_format = {
	.name = "plain",
	.open = open_plain,
	.close = close_plain,
	.run = run_plain,
};
