/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "update/apply/copying.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "contents/protect.h"
#include "image/run_writer.h"
#include "support/run/interrupt.h"
#include "support/vector.h"
#include "unpack/spool_directory.h"

/*
 * The limits are those of populate/data/copy.c: larger files are cut into slices, and a job of small files has this
 * much data.
 */
#define SLICE_BYTES (8u << 20)
#define JOB_BYTES (2u << 20)
#define FILE_COST_BYTES 2048u

/* A job has the inodes first .. end-1 of the batch, or one slice of inode `first`. */
struct copy_job {
	uint32_t first, end;
	uint32_t slice; /* valid if end == first */
};

struct copy_worker {
	struct content_reader *reader;
	struct run_writer writer;
	struct protect_worker protect;
};

struct copying {
	struct applying *applying;
	char *directory; /* for hash trees that are too large for memory */
	struct copy_job *jobs;
	size_t job_count, job_capacity;
	struct copy_worker *workers;
};

static const struct tree_node *node_of(const struct applying *applying, const struct placed_inode *placed)
{
	return &applying->plan->tree->nodes[placed->node];
}

/* Copies at most RUN_WRITER_BYTES of blocks, with zeros after the end of the file. */
static errcode_t copy_blocks(struct applying *applying, struct copy_worker *own, const struct placed_inode *placed,
                             const struct file_extent *blocks, struct problem *problem)
{
	uint64_t offset = (uint64_t)blocks->logical << applying->format->block_bits;
	size_t space = (size_t)blocks->count << applying->format->block_bits;
	uint64_t left = node_of(applying, placed)->size_bytes - offset;
	size_t data_bytes = left < space ? (size_t)left : space;
	void *bytes;
	errcode_t error = run_writer_reserve(&own->writer, blocks->physical, blocks->count, &bytes);

	if (error)
		return problem_set(problem, error, applying->options->image, "cannot write");
	error = content_reader_read(own->reader, bytes, data_bytes, offset, problem);
	if (error)
		return error;
	protect_hash(&own->protect, bytes, data_bytes, offset);
	content_reader_release(own->reader, offset, data_bytes);
	memset((char *)bytes + data_bytes, 0, space - data_bytes);
	progress_add(applying->options->progress, data_bytes, 0);
	return 0;
}

/* Copies the blocks of an extent that lie in [first, end), in pieces. */
static errcode_t copy_extent(struct applying *applying, struct copy_worker *own, const struct placed_inode *placed,
                             const struct file_extent *extent, uint64_t first, uint64_t end, struct problem *problem)
{
	const uint32_t most = RUN_WRITER_BYTES >> applying->format->block_bits;
	uint64_t from = extent->logical > first ? extent->logical : first;
	uint64_t to = (uint64_t)extent->logical + extent->count;
	errcode_t error = 0;

	to = to < end ? to : end;
	while (!error && from < to) {
		const struct file_extent piece = {
			.logical = (uint32_t)from,
			.physical = extent->physical + (from - extent->logical),
			.count = to - from < most ? (uint32_t)(to - from) : most,
		};

		error = copy_blocks(applying, own, placed, &piece, problem);
		from += piece.count;
	}
	return error;
}

static errcode_t begin_hashing(const struct copying *copying, struct copy_worker *own,
                               const struct placed_inode *placed, bool is_slice, struct problem *problem)
{
	errcode_t error = protect_begin(&copying->applying->plan->protection, &own->protect, placed->node, is_slice,
	                                copying->directory);

	return error ? problem_set(problem, error, copying->directory, "cannot keep hashes for fs-verity") : 0;
}

/* If slice is SIZE_MAX, copies the whole file. */
static errcode_t copy_file(const struct copying *copying, struct copy_worker *own, struct placed_inode *placed,
                           size_t slice, struct problem *problem)
{
	struct applying *applying = copying->applying;
	uint64_t slice_blocks = SLICE_BYTES >> applying->format->block_bits;
	uint64_t first = slice == SIZE_MAX ? 0 : slice * slice_blocks;
	const struct tree_node *node = node_of(applying, placed);
	/* After the data there may be hashes. */
	uint64_t end = (node->size_bytes + applying->format->block_bytes - 1) >> applying->format->block_bits;
	errcode_t error = content_reader_open(own->reader, placed->node, problem);

	if (error)
		return error;
	if (slice != SIZE_MAX && end > first + slice_blocks)
		end = first + slice_blocks;
	/* Slices are copied at the same time, so only the first one sets the flags. */
	if (!node->has_flags && (slice == SIZE_MAX || !slice))
		placed->flags = content_reader_flags(own->reader);
	if (placed->inline_data)
		return content_reader_read(own->reader, placed->inline_data, placed->inline_bytes, 0, problem);
	error = begin_hashing(copying, own, placed, slice != SIZE_MAX, problem);
	for (size_t i = placed->extents.final; !error && i < placed->extents.count; i++)
		if (placed->extents.extents[i].logical < end)
			error = copy_extent(applying, own, placed, &placed->extents.extents[i], first, end, problem);
	if (error)
		return error;
	return protect_end(&applying->plan->protection, &own->protect, placed->extents.extents,
	                   (uint32_t)placed->extents.count, &own->writer, problem);
}

/* True if the inode has contents that the batch writes. */
static bool is_copied(const struct applying *applying, const struct placed_inode *placed)
{
	return S_ISREG(node_of(applying, placed)->mode) && placed->action->verb != UPDATE_METADATA;
}

static bool is_large(const struct applying *applying, const struct placed_inode *placed)
{
	return node_of(applying, placed)->size_bytes > SLICE_BYTES;
}

static errcode_t run_job(void *context, unsigned int worker, size_t index, struct problem *problem)
{
	const struct copying *copying = context;
	struct applying *applying = copying->applying;
	const struct copy_job *job = &copying->jobs[index];
	struct copy_worker *own = &copying->workers[worker];
	errcode_t error = interrupt_pending() ? EINTR : 0;

	if (!error && job->end == job->first)
		error = copy_file(copying, own, &applying->placed[job->first], job->slice, problem);
	for (uint32_t i = job->first; !error && i < job->end; i++) {
		struct placed_inode *placed = &applying->placed[i];

		if (is_copied(applying, placed) && !is_large(applying, placed))
			error = copy_file(copying, own, placed, SIZE_MAX, problem);
	}
	if (error)
		return error;
	error = run_writer_flush(&own->writer);
	return error ? problem_set(problem, error, applying->options->image, "cannot write") : 0;
}

/* Neither holes nor parts that have been written before count. */
static uint64_t written_bytes(const struct applying *applying, const struct placed_inode *placed)
{
	uint64_t bytes = placed->inline_bytes, size = node_of(applying, placed)->size_bytes;

	for (size_t i = placed->extents.final; i < placed->extents.count; i++)
		bytes += (uint64_t)placed->extents.extents[i].count << applying->format->block_bits;
	return bytes < size ? bytes : size;
}

static errcode_t add_job(struct copying *copying, struct copy_job job)
{
	errcode_t error =
		vector_reserve(&copying->jobs, &copying->job_capacity, copying->job_count + 1, sizeof(*copying->jobs));

	if (!error)
		copying->jobs[copying->job_count++] = job;
	return error;
}

static uint64_t slice_count(const struct applying *applying, const struct placed_inode *placed)
{
	return (node_of(applying, placed)->size_bytes + SLICE_BYTES - 1) / SLICE_BYTES;
}

/* Lists large files first, since all workers would wait for a large file that begins last. */
static errcode_t list_slices(struct copying *copying)
{
	struct applying *applying = copying->applying;
	errcode_t error = 0;

	for (uint32_t i = 0; i < applying->placed_count; i++) {
		uint64_t slices = slice_count(applying, &applying->placed[i]);

		if (!is_copied(applying, &applying->placed[i]) || !is_large(applying, &applying->placed[i]))
			continue;
		for (uint32_t slice = 0; !error && slice < slices; slice++)
			error = add_job(copying, (struct copy_job){ i, i, slice });
	}
	return error;
}

/* Notes how many slices protected files are copied in (0: as a whole): their hashes are written after the last one. */
static void note_slices(struct applying *applying)
{
	const struct protection *protection = &applying->plan->protection;

	for (size_t i = 0; protection->count && i < applying->placed_count; i++) {
		const struct placed_inode *placed = &applying->placed[i];
		uint64_t slices = is_large(applying, placed) ? slice_count(applying, placed) : 0;
		struct protected_file *file = protection_find(protection, placed->node);

		if (file && is_copied(applying, placed))
			atomic_init(&file->pending_slices, (unsigned int)slices);
	}
}

static errcode_t list_jobs(struct copying *copying)
{
	struct applying *applying = copying->applying;
	errcode_t error = list_slices(copying);
	uint64_t cost_bytes = 0;
	uint32_t first = 0;

	note_slices(applying);
	for (uint32_t i = 0; !error && i < applying->placed_count; i++) {
		const struct tree_node *node = node_of(applying, &applying->placed[i]);

		if (!is_copied(applying, &applying->placed[i]))
			continue;
		applying->report->data_bytes += written_bytes(applying, &applying->placed[i]);
		cost_bytes += is_large(applying, &applying->placed[i]) ? 0 : node->size_bytes + FILE_COST_BYTES;
		if (cost_bytes < JOB_BYTES)
			continue;
		error = add_job(copying, (struct copy_job){ .first = first, .end = i + 1 });
		first = i + 1;
		cost_bytes = 0;
	}
	if (!error && cost_bytes)
		error = add_job(copying, (struct copy_job){ .first = first, .end = (uint32_t)applying->placed_count });
	return error;
}

static errcode_t open_workers(struct copying *copying)
{
	struct applying *applying = copying->applying;
	unsigned int count = pool_workers(applying->pool);
	errcode_t error = 0;

	copying->workers = calloc(count, sizeof(*copying->workers));
	if (!copying->workers)
		return ENOMEM;
	for (unsigned int worker = 0; !error && worker < count; worker++) {
		copying->workers[worker].writer = run_writer_create(applying_sink(applying));
		error = content_reader_create(applying->plan->tree, &copying->workers[worker].reader);
	}
	return error;
}

static void close_workers(const struct copying *copying)
{
	for (unsigned int worker = 0; copying->workers && worker < pool_workers(copying->applying->pool); worker++) {
		content_reader_destroy(copying->workers[worker].reader);
		protect_worker_free(&copying->workers[worker].protect);
		run_writer_free(&copying->workers[worker].writer);
	}
	free(copying->workers);
}

errcode_t copy_contents(struct applying *applying)
{
	bool has_protected = applying->plan->protection.count;
	SCOPE_FREE char *directory = has_protected ? spool_directory(applying->options->image) : NULL;
	struct copying copying = { .applying = applying, .directory = directory };
	errcode_t error = has_protected && !directory ? ENOMEM : list_jobs(&copying);

	if (!error && copying.job_count)
		error = open_workers(&copying);
	if (!error && copying.job_count)
		error = pool_run(applying->pool, copying.job_count, run_job, &copying, applying->problem);
	if (!error && copying.job_count)
		error = contents_check(applying->plan->tree, applying->problem);
	if (error && has_protected)
		protect_release(&applying->plan->protection);
	close_workers(&copying);
	free(copying.jobs);
	return error ? problem_set(applying->problem, error, applying->options->image, "cannot copy the files") : 0;
}
