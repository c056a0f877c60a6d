/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/loaded.h"

#include <errno.h>
#include <nettle/sha2.h>
#include <stdio.h>

#include "support/run/interrupt.h"
#include "support/seconds.h"
#include "support/text/units.h"
#include "support/vector.h"

#define DIGEST_READ_BYTES ((size_t)256 << 10)
#define HOLE_PIECES 256 /* between two looks at the clock */

static const uint8_t zeros[64 << 10];

bool loaded_error_is_of_file(errcode_t error)
{
	return error && error != ENOMEM && error != EINTR && error != EMFILE && error != ENFILE;
}

static errcode_t read_range(struct loaded *loaded, uint8_t *bytes, uint64_t start, uint64_t count,
                            struct problem *problem)
{
	errcode_t error = content_reader_read(loaded->reader, bytes, (size_t)count, start, problem);

	if (!error)
		content_reader_release(loaded->reader, start, (size_t)count);
	return error;
}

static errcode_t read_data(struct loaded *loaded, const struct tree_node *node, uint64_t start, uint64_t stop,
                           uint32_t segment, size_t at, struct problem *problem)
{
	struct piece_range range;
	errcode_t error = 0;

	while (!error && piece_range_next(node, &start, stop, &segment, &range)) {
		if (range.is_hole)
			continue;
		error = read_range(loaded, loaded->bytes + at, range.start, range.length, problem);
		at += range.length;
	}
	return error;
}

static errcode_t refuse_holes(const struct loaded *loaded, uint32_t first, const char *limit, struct problem *problem)
{
	const struct tree *tree = loaded->selection->tree;
	SCOPE_FREE char *path = tree_path(tree, first);

	return problem_set_reason(problem, EDQUOT, path, "cannot take its digest",
	                          "those of holes take more than %s (--limit=unpacked=SIZE allows more)", limit);
}

/*
 * Zeros are hashed as slowly as data are, and an image of a megabyte can have a hole of 16 TiB. Counted before any of
 * it is hashed; what is left out does not count.
 */
static errcode_t count_holes(const struct loaded *loaded, uint32_t first, struct problem *problem)
{
	const struct tree_node *node = &loaded->selection->tree->nodes[first];
	struct source_counts *counts = loaded->options->counts;
	const uint64_t bytes = node->size_bytes - selection_data_bytes(node);

	if (!bytes || !source_counts_unpacked(counts, bytes))
		return 0;
	atomic_fetch_sub_explicit(&counts->unpacked_bytes, bytes, memory_order_relaxed);
	return refuse_holes(loaded, first, units_bytes(counts->limits.unpacked_bytes).text, problem);
}

/* Adds to what all workers have spent. */
static void count_seconds(const struct loaded *loaded, double spent)
{
	double before, after;

	__atomic_load(loaded->hole_seconds, &before, __ATOMIC_RELAXED);
	do
		after = before + spent;
	while (!__atomic_compare_exchange(loaded->hole_seconds, &before, &after, true, __ATOMIC_RELAXED,
	                                  __ATOMIC_RELAXED));
}

/* Ends with EDQUOT once all workers together have taken longer than they may: a short hole, too, as there can be many.
 */
static errcode_t digest_hole(struct loaded *loaded, uint32_t first, struct sha256_ctx *context, uint64_t bytes,
                             struct problem *problem)
{
	const unsigned int most = loaded->options->hole_seconds;

	while (bytes) {
		const double begin = seconds_of(CLOCK_THREAD_CPUTIME_ID);
		double spent;

		__atomic_load(loaded->hole_seconds, &spent, __ATOMIC_RELAXED);
		if (most && spent > most) {
			char limit[32];

			snprintf(limit, sizeof(limit), "%u seconds", most);
			return refuse_holes(loaded, first, limit, problem);
		}
		for (unsigned int n = 0; bytes && n < HOLE_PIECES; n++) {
			const size_t count = bytes < sizeof(zeros) ? (size_t)bytes : sizeof(zeros);

			sha256_update(context, count, zeros);
			bytes -= count;
		}
		if (interrupt_pending())
			return EINTR;
		count_seconds(loaded, seconds_of(CLOCK_THREAD_CPUTIME_ID) - begin);
	}
	return 0;
}

static errcode_t digest_data(struct loaded *loaded, struct sha256_ctx *context, const struct piece_range *range,
                             struct problem *problem)
{
	for (uint64_t done = 0, count; done < range->length; done += count) {
		count = range->length - done < DIGEST_READ_BYTES ? range->length - done : DIGEST_READ_BYTES;
		errcode_t error = read_range(loaded, loaded->bytes, range->start + done, count, problem);

		if (!error && interrupt_pending())
			error = EINTR;
		if (error)
			return error;
		sha256_update(context, count, loaded->bytes);
	}
	return 0;
}

static errcode_t digest_file(struct loaded *loaded, uint32_t first, struct loaded_file *file)
{
	const struct tree_node *node = &loaded->selection->tree->nodes[first];
	struct sha256_ctx context;
	struct piece_range range;
	uint64_t at = 0;
	uint32_t segment = 0;
	errcode_t error = count_holes(loaded, first, &file->problem);

	sha256_init(&context);
	while (!error && piece_range_next(node, &at, node->size_bytes, &segment, &range))
		error = range.is_hole ? digest_hole(loaded, first, &context, range.length, &file->problem) :
		                        digest_data(loaded, &context, &range, &file->problem);
	sha256_digest(&context, sizeof(file->digest), file->digest);
	return error;
}

static uint64_t part_data_bytes(const struct tree_node *node, const struct piece *piece)
{
	uint64_t at = piece->start, bytes = 0;
	uint32_t segment = piece->segment;
	struct piece_range range;

	while (piece_range_next(node, &at, piece->stop, &segment, &range))
		bytes += range.is_hole ? 0 : range.length;
	return bytes;
}

static errcode_t load_file(struct loaded *loaded, uint32_t number, bool with_digests, struct problem *problem)
{
	const struct tree *tree = loaded->selection->tree;
	const struct piece *piece = &loaded->piece;
	uint32_t first = tree->nodes[number].link_to;
	const struct tree_node *node = &tree->nodes[first];
	errcode_t error = vector_reserve(&loaded->files, &loaded->capacity, loaded->count + 1, sizeof(*loaded->files));

	if (error)
		return error;
	struct loaded_file *file = &loaded->files[loaded->count++];

	*file = (struct loaded_file){ .node = number, .at = with_digests ? 0 : loaded->data_bytes };
	if (selection_data_bytes(node))
		error = content_reader_open(loaded->reader, first, &file->problem);
	if (!error && with_digests)
		error = digest_file(loaded, first, file);
	else if (!error && piece->is_part)
		error = read_data(loaded, node, piece->start, piece->stop, piece->segment, file->at, &file->problem);
	else if (!error)
		error = read_data(loaded, node, 0, node->size_bytes, 0, file->at, &file->problem);
	loaded->data_bytes += piece->is_part ? part_data_bytes(node, piece) : selection_data_bytes(node);
	file->error = error;
	if (!error || loaded_error_is_of_file(error))
		return 0;
	problem_move(problem, &file->problem);
	return error;
}

errcode_t loaded_prepare(struct loaded *loaded)
{
	errcode_t error = 0;

	if (!loaded->reader)
		error = content_reader_create(loaded->selection->tree, &loaded->reader);
	if (!error && !loaded->bytes) {
		loaded->bytes = malloc(PIECE_DATA_BYTES);
		error = loaded->bytes ? 0 : ENOMEM;
	}
	return error;
}

static void forget_files(struct loaded *loaded)
{
	for (size_t i = 0; i < loaded->count; i++)
		problem_clear(&loaded->files[i].problem);
	loaded->count = 0;
	loaded->data_bytes = 0;
}

errcode_t loaded_read(struct loaded *loaded, const struct piece *piece, bool with_digests, struct problem *problem)
{
	errcode_t error = loaded_prepare(loaded);

	forget_files(loaded);
	loaded->piece = *piece;
	for (uint32_t node = piece->first; !error && node < piece->end; node++)
		if (piece_has_contents(loaded->selection, node))
			error = load_file(loaded, node, with_digests, problem);
	return error;
}

const struct loaded_file *loaded_find(const struct loaded *loaded, uint32_t node)
{
	size_t low = 0, high = loaded->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (loaded->files[middle].node == node)
			return &loaded->files[middle];
		if (loaded->files[middle].node < node)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

void loaded_free(struct loaded *loaded)
{
	forget_files(loaded);
	content_reader_destroy(loaded->reader);
	free(loaded->files);
	free(loaded->bytes);
	*loaded = (struct loaded){ 0 };
}
