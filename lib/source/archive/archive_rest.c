/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/archive/archive_rest.h"

#include <errno.h>
#include <string.h>

#include "source/archive/archive_end.h"
#include "source/archive/archive_feed.h"
#include "support/little_endian.h"
#include "support/vector.h"
#include "support/zeros.h"

/* So much of what follows shows what it is. */
#define LEAST_BYTES 512

/* Some bytes of the input, and where they lie. */
struct run {
	const uint8_t *bytes;
	size_t count;
	uint64_t at;
};

static int format_of(const struct archive_input *input)
{
	return archive_format(input->archive) & ARCHIVE_FORMAT_BASE_MASK;
}

static errcode_t next_run(struct archive_input *input, struct run *run)
{
	return archive_feed_block(input, &run->bytes, &run->count, &run->at);
}

/* Bytes that libarchive was given and has not used. */
static errcode_t unused_run(struct archive_input *input, struct run *run)
{
	input->tap.from = run->at = archive_input_position(input);
	return header_tap_get(&input->tap, input->tap.block_at + input->tap.block_bytes, &run->bytes, &run->count);
}

/* Skips zeros. No run: nothing else follows. */
static errcode_t find_rest(struct archive_input *input, struct run *run)
{
	errcode_t error = unused_run(input, run);

	if (!error && !run->count)
		error = next_run(input, run);
	while (!error && run->count) {
		while (run->count && !*run->bytes) {
			run->bytes++;
			run->count--;
			run->at++;
		}
		if (run->count)
			return 0;
		error = next_run(input, run);
	}
	return error;
}

/* Keeps the run, and more if it is short, as what comes next. */
static errcode_t keep_run(struct archive_input *input, struct run *run)
{
	uint8_t *kept = NULL;
	size_t capacity = 0, count = 0;
	uint64_t at = run->at;
	errcode_t error = 0;

	while (!error && run->count && count < LEAST_BYTES) {
		error = vector_reserve(&kept, &capacity, count + run->count, 1);
		if (!error) {
			memcpy(kept + count, run->bytes, run->count);
			count += run->count;
			error = count < LEAST_BYTES ? next_run(input, run) : 0;
		}
	}
	free(input->resumed);
	input->resumed = kept;
	input->resumed_bytes = count;
	input->resumed_capacity = capacity;
	run->at = at;
	return error;
}

/* Is it an archive that is read after one of cpio? */
static bool is_further(const struct archive_input *input, const uint8_t *bytes, size_t count)
{
	return archive_kind_is_cpio(bytes, count) || archive_kind_packing(input->kind, bytes, count);
}

/* tar and cpio end before the bytes do. */
static errcode_t look_behind_members(struct archive_input *input, struct archive_rest *rest)
{
	struct run run = { 0 };
	errcode_t error = find_rest(input, &run);

	if (error || !run.count)
		return error;
	error = keep_run(input, &run);
	rest->is_there = true;
	rest->at = input->is_moved ? 0 : run.at;
	rest->is_in_file = !input->store;
	rest->is_archive =
		format_of(input) == ARCHIVE_FORMAT_CPIO && is_further(input, input->resumed, input->resumed_bytes);
	return error;
}

#define ZIP_END_BYTES 22u
#define ZIP_MOST_END_BYTES (ZIP_END_BYTES + UINT16_MAX)
#define ZIP_LOCATOR_BYTES 20u /* before it, in zip64 */

/* Finds the last record of a zip archive in its last bytes; `count`: there is none. */
static size_t find_zip_end(const uint8_t *bytes, size_t count)
{
	for (size_t at = count - ZIP_END_BYTES + 1; at--;)
		if (!memcmp(bytes + at, "PK\5\6", 4))
			return at;
	return count;
}

/*
 * A zip archive ends with a record that says how long its list of members is, where that begins, and how long a comment
 * follows. If the list lies elsewhere, something lies before the first member. That is mostly the program that unpacks
 * the archive, but it may be another archive.
 */
static errcode_t look_around_zip(const struct archive_input *input, struct archive_rest *rest)
{
	const uint64_t whole = input->end - input->start;
	const size_t count = whole < ZIP_MOST_END_BYTES ? (size_t)whole : ZIP_MOST_END_BYTES;
	SCOPE_FREE uint8_t *bytes = malloc(count + 1);
	uint8_t first[4];

	if (!bytes)
		return ENOMEM;
	if (count < ZIP_END_BYTES)
		return 0;
	errcode_t error = archive_input_read_back(input, bytes, count, input->end - count);

	if (!error)
		error = archive_input_read_back(input, first, sizeof(first), input->start);
	size_t at = error ? count : find_zip_end(bytes, count);

	if (at == count)
		return error;
	const uint8_t *record = bytes + at;
	size_t end = at + ZIP_END_BYTES + little_endian(record + 20, 2);
	bool is_zip64 = at >= ZIP_LOCATOR_BYTES && !memcmp(record - ZIP_LOCATOR_BYTES, "PK\6\7", 4);
	uint64_t list_end = (uint64_t)little_endian(record + 12, 4) + little_endian(record + 16, 4);

	while (end < count && !bytes[end])
		end++;
	rest->at = end < count ? whole - count + end : 0;
	rest->is_before = !rest->at && !is_zip64 && list_end < whole - count + at && !memcmp(first, "PK\3\4", 4);
	rest->is_there = rest->at || rest->is_before;
	return 0;
}

/* Compares the checksums of all that is left. */
static errcode_t drain(struct archive_input *input)
{
	struct run run;
	errcode_t error;

	do
		error = next_run(input, &run);
	while (!error && run.count);
	return error;
}

/* Finds where the part of the archive that was read ends, and tells what follows it. */
static errcode_t look_behind_end(const struct archive_input *input, struct archive_rest *rest)
{
	const bool is_stream = archive_feed_is_stream(input);
	const uint64_t start = input->store ? 0 : input->start;
	const uint64_t whole = is_stream ? input->unpacked_at : input->end - input->start;
	uint8_t bytes[4096];
	uint64_t at;
	errcode_t error = archive_end_find(input, whole, &at);

	while (!error && at < whole) {
		const size_t count = whole - at < sizeof(bytes) ? (size_t)(whole - at) : sizeof(bytes);

		error = archive_input_read_back(input, bytes, count, start + at);
		rest->is_there = !error && !bytes_are_zero(bytes, count);
		if (rest->is_there)
			break;
		at += count;
	}
	for (size_t n = 0; rest->is_there && !bytes[n]; n++)
		at++;
	rest->at = rest->is_there ? at : 0;
	return error;
}

/* Keeps what has been read of a pipe, and more if that is short, as what comes next. */
static errcode_t keep_rest(struct archive_input *input, const struct packed_rest *packed)
{
	const uint64_t read_end = input->file.beginning_bytes, end = packed->at + packed->count;
	const size_t least = packed->count + (end < read_end ? (size_t)(read_end - end) : 0);
	const size_t capacity = least + LEAST_BYTES;
	uint8_t *kept = malloc(capacity);
	size_t count = packed->count, got = count;
	errcode_t error = 0;

	if (!kept)
		return ENOMEM;
	memcpy(kept, packed->bytes, count);
	while (!error && got && (count < LEAST_BYTES || count < least)) {
		error = packed_file_read(&input->file, kept + count, capacity - count, packed->at + count, &got);
		count += got;
	}
	free(input->resumed);
	input->resumed = kept;
	input->resumed_bytes = count;
	input->resumed_capacity = capacity;
	return error;
}

/* The bytes that follow the packed part. */
static errcode_t look_behind_packed(struct archive_input *input, struct archive_rest *rest)
{
	uint8_t bytes[LEAST_BYTES];
	const uint8_t *begins = bytes;
	size_t count = 0;
	struct packed_rest packed;
	unsigned int level = 0;
	errcode_t error = unpacking_look_at_rest(&input->unpacking, &packed, &level);

	if (error || !packed.at)
		return error;
	rest->is_there = true;
	rest->is_in_file = !level;
	rest->is_below = level;
	if (level) {
		error = unpacking_go_back(&input->unpacking, level, &packed, LEAST_BYTES);
		begins = input->unpacking.beginning;
		count = input->unpacking.beginning_bytes;
	} else if (input->file.is_regular) {
		rest->at = packed.at;
		error = packed_file_read(&input->file, bytes, sizeof(bytes), rest->at, &count);
	} else {
		error = keep_rest(input, &packed);
		begins = input->resumed;
		count = input->resumed_bytes;
	}
	rest->is_archive = !error && format_of(input) == ARCHIVE_FORMAT_CPIO && is_further(input, begins, count);
	return error;
}

errcode_t archive_rest_look(struct archive_input *input, struct archive_rest *rest)
{
	const int format = format_of(input);
	const bool is_stream = input->store && !input->is_spooled;
	errcode_t error = 0;

	*rest = (struct archive_rest){ 0 };
	if (format == ARCHIVE_FORMAT_TAR || format == ARCHIVE_FORMAT_CPIO)
		error = look_behind_members(input, rest);
	else if (format == ARCHIVE_FORMAT_ZIP && !is_stream)
		error = look_around_zip(input, rest);
	if (!error && !rest->is_archive && is_stream)
		error = drain(input);
	if (!error && input->kind->is_limited)
		error = look_behind_end(input, rest);
	if (!error && !rest->is_there && input->store)
		error = look_behind_packed(input, rest);
	if (error && error != EBADMSG)
		input->error = error;
	return error;
}

errcode_t archive_rest_open(struct archive_input *input, const struct archive_rest *rest)
{
	if (rest->is_in_file)
		return archive_input_reopen(input, rest->at);
	if (!rest->is_below && archive_kind_is_cpio(input->resumed, input->resumed_bytes))
		return archive_input_resume(input, rest->at);
	errcode_t error = rest->is_below ?
	                          unpacking_go_on(&input->unpacking) :
	                          unpacking_go_deeper(&input->unpacking, TAKE(input->resumed), input->resumed_bytes);

	input->resumed_bytes = input->resumed_capacity = 0;
	input->store = unpacking_last(&input->unpacking)->store;
	return error ? error : archive_input_resume(input, 0);
}
