/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/archive/archive_feed.h"

#include <errno.h>
#include <string.h>

#include "support/buffer_size.h"
#include "support/poison.h"
#include "support/vector.h"
#include "unpack/unpacked_store.h"

/*
 * This is a multiple of tar's 512, so that headers are not cut in two and contents stay in place. For Linux 6.1's
 * source (84 000 members), 1 MiB took as long as 256 KiB.
 */
#define BUFFER_BYTES ((size_t)BUFFER_SIZE(256, 4) << 10)

/* Reads the next bytes of the file, or of the store that has all of it; *got 0 at its end. */
static errcode_t read_at(struct archive_input *input, char *bytes, size_t count, uint64_t at, size_t *got)
{
	if (!input->is_spooled)
		return packed_file_read(&input->file, bytes, count, at - input->start, got);
	*got = at < input->end && count > input->end - at ? (size_t)(input->end - at) : at < input->end ? count : 0;
	return unpacked_store_read(input->store, bytes, *got, at);
}

errcode_t archive_feed_fill(struct archive_input *input, size_t least)
{
	size_t count = 0, got = 0;
	errcode_t error = vector_reserve(&input->buffer, &input->buffer_capacity, BUFFER_BYTES, 1);

	if (!error)
		poison_show(input->buffer, input->buffer_capacity);
	do {
		if (!error)
			error = read_at(input, input->buffer + count, BUFFER_BYTES - count, input->at + count, &got);
		count += error ? 0 : got;
	} while (!error && got && count < least);
	input->error = error;
	if (error)
		return error;
	poison_hide(input->buffer + count, input->buffer_capacity - count);
	input->last_read = input->buffer;
	input->buffer_at = input->at;
	input->buffer_bytes = count;
	input->at += count;
	return 0;
}

static bool is_hashed(const struct archive_input *input)
{
	const struct archive_facts *facts = input->options ? input->options->facts : NULL;

	return facts && facts->hashes_unpacked && input->unpacking.packed;
}

errcode_t archive_feed_next(struct archive_input *input, const uint8_t **bytes, size_t *count, uint64_t *at)
{
	bool is_unread = input->is_unread;
	errcode_t error = 0;

	input->is_unread = false;
	*at = input->unpacked_at;
	if (input->resumed_bytes) {
		*bytes = input->resumed;
		*count = input->resumed_bytes;
		input->resumed_bytes = 0;
	} else if (archive_feed_is_stream(input)) {
		error = unpacking_next(&input->unpacking, bytes, count);
		if (!error && is_hashed(input))
			sha256_update(&input->options->facts->unpacked, *count, *bytes);
	} else {
		error = is_unread ? 0 : archive_feed_fill(input, 1);
		*bytes = (const uint8_t *)input->last_read;
		*count = error ? 0 : input->buffer_bytes;
		*at = input->buffer_at - input->start;
	}
	input->unpacked_at = *at + *count;
	input->is_at_end = !error && !*count;
	if (error && error != EBADMSG)
		input->error = error;
	return error;
}

errcode_t archive_feed_block(struct archive_input *input, const uint8_t **bytes, size_t *count, uint64_t *at)
{
	errcode_t error = archive_feed_next(input, bytes, count, at);

	if (error == EBADMSG)
		archive_set_error(input->archive, EBADMSG, "%s", unpacking_reason(&input->unpacking));
	return error;
}

/* Returns bytes from which members are read: those of the file, or those that it unpacks to. */
static la_ssize_t read_members(struct archive *archive, void *context, const void **bytes)
{
	struct archive_input *input = context;
	errcode_t error = header_tap_leave_block(&input->tap, archive_input_position(input));
	const uint8_t *block = NULL;
	size_t count = 0;
	uint64_t at = 0;

	if (error) {
		archive_set_error(archive, (int)error, "%s",
		                  error == ENOMEM ? strerror(ENOMEM) : "a header is too large");
		return ARCHIVE_FATAL;
	}
	error = archive_feed_block(input, &block, &count, &at);
	*bytes = block;
	if (!error) {
		header_tap_give(&input->tap, block, count, at);
		return (la_ssize_t)count;
	}
	if (error != EBADMSG)
		archive_set_error(archive, (int)error, "%s", strerror((int)error));
	return ARCHIVE_FATAL;
}

/* Goes back over the beginning that we have looked at, since libarchive has not seen it. */
static void go_back(struct archive_input *input)
{
	if (input->is_unread)
		input->at = input->buffer_at;
	input->is_unread = false;
}

/* Skips bytes for libarchive. It may skip fewer than asked: libarchive then reads the rest and finds it missing. */
static la_int64_t skip(struct archive *archive, void *context, la_int64_t count)
{
	struct archive_input *input = context;

	(void)archive;
	go_back(input);
	uint64_t left = input->at < input->end ? input->end - input->at : 0;

	if (count <= 0)
		return 0;
	uint64_t skipped = (uint64_t)count < left ? (uint64_t)count : left;

	input->at += skipped;
	return (la_int64_t)skipped;
}

static la_int64_t seek(struct archive *archive, void *context, la_int64_t offset, int from)
{
	struct archive_input *input = context;

	const uint64_t position = archive_input_position(input);

	input->reached = position > input->reached ? position : input->reached;
	go_back(input);
	uint64_t base = from == SEEK_SET ? input->start : from == SEEK_CUR ? input->at : input->end;
	int64_t to;

	if (__builtin_add_overflow((int64_t)base, offset, &to) || to < (int64_t)input->start) {
		archive_set_error(archive, EINVAL, "it leads outside of the file");
		return ARCHIVE_FATAL;
	}
	input->at = (uint64_t)to;
	return to - (int64_t)input->start;
}

errcode_t archive_feed_open(struct archive_input *input)
{
	input->archive = archive_read_new();
	if (!input->archive || archive_kind_support_formats(input->kind, input->archive) ||
	    archive_read_set_callback_data(input->archive, input) != ARCHIVE_OK)
		return ENOMEM;
	archive_read_set_read_callback(input->archive, read_members);
	if (!archive_feed_is_stream(input)) {
		archive_read_set_skip_callback(input->archive, skip);
		archive_read_set_seek_callback(input->archive, seek);
	}
	if (archive_read_open1(input->archive) != ARCHIVE_OK)
		return input->error ? input->error : EBADMSG;
	return 0;
}

errcode_t archive_feed_reopen(struct archive_input *input, uint64_t at)
{
	archive_read_free(TAKE(input->archive));
	free(input->tap.kept);
	input->tap = (struct header_tap){ 0 };
	input->base = input->unpacked_at = at;
	return archive_feed_open(input);
}
