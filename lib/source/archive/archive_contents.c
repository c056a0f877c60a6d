/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds a member's bytes. They stay in the archive, or in the bytes it unpacks to, if they lie there as they are; else
 * they are copied.
 */
#include <errno.h>
#include <string.h>

#include "source/archive/archive_scan.h"
#include "source/kind/stored_contents.h"
#include "support/vector.h"
#include "support/zeros.h"
#include "unpack/unpacked_store.h"

/* No block of a filesystem is smaller. */
#define ZEROS_BYTES 1024u

void archive_scan_set_unpacked(struct tree *tree, uint32_t origin, struct unpacked_store *store)
{
	stored_contents_of(tree, origin)->unpacked = store;
	tree->origins[origin].knows_zeros = true;
}

/* Creates the store for copies if there is none yet. */
static errcode_t open_spool(struct archive_scan *scan)
{
	struct archive_spool *spool = &scan->spool;
	const struct scan_options *options = scan->options;

	if (spool->store)
		return 0;
	errcode_t error = stored_contents_add(scan->tree, scan->tree->origins[0].path, -1, &spool->origin);

	if (!error)
		error = unpacked_store_create(options->unpacked, options->spool_directory, &spool->store);
	if (!error)
		archive_scan_set_unpacked(scan->tree, spool->origin, spool->store);
	return error;
}

/* Adds a segment that comes after those that are there already. */
static errcode_t add_segment(struct archive_segments *segments, uint64_t start, uint64_t length, uint64_t stored)
{
	size_t count = segments->data.count;
	errcode_t error =
		vector_reserve(&segments->stored_starts, &segments->stored_capacity, count + 1, sizeof(stored));

	if (!error)
		error = data_segments_add(&segments->data, start, start + length);
	if (!error && segments->data.count > count)
		segments->stored_starts[count] = stored;
	return error;
}

/* True if a segment there would continue the last one in the file, but not in the place where it is stored. */
static bool breaks_in_two(const struct archive_segments *segments, uint64_t start, uint64_t stored)
{
	if (!segments->data.count)
		return false;
	const struct tree_segment *last = &segments->data.list[segments->data.count - 1];

	return last->start_bytes + last->length_bytes == start &&
	       segments->stored_starts[segments->data.count - 1] + last->length_bytes != stored;
}

static errcode_t spool_bytes(struct archive_scan *scan, const void *bytes, size_t count)
{
	return unpacked_store_copy(scan->spool.store, bytes, count, scan->problem);
}

static errcode_t spool_stored(struct archive_scan *scan, uint64_t stored, uint64_t length)
{
	char bytes[8192];

	while (length) {
		size_t part = length < sizeof(bytes) ? (size_t)length : sizeof(bytes);
		errcode_t error = archive_input_read_back(&scan->input, bytes, part, stored);

		if (error)
			return archive_scan_problem(scan, error, "cannot read", NULL);
		error = spool_bytes(scan, bytes, part);
		if (error)
			return error;
		stored += part;
		length -= part;
	}
	return 0;
}

/*
 * Moves a member's contents to the copies. libarchive returns bytes of its own if a member is not in our buffer in one
 * piece, so this happens at most once a buffer. The segments that were found in the archive until then are copied, too.
 */
static errcode_t move_to_spool(struct archive_scan *scan)
{
	struct archive_segments *segments = &scan->segments;
	errcode_t error = open_spool(scan);

	segments->is_spooled = true;
	for (size_t i = 0; !error && i < segments->data.count; i++) {
		uint64_t stored = segments->stored_starts[i];

		segments->stored_starts[i] = unpacked_store_end(scan->spool.store);
		error = spool_stored(scan, stored, segments->data.list[i].length_bytes);
	}
	return error;
}

/* Counts zeros now, since bytes that have just been unpacked are still in a processor's cache. */
static void count_zeros(struct archive_segments *segments, const char *bytes, size_t count, uint64_t offset)
{
	while (count) {
		size_t part = ZEROS_BYTES - offset % ZEROS_BYTES;

		part = part < count ? part : count;
		segments->ends_with_zeros = bytes_are_zero(bytes, part);
		segments->zero_pieces += segments->ends_with_zeros;
		bytes += part;
		offset += part;
		count -= part;
	}
}

/* Notes zeros for the workers that copy. */
static void note_zeros(struct archive_scan *scan, const struct tree_node *node)
{
	const struct archive_segments *segments = &scan->segments;
	struct tree_origin *origin = &scan->tree->origins[node->origin];

	origin->zero_pieces += node->is_sparse ? 0 : segments->zero_pieces;
	origin->zero_ends += node->is_sparse ? segments->zero_pieces : segments->ends_with_zeros;
}

static errcode_t read_block(struct archive_scan *scan, const void *bytes, size_t count, uint64_t offset)
{
	struct archive_segments *segments = &scan->segments;
	uint64_t stored = 0;
	errcode_t error = 0;

	if (!segments->is_spooled &&
	    (!archive_input_locate(&scan->input, bytes, count, &stored) || breaks_in_two(segments, offset, stored)))
		error = move_to_spool(scan);
	/* zip packs its members. */
	if (!error && (!scan->input.store || scan->input.is_spooled))
		error = source_counts_unpacked(scan->options->counts, segments->is_spooled ? count : 0);
	if (!error && segments->is_spooled) {
		stored = unpacked_store_end(scan->spool.store);
		error = spool_bytes(scan, bytes, count);
	} else if (!error && scan->input.store) {
		unpacked_store_want(scan->input.store, stored, count);
	}
	return error ? error : add_segment(segments, offset, count, stored);
}

/*
 * True if the first block tells where all contents are. In tar and cpio they are in one piece, and libarchive seeks
 * over the rest. Other formats (zip) can have more bytes after the contents, which are found only by reading them.
 */
static bool lies_in_one_piece(const struct archive_scan *scan)
{
	int format = archive_format(scan->input.archive) & ARCHIVE_FORMAT_BASE_MASK;

	return (format == ARCHIVE_FORMAT_TAR || format == ARCHIVE_FORMAT_CPIO) && !scan->segments.is_spooled &&
	       !scan->input.store && archive_entry_sparse_count(scan->entry) == 0 &&
	       scan->segments.data.list[0].start_bytes == 0;
}

static errcode_t read_blocks(struct archive_scan *scan, uint64_t most)
{
	struct archive_segments *segments = &scan->segments;
	uint64_t end = 0;

	for (;;) {
		const void *bytes;
		size_t count;
		la_int64_t at;
		int result = archive_read_data_block(scan->input.archive, &bytes, &count, &at);

		if (result == ARCHIVE_EOF || (result != ARCHIVE_OK && archive_input_lacks_padding(&scan->input)))
			return 0;
		if (result != ARCHIVE_OK)
			return archive_scan_failure(scan);
		if (!count)
			continue;
		uint64_t offset = (uint64_t)at;

		if (at < 0 || offset < end || offset > most || count > most - offset)
			return archive_scan_problem(scan, EBADMSG, "cannot read",
			                            "its contents go beyond its size or are out of order");
		end = offset + count;
		count_zeros(segments, bytes, count, offset);
		errcode_t error = read_block(scan, bytes, count, offset);

		if (error)
			return archive_scan_problem(scan, error, "cannot read", NULL);
		if (segments->data.count == 1 && lies_in_one_piece(scan) && archive_entry_size_is_set(scan->entry)) {
			if (most > scan->input.end - segments->stored_starts[0])
				return archive_scan_problem(scan, EBADMSG, "cannot read",
				                            "the archive ends before its contents do");
			segments->data.list[0].length_bytes = most;
			return 0;
		}
	}
}

static errcode_t make_map(struct archive_scan *scan, struct tree_node *node)
{
	const struct archive_segments *segments = &scan->segments;
	size_t bytes = segments->data.count * sizeof(*segments->stored_starts);
	uint64_t map_bytes = bytes + segments->data.count * sizeof(*segments->data.list);
	errcode_t error = source_counts_metadata(scan->options->counts, map_bytes);

	if (error)
		return archive_scan_problem(scan, error, "cannot read", NULL);
	uint64_t *starts = arena_alloc(&scan->tree->memory, bytes + 1);
	struct tree_data_map *map;

	error = segments->data.count > UINT32_MAX || !starts ?
	                ENOMEM :
	                data_segments_map(&segments->data, &scan->tree->memory, &map);

	if (!error)
		error = stored_contents_add_pieces(stored_contents_of(scan->tree, node->origin), map, starts,
		                                   &map->contents);
	if (error)
		return archive_scan_problem(scan, error, "cannot read", NULL);
	if (bytes)
		memcpy(starts, segments->stored_starts, bytes);
	node->is_sparse = true;
	node->data_map = map;
	return 0;
}

errcode_t archive_scan_contents(struct archive_scan *scan, struct tree_node *node)
{
	struct archive_segments *segments = &scan->segments;
	bool has_size = archive_entry_size_is_set(scan->entry);
	la_int64_t size = has_size ? archive_entry_size(scan->entry) : INT64_MAX;

	segments->data.count = 0;
	segments->is_spooled = segments->ends_with_zeros = false;
	segments->zero_pieces = 0;
	if (size < 0)
		return archive_scan_problem(scan, EBADMSG, "cannot read", "its size is negative");
	errcode_t error = read_blocks(scan, (uint64_t)size);

	if (error)
		return error;
	const struct tree_segment *last = segments->data.count ? &segments->data.list[segments->data.count - 1] : NULL;

	if (!has_size)
		size = last ? (la_int64_t)(last->start_bytes + last->length_bytes) : 0;
	node->size_bytes = (uint64_t)size;
	node->origin = segments->is_spooled ? scan->spool.origin : scan->origin;
	node->is_sparse = false;
	node->contents = segments->data.count ? segments->stored_starts[0] : 0;
	if (size && !(last && segments->data.count == 1 && last->length_bytes == (uint64_t)size))
		error = make_map(scan, node);
	if (!error)
		note_zeros(scan, node);
	return error;
}
