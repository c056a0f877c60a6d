/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/directory_contents.h"

#include <errno.h>
#include <fcntl.h>

#include "support/io/whole_io.h"
#include "support/run/interrupt.h"

/* We copy shorter ranges ourselves: the kernel takes as long to share or to copy them. */
#define LEAST_COPY_BYTES 65536u

/*
 * Lets the kernel copy a range. If one filesystem has both files, it may let them share blocks (XFS, btrfs). Returns
 * how many bytes are done. After a refusal the kernel is not asked again.
 */
static uint64_t let_kernel_copy(struct place_worker *own, const struct content_range *range, int descriptor)
{
	uint64_t done = 0;

	while (!own->cannot_copy && range->descriptor >= 0 && range->length_bytes - done >= LEAST_COPY_BYTES) {
		loff_t from = (loff_t)(range->place_bytes + done), to = (loff_t)(range->logical_bytes + done);
		ssize_t copied = copy_file_range(range->descriptor, &from, descriptor, &to,
		                                 (size_t)(range->length_bytes - done), 0);

		own->cannot_copy = copied <= 0;
		done += copied > 0 ? (uint64_t)copied : 0;
	}
	return done;
}

static errcode_t copy_data(struct place *place, unsigned int worker, struct content_range range, int descriptor,
                           bool *is_source, struct problem *problem)
{
	struct loaded *loaded = &place->extraction->workers[worker].loaded;
	uint64_t done = let_kernel_copy(&place->workers[worker], &range, descriptor);

	while (done < range.length_bytes) {
		uint64_t at = range.logical_bytes + done, left = range.length_bytes - done;
		size_t count = left < PIECE_DATA_BYTES ? (size_t)left : (size_t)PIECE_DATA_BYTES;
		errcode_t error = interrupt_pending() ? EINTR : 0;

		if (!error)
			error = content_reader_read(loaded->reader, loaded->bytes, count, at, problem);
		*is_source = error;
		if (!error)
			error = whole_write(descriptor, loaded->bytes, count, at);
		if (error)
			return error;
		content_reader_release(loaded->reader, at, count);
		done += count;
	}
	return 0;
}

/* Returns the reader's range of the bytes from `at` on, cut at `end`. */
static struct content_range range_at(const struct content_reader *reader, uint64_t at, uint64_t end)
{
	struct content_range range = content_reader_map(reader, at);
	uint64_t skipped = at - range.logical_bytes;

	range.logical_bytes = at;
	range.place_bytes += skipped;
	range.length_bytes -= skipped;
	range.length_bytes = range.length_bytes < end - at ? range.length_bytes : end - at;
	return range;
}

/* Copies a part that the tree calls data, or a hole. In a hole only unwritten extents take room. */
static errcode_t copy_part(struct place *place, unsigned int worker, const struct piece_range *part, int descriptor,
                           bool *is_source, struct problem *problem)
{
	const struct content_reader *reader = place->extraction->workers[worker].loaded.reader;
	uint64_t end = part->start + part->length;
	errcode_t error = 0;

	for (uint64_t at = part->start; !error && at < end;) {
		struct content_range range = range_at(reader, at, end);

		if (range.kind == CONTENT_DATA && !part->is_hole)
			error = copy_data(place, worker, range, descriptor, is_source, problem);
		else if (range.kind == CONTENT_UNWRITTEN &&
		         fallocate(descriptor, FALLOC_FL_KEEP_SIZE, (off_t)at, (off_t)range.length_bytes) < 0 &&
		         errno == ENOSPC)
			error = ENOSPC;
		at += range.length_bytes;
	}
	return error;
}

errcode_t directory_copy(struct place *place, unsigned int worker, uint32_t node, const struct piece *piece,
                         int descriptor, bool *is_source, struct problem *problem)
{
	const struct tree *tree = place->extraction->tree;
	const struct tree_node *file = &tree->nodes[tree->nodes[node].link_to];
	struct loaded *loaded = &place->extraction->workers[worker].loaded;
	errcode_t error = loaded_prepare(loaded);
	struct piece_range part;
	uint64_t at = piece->start;
	uint32_t segment = piece->segment;

	*is_source = false;
	if (error)
		return error;
	error = content_reader_open(loaded->reader, tree->nodes[node].link_to, problem);
	*is_source = error;
	while (!error && piece_range_next(file, &at, piece->stop, &segment, &part))
		error = copy_part(place, worker, &part, descriptor, is_source, problem);
	return error;
}
