/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unpack/inflate.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#if HAVE_ISAL
#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>
#else
#include <zlib.h>
#endif
#if HAVE_LIBDEFLATE
#include <libdeflate.h>
#endif

const char inflate_libraries[] =
#if HAVE_LIBDEFLATE
	"libdeflate, "
#endif
#if HAVE_ISAL
	"isal";
#else
	"zlib";
#endif

struct inflater {
#if HAVE_ISAL
	struct inflate_state state;
#else
	z_stream stream;
	bool is_open;
#endif
#if HAVE_LIBDEFLATE
	struct libdeflate_decompressor *whole;
#endif
};

/* Both libraries count bytes in 32 bits. */
static uint32_t part_of(size_t bytes)
{
	return bytes < INT_MAX ? (uint32_t)bytes : INT_MAX;
}

#if HAVE_ISAL
static errcode_t open_stream(struct inflater *inflater)
{
	isal_inflate_init(&inflater->state);
	return 0;
}

static void close_stream(struct inflater *inflater)
{
	(void)inflater;
}

errcode_t inflater_begin(struct inflater *inflater)
{
	isal_inflate_reset(&inflater->state);
	inflater->state.crc_flag = ISAL_DEFLATE;
	return 0;
}

errcode_t inflater_run(struct inflater *inflater, struct inflate_buffers *buffers, bool *is_end)
{
	struct inflate_state *state = &inflater->state;
	uint32_t in_bytes = part_of(buffers->in_bytes), out_bytes = part_of(buffers->out_bytes);

	/* The library only reads its input, so the const may be cast away. */
	state->next_in = (uint8_t *)(uintptr_t)buffers->in;
	state->avail_in = in_bytes;
	state->next_out = buffers->out;
	state->avail_out = out_bytes;
	int result = isal_inflate(state);

	*is_end = false;
	if (result < 0 || result == ISAL_NEED_DICT)
		return EBADMSG;
	buffers->in += in_bytes - state->avail_in;
	buffers->in_bytes -= in_bytes - state->avail_in;
	buffers->out += out_bytes - state->avail_out;
	buffers->out_bytes -= out_bytes - state->avail_out;
	*is_end = state->block_state == ISAL_BLOCK_FINISH;
	if (*is_end) {
		/* The library has read ahead into bytes that come after the stream; they are given back. */
		size_t ahead = state->read_in_length > 0 ? (size_t)state->read_in_length / CHAR_BIT : 0;

		buffers->in -= ahead;
		buffers->in_bytes += ahead;
	}
	return 0;
}

uint32_t inflate_checksum(uint32_t checksum, const void *bytes, size_t count)
{
	return crc32_gzip_refl(checksum, bytes, count);
}
#else
static errcode_t open_stream(struct inflater *inflater)
{
	int result = inflateInit2(&inflater->stream, -MAX_WBITS);

	inflater->is_open = result == Z_OK;
	return inflater->is_open ? 0 : ENOMEM;
}

static void close_stream(struct inflater *inflater)
{
	if (inflater->is_open)
		inflateEnd(&inflater->stream);
}

errcode_t inflater_begin(struct inflater *inflater)
{
	return inflateReset(&inflater->stream) == Z_OK ? 0 : ENOMEM;
}

errcode_t inflater_run(struct inflater *inflater, struct inflate_buffers *buffers, bool *is_end)
{
	z_stream *stream = &inflater->stream;
	uint32_t in_bytes = part_of(buffers->in_bytes), out_bytes = part_of(buffers->out_bytes);

	/* The library only reads its input, so the const may be cast away. */
	stream->next_in = (uint8_t *)(uintptr_t)buffers->in;
	stream->avail_in = in_bytes;
	stream->next_out = buffers->out;
	stream->avail_out = out_bytes;
	int result = inflate(stream, Z_NO_FLUSH);

	*is_end = result == Z_STREAM_END;
	if (result == Z_MEM_ERROR)
		return ENOMEM;
	if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR)
		return EBADMSG;
	buffers->in += in_bytes - stream->avail_in;
	buffers->in_bytes -= in_bytes - stream->avail_in;
	buffers->out += out_bytes - stream->avail_out;
	buffers->out_bytes -= out_bytes - stream->avail_out;
	return 0;
}

uint32_t inflate_checksum(uint32_t checksum, const void *bytes, size_t count)
{
#if HAVE_LIBDEFLATE
	return libdeflate_crc32(checksum, bytes, count);
#else
	return (uint32_t)crc32_z(checksum, bytes, count);
#endif
}
#endif

#if HAVE_LIBDEFLATE
static errcode_t open_whole(struct inflater *inflater)
{
	inflater->whole = libdeflate_alloc_decompressor();
	return inflater->whole ? 0 : ENOMEM;
}

static void close_whole(struct inflater *inflater)
{
	if (inflater->whole)
		libdeflate_free_decompressor(inflater->whole);
}

bool inflater_run_whole(struct inflater *inflater, struct inflate_buffers *buffers)
{
	size_t read, written;

	if (libdeflate_deflate_decompress_ex(inflater->whole, buffers->in, buffers->in_bytes, buffers->out,
	                                     buffers->out_bytes, &read, &written) != LIBDEFLATE_SUCCESS)
		return false;
	buffers->in += read;
	buffers->in_bytes -= read;
	buffers->out += written;
	buffers->out_bytes -= written;
	return true;
}
#else
static errcode_t open_whole(struct inflater *inflater)
{
	(void)inflater;
	return 0;
}

static void close_whole(struct inflater *inflater)
{
	(void)inflater;
}

bool inflater_run_whole(struct inflater *inflater, struct inflate_buffers *buffers)
{
	(void)inflater;
	(void)buffers;
	return false;
}
#endif

errcode_t inflater_create(struct inflater **ret)
{
	struct inflater *inflater = calloc(1, sizeof(*inflater));

	*ret = inflater;
	if (!inflater)
		return ENOMEM;
	errcode_t error = open_stream(inflater);

	return error ? error : open_whole(inflater);
}

void inflater_destroy(struct inflater *inflater)
{
	if (!inflater)
		return;
	close_stream(inflater);
	close_whole(inflater);
	free(inflater);
}
