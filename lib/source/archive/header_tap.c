/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/archive/header_tap.h"

#include <errno.h>
#include <string.h>

#include "support/vector.h"

/* libarchive refuses an extended header, a long name and a long link of more than 1 MiB each. */
#define MOST_BYTES ((size_t)8 << 20)

static uint64_t kept_end(const struct header_tap *tap)
{
	return tap->kept_at + tap->kept_bytes;
}

static void drop(struct header_tap *tap, uint64_t before)
{
	if (before >= kept_end(tap)) {
		tap->kept_bytes = 0;
	} else if (before > tap->kept_at) {
		tap->kept_bytes = (size_t)(kept_end(tap) - before);
		memmove(tap->kept, tap->kept + (before - tap->kept_at), tap->kept_bytes);
		tap->kept_at = before;
	}
}

/* Keeps the block's bytes from `from` to `end`. They are added to those that are kept already if they continue them. */
static errcode_t keep(struct header_tap *tap, uint64_t from, uint64_t end)
{
	uint64_t block_end = tap->block_at + tap->block_bytes;

	if (!tap->block_bytes)
		return 0;
	if (tap->kept_bytes && (kept_end(tap) < tap->block_at || kept_end(tap) > block_end))
		tap->kept_bytes = 0;
	if (!tap->kept_bytes)
		tap->kept_at = from > tap->block_at ? from : tap->block_at;
	from = kept_end(tap);
	end = end < block_end ? end : block_end;
	if (from >= end)
		return 0;
	size_t bytes = (size_t)(end - from);

	if (bytes > MOST_BYTES - tap->kept_bytes)
		return EBADMSG;
	errcode_t error = vector_reserve(&tap->kept, &tap->kept_capacity, tap->kept_bytes + bytes, 1);

	if (error)
		return error;
	memcpy(tap->kept + tap->kept_bytes, tap->block + (from - tap->block_at), bytes);
	tap->kept_bytes += bytes;
	return 0;
}

errcode_t header_tap_leave_block(struct header_tap *tap, uint64_t consumed)
{
	uint64_t needed = tap->is_open && tap->from < consumed ? tap->from : consumed;

	drop(tap, needed);
	errcode_t error = keep(tap, needed, UINT64_MAX);

	/* After a failure nothing more is read, and it is still looked at. */
	tap->block_bytes = error ? tap->block_bytes : 0;
	return error;
}

size_t header_tap_look(const struct header_tap *tap, uint64_t at, const uint8_t **bytes)
{
	uint64_t block_end = tap->block_at + tap->block_bytes;

	*bytes = NULL;
	if (at >= tap->block_at && at < block_end) {
		*bytes = tap->block + (at - tap->block_at);
		return (size_t)(block_end - at);
	}
	if (!tap->kept_bytes || at < tap->kept_at || at >= kept_end(tap))
		return 0;
	*bytes = tap->kept + (at - tap->kept_at);
	return (size_t)(kept_end(tap) - at);
}

errcode_t header_tap_get(struct header_tap *tap, uint64_t end, const uint8_t **bytes, size_t *count)
{
	uint64_t block_end = tap->block_at + tap->block_bytes;

	*bytes = NULL;
	*count = 0;
	if (tap->from >= tap->block_at && tap->from < block_end) {
		*bytes = tap->block + (tap->from - tap->block_at);
		*count = (size_t)(block_end - tap->from);
		return 0;
	}
	if (!tap->kept_bytes || tap->from < tap->kept_at || tap->from >= kept_end(tap))
		return 0;
	errcode_t error = keep(tap, tap->from, end);

	if (!error && tap->from >= tap->kept_at && end <= kept_end(tap)) {
		*bytes = tap->kept + (tap->from - tap->kept_at);
		*count = (size_t)(kept_end(tap) - tap->from);
	}
	return error;
}
