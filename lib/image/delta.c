/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image/delta.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "image/block_bitmaps.h"
#include "support/bits.h"
#include "support/io/whole_io.h"
#include "support/run/interrupt.h"
#include "support/vector.h"

/* The part of each image that is in memory at a time. */
#define PIECE_BYTES ((size_t)1 << 20)
/* Shorter runs are read, since asking for holes is another system call. */
#define LEAST_HOLE_BYTES ((size_t)64 << 10)
/* The part of the image after the filesystem that one task reads: about a group. */
#define TAIL_TASK_BYTES (UINT64_C(128) << 20)

/* Block numbers count from the filesystem's beginning. */
struct block_range {
	uint64_t start, count;
};

/* One task's findings. */
struct part {
	uint64_t blocks;                          /* in use */
	uint64_t chunks, first_chunk, last_chunk; /* with blocks in use; the latter two are valid if there are any */
	struct block_range *ranges;               /* owned */
	size_t range_count, range_capacity;
	bool is_doubtful;
};

struct worker {
	uint64_t *bitmap;
	char *newer, *older; /* PIECE_BYTES each */
};

struct comparison {
	const struct volume *volume;
	const struct delta_old *old;
	const struct delta_options *options;
	uint64_t end_bytes; /* of the new image */
	struct worker *workers;
	struct part *parts;
};

errcode_t delta_old_open(const char *path, uint64_t offset_bytes, struct delta_old *old, struct problem *problem)
{
	/* Without O_NONBLOCK, opening a fifo would wait for a writer. */
	SCOPE_CLOSE int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat status;

	*old = (struct delta_old){ .path = path, .descriptor = -1, .offset_bytes = offset_bytes };
	if (descriptor < 0 || fstat(descriptor, &status))
		return problem_set(problem, errno, path, "cannot open");
	if (!S_ISREG(status.st_mode) && !S_ISBLK(status.st_mode))
		return problem_set_reason(problem, EINVAL, path, "cannot compare with it",
		                          "it is neither a regular file nor a block device");
	off_t end = lseek(descriptor, 0, SEEK_END);

	if (end < 0)
		return problem_set(problem, errno, path, "cannot compare with it");
	old->bytes = (uint64_t)end > offset_bytes ? (uint64_t)end - offset_bytes : 0;
	old->descriptor = descriptor;
	descriptor = -1;
	return 0;
}

void delta_old_close(struct delta_old *old)
{
	if (old->descriptor >= 0)
		close(old->descriptor);
	old->descriptor = -1;
}

void delta_free(struct delta *delta)
{
	free(TAKE(delta->ranges));
	delta->range_count = 0;
}

/* --- A run of blocks in use --------------------------------------------------------------------------------------- */

/* Returns where the block ends; the image may end within its last block. */
static uint64_t block_end_bytes(const struct comparison *comparison, uint64_t block)
{
	uint64_t end = (block + 1) << comparison->volume->format.block_bits;

	return end < comparison->end_bytes ? end : comparison->end_bytes;
}

static errcode_t add_range(struct part *part, uint64_t block, uint64_t count)
{
	struct block_range *last = part->range_count ? &part->ranges[part->range_count - 1] : NULL;

	if (last && last->start + last->count == block) {
		last->count += count;
		return 0;
	}
	errcode_t error =
		vector_reserve(&part->ranges, &part->range_capacity, part->range_count + 1, sizeof(*part->ranges));

	if (!error)
		part->ranges[part->range_count++] = (struct block_range){ block, count };
	return error;
}

/* Compares the blocks that are in memory. The older image has `there` bytes of them. */
static errcode_t compare_piece(const struct comparison *comparison, const struct worker *own, struct part *part,
                               uint64_t block, size_t bytes, size_t there)
{
	unsigned int bits = comparison->volume->format.block_bits;
	size_t block_bytes = comparison->volume->format.block_bytes;
	errcode_t error = 0;

	if (there == bytes && memcmp(own->newer, own->older, bytes) == 0)
		return 0;
	for (size_t at = 0; !error && at < bytes; at += block_bytes) {
		size_t count = bytes - at < block_bytes ? bytes - at : block_bytes;

		if (there < at + count || memcmp(own->newer + at, own->older + at, count) != 0)
			error = add_range(part, block + (at >> bits), 1);
	}
	return error;
}

static errcode_t read_newer(const struct comparison *comparison, void *bytes, size_t count, uint64_t start,
                            struct problem *problem)
{
	const struct volume *volume = comparison->volume;
	errcode_t error = whole_read(volume->descriptor, bytes, count, volume->offset_bytes + start);

	return error ? problem_set(problem, error, volume->path, "cannot read") : 0;
}

static errcode_t read_older(const struct comparison *comparison, void *bytes, size_t count, uint64_t start,
                            struct problem *problem)
{
	const struct delta_old *old = comparison->old;
	errcode_t error = whole_read(old->descriptor, bytes, count, old->offset_bytes + start);

	return error ? problem_set(problem, error, old->path, "cannot read") : 0;
}

/* Counts the chunks of a run. The run begins at or after the end of the previous one. */
static void count_chunks(const struct comparison *comparison, struct part *part, uint64_t start, uint64_t end)
{
	uint64_t chunk_bytes = comparison->options->chunk_bytes;

	if (!chunk_bytes)
		return;
	uint64_t first = start / chunk_bytes, last = (end - 1) / chunk_bytes;

	if (part->chunks && first == part->last_chunk)
		first++;
	else if (!part->chunks)
		part->first_chunk = first;
	part->chunks += last + 1 - first;
	part->last_chunk = last;
}

/* Returns the offset of the file's next data, at or after a byte. */
static uint64_t next_data(int descriptor, uint64_t byte)
{
	off_t at = lseek(descriptor, (off_t)byte, SEEK_DATA);

	return at >= 0 ? (uint64_t)at : errno == ENXIO ? UINT64_MAX : byte;
}

/*
 * True if these bytes are holes of both images. Inode tables that nobody has written are a 64th of an empty filesystem.
 */
static bool are_holes(const struct comparison *comparison, uint64_t start, size_t bytes)
{
	uint64_t newer = comparison->volume->offset_bytes + start, older = comparison->old->offset_bytes + start;

	return bytes >= LEAST_HOLE_BYTES && next_data(comparison->volume->descriptor, newer) >= newer + bytes &&
	       next_data(comparison->old->descriptor, older) >= older + bytes;
}

/* Compares blocks [block, end), all of which are in use. */
static errcode_t compare_run(const struct comparison *comparison, const struct worker *own, struct part *part,
                             uint64_t block, uint64_t end, struct problem *problem)
{
	unsigned int bits = comparison->volume->format.block_bits;
	uint64_t start = block << bits, end_bytes = block_end_bytes(comparison, end - 1);
	errcode_t error = 0;

	/* The run lies beyond the device's end: e2frag says that the image is cut off. */
	if (start >= comparison->end_bytes)
		return 0;
	part->blocks += (end_bytes - start + comparison->volume->format.block_bytes - 1) >> bits;
	count_chunks(comparison, part, start, end_bytes);
	for (; !error && start < end_bytes; start += PIECE_BYTES) {
		size_t bytes = end_bytes - start < PIECE_BYTES ? (size_t)(end_bytes - start) : PIECE_BYTES;
		uint64_t left = comparison->old->bytes > start ? comparison->old->bytes - start : 0;
		size_t there = left < bytes ? (size_t)left : bytes;

		if (there == bytes && are_holes(comparison, start, bytes))
			continue;
		error = interrupt_pending() ? EINTR : read_newer(comparison, own->newer, bytes, start, problem);
		if (!error)
			error = read_older(comparison, own->older, there, start, problem);
		if (!error)
			error = compare_piece(comparison, own, part, start >> bits, bytes, there);
	}
	return error;
}

/* --- A group, and what lies after the last one -------------------------------------------------------------------- */

/* Besides the blocks that the bitmap says, the block before the first group's is in use. */
struct group_task {
	const struct comparison *comparison;
	const struct worker *own;
	struct part *part;
	struct problem *problem;
	errcode_t error;
};

static void compare_group(void *context, const struct block_bitmap *bitmap)
{
	struct group_task *task = context;
	const struct geometry *geometry = &task->comparison->volume->geometry;
	uint32_t clusters = geometry_group_clusters(geometry, bitmap->group), from = 0, end;
	bool is_right = bitmap->bits && !bitmap->wrong;

	task->part->is_doubtful = !is_right;
	for (; !task->error && from < clusters; from = end) {
		from = is_right ? bits_next_one(bitmap->bits, from, clusters) : from;
		end = is_right && from < clusters ? bits_next_zero(bitmap->bits, from, clusters) : clusters;
		if (from == clusters)
			break;
		uint64_t block = geometry_block(geometry, bitmap->group, from);

		/* With blocks of 1 KiB, the boot sectors are before the first one. */
		task->error =
			compare_run(task->comparison, task->own, task->part, block == geometry->first_block ? 0 : block,
		                    geometry_block(geometry, bitmap->group, end), task->problem);
	}
}

static errcode_t compare_part(void *context, unsigned int worker, size_t index, struct problem *problem)
{
	const struct comparison *comparison = context;
	const struct volume *volume = comparison->volume;
	struct worker *own = &comparison->workers[worker];
	struct part *part = &comparison->parts[index];

	if (!own->bitmap) {
		own->bitmap = malloc(volume->format.block_bytes);
		own->newer = malloc(PIECE_BYTES);
		own->older = malloc(PIECE_BYTES);
	}
	if (!own->bitmap || !own->newer || !own->older)
		return ENOMEM;
	if (index < volume->geometry.groups) {
		struct group_task task = { comparison, own, part, problem, 0 };

		block_bitmaps_read(volume, (uint32_t)index, (uint32_t)index + 1, own->bitmap, compare_group, &task);
		return task.error;
	}
	uint64_t each = TAIL_TASK_BYTES >> volume->format.block_bits;
	uint64_t block = volume->geometry.end_block + (index - volume->geometry.groups) * each;
	uint64_t end = (comparison->end_bytes + volume->format.block_bytes - 1) >> volume->format.block_bits;

	return compare_run(comparison, own, part, block, block + each < end ? block + each : end, problem);
}

/* --- The sum ------------------------------------------------------------------------------------------------------ */

static errcode_t join_ranges(const struct comparison *comparison, size_t parts, struct delta *delta)
{
	unsigned int bits = comparison->volume->format.block_bits;
	size_t count = 0;

	for (size_t number = 0; number < parts; number++)
		count += comparison->parts[number].range_count;
	delta->ranges = count ? malloc(count * sizeof(*delta->ranges)) : NULL;
	if (count && !delta->ranges)
		return ENOMEM;
	for (size_t number = 0; number < parts; number++) {
		const struct part *part = &comparison->parts[number];

		for (size_t n = 0; n < part->range_count; n++) {
			uint64_t start = part->ranges[n].start << bits;
			uint64_t end = block_end_bytes(comparison, part->ranges[n].start + part->ranges[n].count - 1);
			struct delta_range *last = delta->range_count ? &delta->ranges[delta->range_count - 1] : NULL;

			delta->differing_blocks += part->ranges[n].count;
			delta->differing_bytes += end - start;
			if (last && last->start_bytes + last->bytes == start)
				last->bytes += end - start;
			else
				delta->ranges[delta->range_count++] = (struct delta_range){ start, end - start };
		}
	}
	return 0;
}

/* Adds the parts' counts. A chunk that neighbouring parts share counts once. */
static void join_counts(const struct comparison *comparison, size_t parts, struct delta *delta)
{
	const struct part *last = NULL;

	for (size_t number = 0; number < parts; number++) {
		const struct part *part = &comparison->parts[number];

		delta->blocks += part->blocks;
		delta->doubtful_groups += part->is_doubtful;
		if (!part->chunks)
			continue;
		delta->chunks += part->chunks - (last && last->last_chunk == part->first_chunk);
		last = part;
	}
}

static void count_differing_chunks(struct delta *delta)
{
	uint64_t next = 0;

	for (size_t n = 0; delta->chunk_bytes && n < delta->range_count; n++) {
		const struct delta_range *range = &delta->ranges[n];
		uint64_t first = range->start_bytes / delta->chunk_bytes;
		uint64_t end = (range->start_bytes + range->bytes - 1) / delta->chunk_bytes + 1;

		first = first > next ? first : next;
		if (first >= end)
			continue;
		uint64_t end_bytes = end * delta->chunk_bytes;

		delta->differing_chunks += end - first;
		delta->differing_chunk_bytes +=
			(end_bytes < delta->image_bytes ? end_bytes : delta->image_bytes) - first * delta->chunk_bytes;
		next = end;
	}
}

static uint64_t find_end(const struct volume *volume, const struct delta_options *options)
{
	off_t end = lseek(volume->descriptor, 0, SEEK_END);
	uint64_t filesystem = volume->geometry.end_block << volume->format.block_bits;
	uint64_t file = end > 0 && (uint64_t)end > volume->offset_bytes ? (uint64_t)end - volume->offset_bytes : 0;

	return options->has_tail || file < filesystem ? file : filesystem;
}

errcode_t delta_read(const struct volume *volume, const struct delta_old *old, const struct delta_options *options,
                     struct pool *pool, struct delta *delta, struct problem *problem)
{
	unsigned int workers = pool_workers(pool);
	struct comparison comparison = { volume, old, options, .end_bytes = find_end(volume, options) };
	uint64_t filesystem_bytes = volume->geometry.end_block << volume->format.block_bits;
	uint64_t tail_bytes = comparison.end_bytes > filesystem_bytes ? comparison.end_bytes - filesystem_bytes : 0;
	size_t parts = volume->geometry.groups + (size_t)((tail_bytes + TAIL_TASK_BYTES - 1) / TAIL_TASK_BYTES);

	*delta = (struct delta){ .old_path = old->path,
		                 .block_bytes = volume->format.block_bytes,
		                 .image_bytes = comparison.end_bytes,
		                 .chunk_bytes = options->chunk_bytes };
	comparison.workers = calloc(workers, sizeof(*comparison.workers));
	comparison.parts = calloc(parts, sizeof(*comparison.parts));
	errcode_t error = comparison.workers && comparison.parts ?
	                          pool_run(pool, parts, compare_part, &comparison, problem) :
	                          ENOMEM;

	if (!error)
		error = join_ranges(&comparison, parts, delta);
	if (!error) {
		join_counts(&comparison, parts, delta);
		count_differing_chunks(delta);
	}
	for (unsigned int worker = 0; comparison.workers && worker < workers; worker++) {
		free(comparison.workers[worker].bitmap);
		free(comparison.workers[worker].newer);
		free(comparison.workers[worker].older);
	}
	for (size_t number = 0; comparison.parts && number < parts; number++)
		free(comparison.parts[number].ranges);
	free(comparison.workers);
	free(comparison.parts);
	return error ? problem_set(problem, error, volume->path, "cannot compare it with an older image") : 0;
}
