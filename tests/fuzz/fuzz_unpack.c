/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gzip and zstd: members, frames and their checksums, unpacked by the caller and by threads, of a file and of a pipe.
 * The first byte says which, and whether the checksums and lengths of gzip are put right. What comes out, and whether
 * it is refused, does not depend on threads, and is what a plain reader of gzip says.
 */
#include "fuzz.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/crc32c.h"
#include "unpack/inflate.h"
#include "unpack/unpack_stream.h"

/* A bomb is a matter of limits, not of parsing. */
#define MOST_UNPACKED (1u << 20)

/* So small that a short input is several of them. */
#define UNIT_BYTES 512

/* Bits of the first byte. */
enum { IS_ZSTD = 1, HAS_THREADS = 2, IS_PIPE = 4, IS_PLAIN = 8, IS_MENDED = 16 };

struct outcome {
	errcode_t error;
	uint64_t bytes;
	uint32_t checksum;
};

static struct outcome unpack(const struct decoder_format *format, int descriptor, size_t count, unsigned int threads,
                             bool is_regular)
{
	struct packed_file file = { .descriptor = descriptor,
		                    .is_regular = is_regular,
		                    .size_bytes = is_regular ? count : 0 };
	struct unpack_source source = { .format = format, .file = &file, .threads = threads, .unit_bytes = UNIT_BYTES };
	struct outcome outcome = { 0 };
	struct problem problem = { 0 };
	struct unpack_stream *stream;
	const uint8_t *piece;
	size_t got;

	FUZZ_CHECK(unpacked_store_create(NULL, fuzz_folder(), &source.store) == 0);
	FUZZ_CHECK(unpack_stream_open(&source, &stream) == 0);
	do {
		outcome.error = unpack_stream_next(stream, &piece, &got, &problem);
		if (!outcome.error)
			outcome.checksum = crc32c(outcome.checksum, piece, got);
		outcome.bytes += outcome.error ? 0 : got;
	} while (!outcome.error && got && outcome.bytes < MOST_UNPACKED);
	FUZZ_CHECK(outcome.error != EBADMSG || *unpack_stream_reason(stream));
	unpack_stream_close(stream);
	unpacked_store_destroy(source.store);
	problem_clear(&problem);
	return outcome;
}

/* gzip as RFC 1952 has it. */
struct plain_reader {
	uint8_t *bytes;
	size_t count, at;
	struct outcome outcome;
	bool is_unknown; /* what is wrong, or more, is for libraries to say */
};

static bool skip_text(struct plain_reader *reader)
{
	while (reader->at < reader->count && reader->bytes[reader->at])
		reader->at++;
	return reader->at++ < reader->count;
}

/* False: no member begins there. */
static bool read_header(struct plain_reader *reader)
{
	const uint8_t *head = reader->bytes + reader->at;
	const size_t most = reader->at + PACKED_READER_BYTES;

	if (reader->count - reader->at < 10 || head[0] != 0x1f || head[1] != 0x8b || head[2] != 8 || head[3] & 0xe0)
		return false;
	reader->at += 10;
	if (head[3] & 4) {
		if (reader->count - reader->at < 2)
			return false;
		reader->at += 2 + (size_t)(head[10] | head[11] << 8);
	}
	if ((head[3] & 8 && !skip_text(reader)) || (head[3] & 16 && !skip_text(reader)))
		return false;
	reader->at += head[3] & 2 ? 2 : 0;
	return reader->at <= reader->count && reader->at <= most;
}

static bool read_contents(struct plain_reader *reader, struct inflater *inflater, uint8_t trailer[8])
{
	static uint8_t room[65536];
	uint32_t checksum = 0, length = 0;
	bool is_end = false;

	FUZZ_CHECK(inflater_begin(inflater) == 0);
	while (!is_end) {
		struct inflate_buffers buffers = { reader->bytes + reader->at, reader->count - reader->at, room,
			                           sizeof(room) };

		if (inflater_run(inflater, &buffers, &is_end))
			return false;
		size_t used = reader->count - reader->at - buffers.in_bytes, written = sizeof(room) - buffers.out_bytes;

		reader->at = reader->count - buffers.in_bytes;
		checksum = inflate_checksum(checksum, room, written);
		length += (uint32_t)written;
		reader->outcome.checksum = crc32c(reader->outcome.checksum, room, written);
		reader->outcome.bytes += written;
		if (reader->outcome.bytes >= MOST_UNPACKED || (!is_end && !used && !written))
			return false;
	}
	for (unsigned int n = 0; n < 4; n++) {
		trailer[n] = (uint8_t)(checksum >> 8 * n);
		trailer[4 + n] = (uint8_t)(length >> 8 * n);
	}
	return true;
}

/* Unpacks all of it; mends: corrects the trailers. */
static void read_plainly(struct plain_reader *reader, bool mends)
{
	struct inflater *inflater;
	uint8_t trailer[8];

	FUZZ_CHECK(inflater_create(&inflater) == 0);
	while (!reader->outcome.error && !reader->is_unknown && read_header(reader)) {
		if (!read_contents(reader, inflater, trailer)) {
			reader->is_unknown = true;
		} else if (reader->count - reader->at < sizeof(trailer)) {
			reader->outcome.error = EBADMSG;
		} else {
			if (mends)
				memcpy(reader->bytes + reader->at, trailer, sizeof(trailer));
			if (memcmp(reader->bytes + reader->at, trailer, sizeof(trailer)))
				reader->outcome.error = EBADMSG;
			reader->at += sizeof(trailer);
		}
	}
	inflater_destroy(inflater);
}

static bool are_equal(const struct outcome *one, const struct outcome *other)
{
	return one->error == other->error && one->bytes == other->bytes && one->checksum == other->checksum;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
	if (!count || (!zstd_format && bytes[0] & IS_ZSTD))
		return 0;
	const unsigned int flags = bytes[0];
	const struct decoder_format *format = flags & IS_PLAIN ? &plain_format :
	                                      flags & IS_ZSTD  ? zstd_format :
	                                                         &gzip_format;
	SCOPE_FREE uint8_t *packed = malloc(count);

	FUZZ_CHECK(packed);
	memcpy(packed, bytes + 1, --count);
	struct plain_reader reader = { .bytes = packed, .count = count, .is_unknown = format != &gzip_format };

	read_plainly(&reader, flags & IS_MENDED);
	struct fuzz_path path = fuzz_file("packed", packed, count);
	SCOPE_CLOSE int descriptor = open(path.text, O_RDONLY | O_CLOEXEC);

	FUZZ_CHECK(descriptor >= 0);
	struct outcome alone = unpack(format, descriptor, count, 0, true);

	/* What comes before the damage is a matter of steps. */
	FUZZ_CHECK(reader.is_unknown || alone.error == reader.outcome.error);
	FUZZ_CHECK(reader.is_unknown || alone.error || are_equal(&alone, &reader.outcome));
	if (flags & HAS_THREADS) {
		struct outcome together = unpack(format, descriptor, count, 2, !(flags & IS_PIPE));

		FUZZ_CHECK(alone.bytes >= MOST_UNPACKED || are_equal(&together, &alone));
	}
	return 0;
}
