/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gzip (RFC 1952): members one after another, each with the checksum and the length of the bytes that it unpacks to.
 * (libarchive compares neither.) As gzip(1) does, we let callers warn of bytes after the last member.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "support/little_endian.h"
#include "unpack/decoder.h"
#include "unpack/inflate.h"

#define HEADER_BYTES 10
#define TRAILER_BYTES 8

/* Flags of a header; three further bits must be 0. */
enum { HAS_CHECKSUM = 2, HAS_EXTRA = 4, HAS_NAME = 8, HAS_COMMENT = 16, RESERVED = 0xe0 };

/*
 * Bytes of a step. The checksum is computed while they are still in the processor's cache. Steps are always whole, so
 * the bytes that are given before damage do not depend on how many bytes the caller asks for.
 */
#define STEP_BYTES DECODER_LEAST_ROOM

/* A longer member is not tried at once, since most members after it are longer, too. */
#define WHOLE_BYTES DECODER_LEAST_ROOM

struct gzip {
	struct inflater *inflater;
	uint32_t checksum;
	uint32_t length;   /* modulo 2^32, as in the trailer */
	size_t step_bytes; /* done so far of a step whose input was not at hand as a whole */
	bool is_broken;    /* the step failed; how much of it was written depends on how its input came */
	bool may_be_short; /* the last member was short enough to be unpacked at once */
};

static bool is_magic(const uint8_t *bytes)
{
	return bytes[0] == 0x1f && bytes[1] == 0x8b && bytes[2] == 8 && !(bytes[3] & RESERVED);
}

/* Returns the bytes of the header that is at hand; 0 if it is not a header, or not all of it is at hand. */
static size_t header_bytes(const uint8_t *bytes, size_t count)
{
	size_t at = HEADER_BYTES;

	if (count < HEADER_BYTES || !is_magic(bytes))
		return 0;
	if (bytes[3] & HAS_EXTRA) {
		if (count < at + 2)
			return 0;
		at += 2 + (size_t)(bytes[at] | bytes[at + 1] << 8);
	}
	for (unsigned int flag = HAS_NAME; flag <= HAS_COMMENT; flag <<= 1) {
		const uint8_t *end = !(bytes[3] & flag) ? NULL : at < count ? memchr(bytes + at, 0, count - at) : NULL;

		if (bytes[3] & flag && !end)
			return 0;
		at = end ? (size_t)(end - bytes) + 1 : at;
	}
	at += bytes[3] & HAS_CHECKSUM ? 2 : 0;
	return at <= count ? at : 0;
}

static bool begins(const uint8_t *bytes, size_t count)
{
	return header_bytes(bytes, count) > 0;
}

static size_t find_member(const uint8_t *bytes, size_t count)
{
	for (size_t at = 0; at + 4 <= count; at++) {
		const uint8_t *next = memchr(bytes + at, 0x1f, count - at - 3);

		if (!next)
			break;
		at = (size_t)(next - bytes);
		if (is_magic(next))
			return at;
	}
	return count;
}

static errcode_t open_state(struct decoder *decoder, void *context)
{
	struct gzip *gzip = calloc(1, sizeof(*gzip));

	(void)context;
	decoder->state = gzip;
	return gzip ? inflater_create(&gzip->inflater) : ENOMEM;
}

static void close_state(struct decoder *decoder)
{
	struct gzip *gzip = decoder->state;

	if (gzip)
		inflater_destroy(gzip->inflater);
	free(gzip);
}

/* Begins the next member, if there is one: its header is at hand as a whole. */
static errcode_t begin_member(struct decoder *decoder)
{
	struct gzip *gzip = decoder->state;
	struct packed_reader *reader = &decoder->reader;
	errcode_t error = packed_reader_fill(reader, HEADER_BYTES);
	size_t header = header_bytes(reader->bytes, reader->count);

	if (!error && !header && reader->count >= HEADER_BYTES && is_magic(reader->bytes)) {
		error = packed_reader_fill(reader, PACKED_READER_BYTES);
		header = header_bytes(reader->bytes, reader->count);
	}
	if (error)
		return error;
	if (!header)
		return decoder_end(decoder);
	packed_reader_skip(reader, header);
	gzip->checksum = gzip->length = 0;
	gzip->step_bytes = 0;
	decoder->place = DECODER_IN_MEMBER;
	return inflater_begin(gzip->inflater);
}

static errcode_t end_member(struct decoder *decoder)
{
	struct gzip *gzip = decoder->state;
	struct packed_reader *reader = &decoder->reader;
	errcode_t error = packed_reader_fill(reader, TRAILER_BYTES);

	if (error)
		return error;
	if (reader->count < TRAILER_BYTES)
		return decoder_damaged(decoder, "truncated gzip input");
	if (little_endian(reader->bytes, 4) != gzip->checksum)
		return decoder_damaged(decoder, "gzip's checksum is not that of what it unpacks to");
	if (little_endian(reader->bytes + 4, 4) != gzip->length)
		return decoder_damaged(decoder, "gzip's length is not that of what it unpacks to");
	packed_reader_skip(reader, TRAILER_BYTES);
	gzip->may_be_short = gzip->length <= WHOLE_BYTES;
	decoder->place = DECODER_BEFORE_MEMBER;
	return 0;
}

/* Called at the beginning of a member: unpacks it if it is short and all of it is at hand. */
static errcode_t inflate_at_once(struct decoder *decoder, struct inflate_buffers *buffers, bool *is_end)
{
	struct gzip *gzip = decoder->state;
	struct packed_reader *reader = &decoder->reader;
	errcode_t error = packed_reader_fill(reader, PACKED_READER_BYTES / 2);

	buffers->in = reader->bytes;
	buffers->in_bytes = reader->count;
	if (!error)
		*is_end = inflater_run_whole(gzip->inflater, buffers);
	return error;
}

/* Unpacks the next part of a member. */
static errcode_t inflate_part(struct decoder *decoder, uint8_t *bytes, size_t room, size_t *written, bool *is_end)
{
	struct gzip *gzip = decoder->state;
	struct packed_reader *reader = &decoder->reader;
	struct inflate_buffers buffers = { .out = bytes, .out_bytes = room };
	errcode_t error = 0;

	*is_end = false;
	if (gzip->may_be_short && !gzip->length)
		error = inflate_at_once(decoder, &buffers, is_end);
	gzip->may_be_short = false;
	if (!error && !*is_end) {
		error = packed_reader_fill(reader, 1);
		buffers.in = reader->bytes;
		buffers.in_bytes = reader->count;
		buffers.out_bytes = STEP_BYTES - gzip->step_bytes;
		if (!error)
			error = inflater_run(gzip->inflater, &buffers, is_end);
	}
	*written = error ? 0 : (size_t)(buffers.out - bytes);
	gzip->is_broken = error == EBADMSG;
	if (gzip->is_broken)
		return decoder_damaged(decoder, "gzip decompression failed");
	if (error)
		return error;
	reader->bytes = buffers.in;
	reader->count = buffers.in_bytes;
	gzip->checksum = inflate_checksum(gzip->checksum, bytes, *written);
	gzip->length += (uint32_t)*written;
	gzip->step_bytes = *is_end ? 0 : (gzip->step_bytes + *written) % STEP_BYTES;
	if (!*is_end && !*written && !reader->count && reader->is_at_end)
		return decoder_damaged(decoder, "truncated gzip input");
	return 0;
}

static errcode_t run(struct decoder *decoder, uint8_t *bytes, size_t room, size_t *written)
{
	const struct gzip *gzip = decoder->state;
	errcode_t error = decoder->place == DECODER_BEFORE_MEMBER ? begin_member(decoder) : 0;

	while (!error && decoder->place == DECODER_IN_MEMBER && (gzip->step_bytes || room - *written >= STEP_BYTES)) {
		size_t part;
		bool is_end;

		error = inflate_part(decoder, bytes + *written, room - *written, &part, &is_end);
		*written += part;
		if (!error && is_end)
			return end_member(decoder);
	}
	*written -= error && gzip->is_broken ? gzip->step_bytes : 0;
	return error;
}

const struct decoder_format gzip_format = {
	.name = "gzip",
	.begins = begins,
	.find_member = find_member,
	.open = open_state,
	.close = close_state,
	.run = run,
};
