/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/archive/unpacking.h"

#include <errno.h>
#include <string.h>

#include "support/vector.h"
#include "unpack/archive_packer.h"

#define READ_BYTES ((size_t)BUFFER_SIZE(256, 4) << 10)

/* Enough to know what it is: ISO 9660 is recognized by bytes at 32769. */
#define LEAST_BEGINNING_BYTES ((size_t)BUFFER_SIZE(64, 4) << 10)

/* The pieces of a manifest's levels that stay in memory; nothing is read from them again. */
#define SMALL_BUDGET_PIECES (2 * UNPACKING_LEVELS)

/* The first level that failed says why: those above only know that they get no more. */
static errcode_t first_error(const struct unpacking *unpacking, errcode_t error)
{
	for (unsigned int n = 0; error && n < unpacking->count; n++)
		if (unpacking->levels[n].error)
			return unpacking->levels[n].error;
	return error;
}

static errcode_t next_of(struct unpacking_level *level)
{
	errcode_t error = unpack_stream_next(level->stream, &level->bytes, &level->count, &level->problem);

	if (error)
		level->error = error;
	return error;
}

/* Reads for the level above. */
static errcode_t read_below(void *context, void *bytes, size_t count, size_t *got)
{
	struct unpacking_level *level = context;
	errcode_t error = level->count ? 0 : next_of(level);

	if (error)
		return error;
	*got = count < level->count ? count : level->count;
	/* At the end of what is packed there are no bytes to point to. */
	if (*got == 0)
		return 0;
	memcpy(bytes, level->bytes, *got);
	level->bytes += *got;
	level->count -= *got;
	return 0;
}

/* Reads more than what the unpacker has not got of the last bytes. *is_last: there is no more. */
static errcode_t read_more(struct unpacking_level *level, bool *is_last)
{
	const size_t kept = level->last_bytes - level->handed_bytes;
	size_t got;

	memmove(level->buffer, level->buffer + level->handed_bytes, kept);
	errcode_t error = packed_file_read(level->from, level->buffer + kept, READ_BYTES - kept, level->at, &got);

	if (error)
		return error;
	*is_last = !got;
	/* At the end, the last bytes stay for what looks at them. */
	if (got || kept) {
		level->at += got;
		level->last_bytes = kept + got;
		level->handed_bytes = 0;
	}
	return 0;
}

/* Reads for libarchive. */
static la_ssize_t read_packed(struct archive *archive, void *context, const void **bytes)
{
	struct unpacking_level *level = context;
	const bool is_first = !level->at;
	bool is_last = false;
	errcode_t error = 0;
	size_t part = 0;

	while (!error && !part && !is_last && !level->lz4.is_over) {
		error = read_more(level, &is_last);
		if (error)
			break;
		if (is_first)
			level->lz4 = lz4_legacy_begin(level->buffer, level->last_bytes);
		part = level->last_bytes - level->handed_bytes;
		part = lz4_legacy_part(&level->lz4, level->buffer + level->handed_bytes, part, is_last);
	}
	if (error) {
		archive_set_error(archive, (int)error, "%s", strerror((int)error));
		return ARCHIVE_FATAL;
	}
	*bytes = level->buffer + level->handed_bytes;
	level->handed_bytes += part;
	return (la_ssize_t)part;
}

static errcode_t refuse_depth(struct unpacking *unpacking)
{
	unpacking->refusal = "it is packed more than 4 times";
	return EBADMSG;
}

/*
 * Lets libarchive unpack a level, with this filter alone, which it may find several times.
 * (archive_read_append_filter() would take it once, and crashes in 3.6.2, where lzip's and compress's filters read
 * before they have anything to read.)
 */
static errcode_t open_unpacker(struct unpacking *unpacking, struct unpacking_level *level)
{
	struct archive_entry *entry;

	level->unpacker = archive_read_new();
	level->buffer = malloc(READ_BYTES);
	if (!level->unpacker || !level->buffer || archive_read_support_format_raw(level->unpacker) < ARCHIVE_WARN)
		return ENOMEM;
	/* ARCHIVE_WARN: a program would have to do it. */
	if (level->packing->support(level->unpacker) != ARCHIVE_OK) {
		unpacking->refusal = "it is packed with what this libarchive does not unpack";
		return EBADMSG;
	}
	if (archive_read_open(level->unpacker, level, NULL, read_packed, NULL) != ARCHIVE_OK ||
	    archive_read_next_header(level->unpacker, &entry) != ARCHIVE_OK) {
		const int error = archive_errno(level->unpacker);

		return error == ENOMEM || error == EINTR ? error : EBADMSG;
	}
	/* One of libarchive's filters is the file itself. */
	const int filters = archive_filter_count(level->unpacker) - 1;

	if (filters < 1) {
		unpacking->refusal = "it begins as a packed file does, but is none";
		return EBADMSG;
	}
	unpacking->packed += (unsigned int)filters - 1;
	return unpacking->packed > UNPACKING_MOST ? refuse_depth(unpacking) : 0;
}

static errcode_t open_level(struct unpacking *unpacking, struct unpacking_level *level)
{
	const struct scan_options *options = unpacking->options;
	struct unpack_source source = {
		.format = archive_packer_format_of(level->packing),
		.file = level->from,
		.counts = options ? options->counts : NULL,
		.threads = options ? options->unpack_threads : 0,
	};
	errcode_t error = source.format == &archive_packer_format ? open_unpacker(unpacking, level) : 0;

	if (error)
		return level->error = error;
	if (!options && !unpacking->small_budget)
		error = unpacked_budget_create(SMALL_BUDGET_PIECES * UNPACKED_PIECE_BYTES, &unpacking->small_budget);
	if (!error)
		error = unpacked_store_create(options ? options->unpacked : unpacking->small_budget,
		                              options ? options->spool_directory : NULL, &level->store);
	level->owns_store = !error;
	source.context = level->unpacker;
	source.store = level->store;
	return error ? error : unpack_stream_open(&source, &level->stream);
}

/* Unpacks what the last level gives, or the file. */
static errcode_t add_level(struct unpacking *unpacking, struct packed_file *file, const struct packing *packing)
{
	if (unpacking->count == UNPACKING_LEVELS) {
		unpacking->refusal = "too many archives follow each other";
		return EBADMSG;
	}
	struct unpacking_level *level = &unpacking->levels[unpacking->count++];

	*level = (struct unpacking_level){ .packing = packing, .from = file };
	file->may_follow = archive_kind_begins;
	if (unpacking->count > 1) {
		level->from = &level->below;
		level->below = (struct packed_file){ .descriptor = -1,
			                             .read = read_below,
			                             .context = level - 1,
			                             .may_follow = archive_kind_begins,
			                             .windows = file->windows };
	}
	unpacking->packed += packing != NULL;
	return open_level(unpacking, level);
}

/* Keeps a piece of the beginning beside those that came before it. */
static errcode_t keep_beginning(struct unpacking_level *level, uint64_t *kept)
{
	errcode_t error = vector_reserve(&level->beginning, &level->beginning_capacity, *kept + level->count, 1);

	if (error)
		return error;
	unpacked_store_want(level->store, *kept, level->count);
	memcpy(level->beginning + *kept, level->bytes, level->count);
	*kept += level->count;
	return 0;
}

/*
 * Looks at the beginning of what a level gives. It usually comes in one piece, and is left where it is. An error comes
 * once more when there is nothing else to be used.
 */
static errcode_t look_at_beginning(struct unpacking *unpacking, struct unpacking_level *level)
{
	uint64_t kept = 0;
	errcode_t error = next_of(level);

	if (error)
		return error;
	while (!error && (kept || level->count < LEAST_BEGINNING_BYTES) && level->count) {
		error = keep_beginning(level, &kept);
		if (error)
			return error;
		if (kept >= LEAST_BEGINNING_BYTES)
			break;
		error = next_of(level);
	}
	level->error = 0;
	if (kept) {
		level->bytes = level->beginning;
		level->count = (size_t)kept;
	}
	unpacking->beginning = level->bytes;
	unpacking->beginning_bytes = level->count;
	return 0;
}

static errcode_t take_packings_off(struct unpacking *unpacking, struct packed_file *file)
{
	const struct packing *packing;
	errcode_t error = 0;

	while (!error &&
	       (packing = archive_kind_packing(unpacking->kind, unpacking->beginning, unpacking->beginning_bytes))) {
		if (unpacking->packed == UNPACKING_MOST)
			return refuse_depth(unpacking);
		error = add_level(unpacking, file, packing);
		if (!error)
			error = look_at_beginning(unpacking, unpacking_last(unpacking));
	}
	return first_error(unpacking, error);
}

errcode_t unpacking_open(struct unpacking *unpacking, struct packed_file *file, const uint8_t *bytes, size_t count)
{
	unpacking->beginning = bytes;
	unpacking->beginning_bytes = count;
	file->beginning = file->is_regular ? NULL : bytes;
	file->beginning_bytes = file->is_regular ? 0 : count;
	errcode_t error = take_packings_off(unpacking, file);

	if (error || unpacking->count || file->is_regular)
		return error;
	return add_level(unpacking, file, NULL);
}

errcode_t unpacking_go_deeper(struct unpacking *unpacking, uint8_t *bytes, size_t count)
{
	struct unpacking_level *last = unpacking_last(unpacking);

	free(last->beginning);
	last->beginning = bytes;
	last->bytes = unpacking->beginning = bytes;
	last->count = unpacking->beginning_bytes = count;
	return take_packings_off(unpacking, last->from);
}

errcode_t unpacking_next(struct unpacking *unpacking, const uint8_t **bytes, size_t *count)
{
	struct unpacking_level *level = unpacking_last(unpacking);
	errcode_t error = level->count ? 0 : next_of(level);

	*bytes = level->bytes;
	*count = error ? 0 : level->count;
	level->count = 0;
	return first_error(unpacking, error);
}

static void close_last(struct unpacking *unpacking)
{
	struct unpacking_level *level = &unpacking->levels[--unpacking->count];

	unpack_stream_close(level->stream);
	if (level->unpacker)
		archive_read_free(level->unpacker);
	if (level->owns_store)
		unpacked_store_destroy(level->store);
	problem_clear(&level->problem);
	free(level->buffer);
	free(level->beginning);
}

errcode_t unpacking_go_back(struct unpacking *unpacking, unsigned int level, const struct packed_rest *rest,
                            size_t least)
{
	struct unpacking_level *last = &unpacking->levels[level - 1];
	uint8_t *bytes = NULL;
	size_t capacity = 0, count = rest->count;
	errcode_t error = vector_reserve(&bytes, &capacity, count + 1, 1);

	if (error)
		return error;
	memcpy(bytes, rest->bytes, count);
	while (unpacking->count > level)
		close_last(unpacking);
	do {
		error = vector_reserve(&bytes, &capacity, count + last->count, 1);
		if (!error && last->count)
			memcpy(bytes + count, last->bytes, last->count);
		count += error ? 0 : last->count;
		last->count = 0;
		if (!error && count < least)
			error = next_of(last);
	} while (!error && last->count);
	free(last->beginning);
	last->beginning = bytes;
	last->bytes = unpacking->beginning = bytes;
	last->count = unpacking->beginning_bytes = count;
	return error;
}

errcode_t unpacking_go_on(struct unpacking *unpacking)
{
	struct packed_file *file = unpacking_last(unpacking)->from;
	const unsigned int count = unpacking->count;

	unpacking->packed = 0;
	for (unsigned int n = 0; n < count; n++)
		unpacking->packed += unpacking->levels[n].packing != NULL;
	errcode_t error = take_packings_off(unpacking, file);

	return error || unpacking->count > count ? error : add_level(unpacking, file, NULL);
}

void unpacking_close(struct unpacking *unpacking)
{
	/* A level's threads may wait for a level below. */
	for (unsigned int n = 0; n < unpacking->count; n++)
		atomic_store_explicit(&unpacking->levels[n].from->is_stopped, true, memory_order_relaxed);
	while (unpacking->count)
		close_last(unpacking);
	unpacked_budget_release(unpacking->small_budget);
	*unpacking = (struct unpacking){ 0 };
}

const char *unpacking_reason(const struct unpacking *unpacking)
{
	for (unsigned int n = 0; n < unpacking->count; n++) {
		const struct unpacking_level *level = &unpacking->levels[n];

		if (level->error != EBADMSG)
			continue;
		if (level->stream)
			return unpack_stream_reason(level->stream);
		return level->unpacker ? archive_error_string(level->unpacker) : NULL;
	}
	return NULL;
}

const struct problem *unpacking_problem(const struct unpacking *unpacking)
{
	for (unsigned int n = 0; n < unpacking->count; n++)
		if (unpacking->levels[n].problem.error)
			return &unpacking->levels[n].problem;
	return NULL;
}

#define LZ4_MAGIC_BYTES 4

/*
 * libarchive's lz4 has looked in four bytes for another frame, unless nothing follows: then these are the last ones of
 * the frame itself.
 */
static errcode_t give_magic_back(const struct unpacking *unpacking, struct unpacking_level *level, size_t *at)
{
	size_t got = 0;
	errcode_t error = 0;

	if (level->packing->support != archive_read_support_filter_lz4 || level->lz4.is_followed ||
	    *at < LZ4_MAGIC_BYTES)
		return 0;
	if (*at == level->last_bytes) {
		memmove(level->buffer, level->buffer + *at - LZ4_MAGIC_BYTES, LZ4_MAGIC_BYTES);
		error = packed_file_read(level->from, level->buffer + LZ4_MAGIC_BYTES, READ_BYTES - LZ4_MAGIC_BYTES,
		                         level->at, &got);
		level->at += error ? 0 : got;
		level->last_bytes = LZ4_MAGIC_BYTES + (error ? 0 : got);
		*at = LZ4_MAGIC_BYTES;
	}
	const uint8_t *bytes = level->buffer + *at - LZ4_MAGIC_BYTES;
	const size_t count = level->last_bytes - *at + LZ4_MAGIC_BYTES;

	if (!error && count > LZ4_MAGIC_BYTES &&
	    (archive_kind_begins(bytes, count) || archive_kind_packing(unpacking->kind, bytes, count)))
		*at -= LZ4_MAGIC_BYTES;
	return error;
}

/* Looks at what libarchive has left of what it unpacks. */
static errcode_t look_at_left(const struct unpacking *unpacking, struct unpacking_level *level,
                              struct packed_rest *rest)
{
	la_int64_t used = archive_filter_bytes(level->unpacker, -1);
	uint64_t left = used >= 0 && (uint64_t)used < level->at ? level->at - (uint64_t)used : 0;
	size_t at = left < level->last_bytes ? level->last_bytes - (size_t)left : 0;
	errcode_t error = give_magic_back(unpacking, level, &at);

	while (!error && level->last_bytes) {
		while (at < level->last_bytes && !level->buffer[at])
			at++;
		if (at < level->last_bytes) {
			*rest = (struct packed_rest){ level->at - level->last_bytes + at, level->buffer + at,
				                      level->last_bytes - at };
			break;
		}
		at = 0;
		error = packed_file_read(level->from, level->buffer, READ_BYTES, level->at, &level->last_bytes);
		level->at += level->last_bytes;
	}
	return error;
}

errcode_t unpacking_look_at_rest(struct unpacking *unpacking, struct packed_rest *rest, unsigned int *at)
{
	errcode_t error = 0;

	*rest = (struct packed_rest){ 0 };
	for (unsigned int n = 0; !error && !rest->at && n < unpacking->count; n++) {
		struct unpacking_level *level = &unpacking->levels[n];

		if (level->unpacker)
			error = look_at_left(unpacking, level, rest);
		else
			*rest = *unpack_stream_rest(level->stream);
		*at = n;
	}
	return error;
}
