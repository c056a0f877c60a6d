/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gzip and zstd: members, frames and their checksums, unpacked by the caller and by threads, of a file and of a pipe. The
 * first byte says which. What comes out, and whether it is refused, does not depend on that.
 */
#include "fuzz.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "source/unpack/unpack_stream.h"
#include "support/crc32c.h"

/* A bomb is a matter of limits, not of parsing. */
#define MOST_UNPACKED (8u << 20)

struct outcome {
	errcode_t error;
	uint64_t bytes;
	uint32_t checksum;
};

static struct outcome unpack(const struct decoder_format *format, int descriptor, size_t count, unsigned int threads,
                             bool is_regular)
{
	struct packed_file file = { .descriptor = descriptor, .is_regular = is_regular, .size_bytes = is_regular ? count : 0 };
	struct unpack_source source = { .format = format, .file = &file, .threads = threads };
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

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
	if (!count || (!zstd_format && bytes[0] & 1))
		return 0;
	const struct decoder_format *format = bytes[0] & 8 ? &plain_format : bytes[0] & 1 ? zstd_format : &gzip_format;
	struct fuzz_path path = fuzz_file("packed", bytes + 1, count - 1);
	SCOPE_CLOSE int descriptor = open(path.text, O_RDONLY | O_CLOEXEC);

	FUZZ_CHECK(descriptor >= 0);
	struct outcome alone = unpack(format, descriptor, count - 1, 0, true);

	if (bytes[0] & 2) {
		bool is_regular = !(bytes[0] & 4);
		struct outcome together = unpack(format, descriptor, count - 1, 2, is_regular);

		FUZZ_CHECK(alone.bytes >= MOST_UNPACKED || (together.error == alone.error && together.bytes == alone.bytes &&
		                                            together.checksum == alone.checksum));
	}
	return 0;
}
