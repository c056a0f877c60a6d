/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "populate/data/copy.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "image/run_writer.h"
#include "populate/data/block_sharing.h"
#include "populate/data/content_runs.h"
#include "contents/protect.h"
#include "populate/metadata/flags.h"
#include "contents/protection.h"
#include "unpack/spool_directory.h"
#include "tree/contents.h"
#include "support/bisect.h"
#include "support/vector.h"
#include "support/run/interrupt.h"

/* Larger files are cut into slices of this size, which is a multiple of every cluster size that a buffer holds. */
#define SLICE_BYTES (8u << 20)
/* A job of small files ends when it has this much data. */
#define JOB_BYTES (2u << 20)
/* Readers of a slow source get this many jobs each, of at least this size. */
#define SLOW_JOBS_EACH 16
#define LEAST_JOB_BYTES (4u << 10)
/* A file's cost beside its data, so that a job of many tiny files ends as well. */
#define FILE_COST_BYTES 2048u

/* A job has the files of places first .. end-1 in the order of contents, or one slice of node `first`. */
struct copy_job {
	uint32_t first, end;
	uint32_t slice; /* valid if end == first */
	bool is_last;   /* the file's last slice */
};

/* State of each worker. */
struct copy_worker {
	struct content_reader *reader;
	struct run_writer writer;
	struct block_sharing sharing;
	struct protect_worker protect;
	struct zero_runs zeros;
	bool finds_zeros; /* of the file that is being copied */
	bool reads_last;  /* contents are not read again after this */
};

struct job_list {
	struct copy_job *jobs;
	size_t count, capacity;
};

/* The jobs of one part of the nodes. */
struct cut {
	struct job_list slices, others;
	uint64_t files;
};

struct copying {
	const struct plan *plan;
	const struct workplace *work;
	struct image_file *file;
	const char *directory; /* for temporary files */
	uint64_t job_bytes;
	struct content_runs runs; /* these are moved before everything else */
	struct cut *cuts;
	struct job_list list;
	uint64_t files;
	struct copy_worker *workers;
};

/* Files are copied in the order in which they are placed, so that writes can be gathered. */
static uint32_t place_count(const struct plan *plan)
{
	return plan->content_order ? plan->content_count : plan->source->tree->node_count;
}

static uint32_t node_at(const struct plan *plan, uint32_t place)
{
	return plan->content_order ? plan->content_order[place] : place;
}

static bool has_content(const struct copying *copying, uint32_t node)
{
	const struct plan *plan = copying->plan;

	return S_ISREG(plan_node(plan, node)->mode) && plan->placements[node].blocks &&
	       !tree_node_is_link(plan->source->tree, node) &&
	       !(copying->runs.has_node && copying->runs.has_node[node]);
}

/* Reads at most RUN_WRITER_BYTES of blocks into the worker's next write, with zeros after the end of the file. */
static errcode_t copy_blocks(const struct plan *plan, struct copy_worker *own, uint32_t node,
                             const struct file_extent *blocks, struct problem *problem)
{
	const struct ondisk_format *format = &plan->format;
	uint64_t offset = (uint64_t)blocks->logical << format->block_bits;
	size_t space = (size_t)blocks->count << format->block_bits;
	uint64_t left = tree_stored_bytes(plan->source->tree, plan_node(plan, node)) - offset;
	size_t data_bytes = left < space ? (size_t)left : space;
	void *bytes;

	errcode_t error = run_writer_reserve(&own->writer, blocks->physical, blocks->count, &bytes);
	if (error)
		return problem_set(problem, error, plan->options->image, "cannot write");
	error = content_reader_read(own->reader, bytes, data_bytes, offset, problem);
	if (error)
		return error;
	protect_hash(&own->protect, bytes, data_bytes, offset);
	if (own->reads_last)
		content_reader_release(own->reader, offset, data_bytes);
	memset((char *)bytes + data_bytes, 0, space - data_bytes);
	/*
	 * Only whole clusters can become holes, and these blocks may be less than one cluster.
	 */
	if (own->finds_zeros && format->block_bytes << format->cluster_bits <= RUN_WRITER_BYTES)
		error = zero_runs_find(format, node, blocks->logical, bytes, data_bytes, &own->zeros);
	if (error)
		return problem_set(problem, error, NULL, "cannot note zeros");
	progress_add(plan->options->progress, data_bytes, 0);
	return 0;
}

/* Copies any number of blocks as copy_blocks() does. */
static errcode_t copy_pieces(const struct plan *plan, struct copy_worker *own, uint32_t node,
                             const struct file_extent *blocks, struct problem *problem)
{
	const uint32_t most = RUN_WRITER_BYTES >> plan->format.block_bits;

	for (uint32_t done = 0; done < blocks->count;) {
		const struct file_extent piece = {
			.logical = blocks->logical + done,
			.physical = blocks->physical + done,
			.count = blocks->count - done < most ? blocks->count - done : most,
		};
		errcode_t error = copy_blocks(plan, own, node, &piece, problem);

		if (error)
			return error;
		done += piece.count;
	}
	return 0;
}

/* Blocks that the image shares with the source are read only for their hashes. */
static errcode_t hash_moved(const struct plan *plan, struct copy_worker *own, uint32_t node,
                            const struct file_extent *moved, struct problem *problem)
{
	uint64_t start = (uint64_t)moved->logical << plan->format.block_bits;
	uint64_t bytes = (uint64_t)moved->count << plan->format.block_bits;
	uint64_t left = plan_node(plan, node)->size_bytes - start;

	return protect_read(&own->protect, own->reader, start, bytes < left ? bytes : left, problem);
}

/* Shares the blocks that can be shared, and copies the others before and after them. */
static errcode_t copy_run(const struct plan *plan, struct copy_worker *own, uint32_t node,
                          const struct file_extent *blocks, struct problem *problem)
{
	struct file_extent moved;
	errcode_t error = block_sharing_move(&own->sharing, own->reader, node, blocks, &moved, problem);

	if (error)
		return error;
	if (!moved.count)
		return copy_pieces(plan, own, node, blocks, problem);
	const uint32_t before = moved.logical - blocks->logical, until = before + moved.count;
	const struct file_extent head = { .logical = blocks->logical, .physical = blocks->physical, .count = before };
	const struct file_extent tail = {
		.logical = blocks->logical + until,
		.physical = blocks->physical + until,
		.count = blocks->count - until,
	};

	error = hash_moved(plan, own, node, &moved, problem);
	if (error)
		return error;
	progress_add(plan->options->progress, (uint64_t)moved.count << plan->format.block_bits, 0);
	error = copy_pieces(plan, own, node, &head, problem);
	return error ? error : copy_pieces(plan, own, node, &tail, problem);
}

/* Copies blocks [first, end) of the reader's file. */
static errcode_t copy_range(const struct plan *plan, struct copy_worker *own, uint32_t node, uint64_t first,
                            uint64_t end, struct problem *problem)
{
	struct file_extent single;
	uint32_t count;
	const struct file_extent *extents = placement_extents(&plan->placements[node], &single, &count);

	/* A linear search would go through all extents of a fragmented file for each of its slices. */
	size_t number =
		BISECT(count, index, (uint64_t)extents[index].logical + file_extent_blocks(&extents[index]) > first);

	for (; number < count && extents[number].logical < end; number++) {
		const struct file_extent *extent = &extents[number];
		uint64_t from = extent->logical > first ? extent->logical : first;
		uint64_t to = (uint64_t)extent->logical + file_extent_blocks(extent);

		if (file_extent_is_unwritten(extent))
			continue;
		to = to < end ? to : end;
		const struct file_extent blocks = {
			.logical = (uint32_t)from,
			.physical = extent->physical + (from - extent->logical),
			.count = (uint32_t)(to - from),
		};
		errcode_t error = copy_run(plan, own, node, &blocks, problem);

		if (error)
			return error;
	}
	return 0;
}

/* Returns the number of the file's blocks without those that fs-verity adds. */
static uint64_t data_blocks(const struct plan *plan, uint32_t node)
{
	return (plan_node(plan, node)->size_bytes + plan->format.block_bytes - 1) >> plan->format.block_bits;
}

/* Copies blocks [first, end) of a file. is_slice: other workers may copy other slices of it. */
static errcode_t copy_one(const struct copying *copying, struct copy_worker *own, uint32_t node, uint64_t first,
                          uint64_t end, bool is_slice, struct problem *problem)
{
	const struct plan *plan = copying->plan;
	uint64_t most = data_blocks(plan, node);
	errcode_t error = content_reader_open(own->reader, node, problem);

	if (error)
		return error;
	/* Zeros in ciphertext are not zeros of the file. */
	own->finds_zeros = !plan->options->zeros_of_source && !plan_node(plan, node)->is_encrypted;
	if (own->finds_zeros)
		error = zeros_may_be_holes(&plan->source->zeros, own->reader, node, &own->finds_zeros, problem);
	if (error)
		return error;
	/* Slices of a large file are copied at the same time, so they must not write to its placement. */
	if (!is_slice && flags_are_missing(plan, node))
		flags_note(plan, node, content_reader_flags(own->reader));
	error = protect_begin(&plan->protection, &own->protect, node, is_slice, copying->directory);
	if (error)
		return problem_set(problem, error, copying->directory, "cannot keep hashes for fs-verity");
	error = copy_range(plan, own, node, first, end < most ? end : most, problem);
	if (error)
		return error;
	struct file_extent single;
	uint32_t count;
	const struct file_extent *extents = placement_extents(&plan->placements[node], &single, &count);

	return protect_end(&plan->protection, &own->protect, extents, count, &own->writer, problem);
}

static errcode_t copy_files_of_job(const struct copying *copying, struct copy_worker *own, const struct copy_job *job,
                                   struct problem *problem)
{
	const struct plan *plan = copying->plan;
	uint64_t files = 0;

	for (uint32_t place = job->first; place < job->end; place++) {
		uint32_t node = node_at(plan, place);

		/* Large files have jobs of their own. */
		if (!has_content(copying, node) || plan_node(plan, node)->size_bytes > SLICE_BYTES)
			continue;
		errcode_t error = copy_one(copying, own, node, 0, UINT64_MAX, false, problem);

		if (error)
			return error;
		files++;
	}
	progress_add(plan->options->progress, 0, files);
	return 0;
}

static errcode_t copy_slice(const struct copying *copying, struct copy_worker *own, const struct copy_job *job,
                            struct problem *problem)
{
	const struct plan *plan = copying->plan;
	uint64_t slice_blocks = SLICE_BYTES >> plan->format.block_bits;
	uint64_t first = job->slice * slice_blocks;

	errcode_t error = copy_one(copying, own, job->first, first, first + slice_blocks, true, problem);

	if (!error)
		progress_add(plan->options->progress, 0, job->is_last);
	return error;
}

static errcode_t run_job(void *context, unsigned int worker, size_t index, struct problem *problem)
{
	const struct copying *copying = context;
	const struct copy_job *job = &copying->list.jobs[index];
	struct copy_worker *own = &copying->workers[worker];
	errcode_t error;

	if (interrupt_pending())
		return EINTR;
	if (job->end == job->first)
		error = copy_slice(copying, own, job, problem);
	else
		error = copy_files_of_job(copying, own, job, problem);
	if (error)
		return error;
	error = run_writer_flush(&own->writer);
	return error ? problem_set(problem, error, copying->plan->options->image, "cannot write") : 0;
}

static errcode_t add_job(struct job_list *list, struct copy_job job)
{
	errcode_t error = vector_reserve(&list->jobs, &list->capacity, list->count + 1, sizeof(*list->jobs));

	if (!error)
		list->jobs[list->count++] = job;
	return error;
}

/* Adds only slices with data: a file of 15 TiB with a single block would be opened two million times for the others. */
static errcode_t add_slices(const struct plan *plan, uint32_t node, struct job_list *list)
{
	const uint32_t slice_blocks = SLICE_BYTES >> plan->format.block_bits;
	struct file_extent single;
	uint32_t count, next = 0;
	const struct file_extent *extents = placement_extents(&plan->placements[node], &single, &count);
	uint64_t most = data_blocks(plan, node);
	size_t before = list->count;
	errcode_t error = 0;

	for (uint32_t number = 0; !error && number < count && extents[number].logical < most; number++) {
		uint64_t end = (uint64_t)extents[number].logical + file_extent_blocks(&extents[number]);
		uint32_t slice = extents[number].logical / slice_blocks;
		uint32_t last = (uint32_t)(((end < most ? end : most) - 1) / slice_blocks);

		if (file_extent_is_unwritten(&extents[number]))
			continue;
		for (slice = slice > next ? slice : next; !error && slice <= last; slice++)
			error = add_job(list, (struct copy_job){ .first = node, .end = node, .slice = slice });
		next = last + 1;
	}
	/* A file that is one hole has hashes, too. */
	if (!error && list->count == before)
		error = add_job(list, (struct copy_job){ .first = node, .end = node });
	if (error)
		return error;
	list->jobs[list->count - 1].is_last = true;
	if (plan->placements[node].is_protected)
		atomic_init(&protection_find(&plan->protection, node)->pending_slices,
		            (unsigned int)(list->count - before));
	return 0;
}

/* Many readers need many jobs: each file of a slow source takes long, however small it is. */
static uint64_t choose_job_bytes(const struct plan *plan, const struct workplace *work)
{
	uint64_t all = plan->data_bytes + (uint64_t)plan->source->tree->node_count * FILE_COST_BYTES;
	uint64_t part = all / (pool_workers(work->readers) * SLOW_JOBS_EACH);

	if (!workplace_reads_slowly(work) || part > JOB_BYTES)
		return JOB_BYTES;
	return part > LEAST_JOB_BYTES ? part : LEAST_JOB_BYTES;
}

static errcode_t cut_jobs(void *context, unsigned int worker, size_t task, struct problem *problem)
{
	const struct copying *copying = context;
	const struct plan *plan = copying->plan;
	struct cut *cut = &copying->cuts[task];
	uint32_t first = (uint32_t)task * NODES_PER_TASK, left = place_count(plan) - first;
	uint32_t end = first + (left < NODES_PER_TASK ? left : NODES_PER_TASK);
	uint64_t cost_bytes = 0;
	errcode_t error = 0;

	(void)worker;
	(void)problem;
	for (uint32_t place = first; !error && place < end; place++) {
		uint32_t node = node_at(plan, place);

		if (!has_content(copying, node))
			continue;
		cut->files++;
		if (plan_node(plan, node)->size_bytes > SLICE_BYTES) {
			error = add_slices(plan, node, &cut->slices);
			continue;
		}
		cost_bytes += plan_node(plan, node)->size_bytes + FILE_COST_BYTES;
		if (cost_bytes < copying->job_bytes)
			continue;
		error = add_job(&cut->others, (struct copy_job){ .first = first, .end = place + 1 });
		first = place + 1;
		cost_bytes = 0;
	}
	if (!error && cost_bytes)
		error = add_job(&cut->others, (struct copy_job){ .first = first, .end = end });
	return error;
}

static errcode_t append_jobs(struct job_list *all, const struct job_list *list)
{
	errcode_t error = vector_reserve(&all->jobs, &all->capacity, all->count + list->count, sizeof(*all->jobs));

	if (!error && list->count)
		memcpy(all->jobs + all->count, list->jobs, list->count * sizeof(*list->jobs));
	all->count += error ? 0 : list->count;
	return error;
}

/* Cuts the tree into jobs. Large files come first, since all workers would wait for a large file that begins last. */
static errcode_t list_jobs(struct copying *copying)
{
	const struct plan *plan = copying->plan;
	const struct workplace *work = copying->work;
	size_t tasks = ((size_t)place_count(plan) + NODES_PER_TASK - 1) / NODES_PER_TASK;
	SCOPE_FREE struct cut *cuts = calloc(tasks, sizeof(*cuts));

	if (!cuts)
		return ENOMEM;
	copying->cuts = cuts;
	copying->job_bytes = choose_job_bytes(plan, work);
	errcode_t error = pool_run(work->pool, tasks, cut_jobs, copying, work->problem);
	for (size_t task = 0; task < tasks; task++) {
		copying->files += cuts[task].files;
		error = error ? error : append_jobs(&copying->list, &cuts[task].slices);
	}
	for (size_t task = 0; task < tasks; task++)
		error = error ? error : append_jobs(&copying->list, &cuts[task].others);
	for (size_t task = 0; task < tasks; task++) {
		free(cuts[task].slices.jobs);
		free(cuts[task].others.jobs);
	}
	return error;
}

static errcode_t open_workers(struct copying *copying, bool reads_last)
{
	const struct plan *plan = copying->plan;
	const struct workplace *work = copying->work;
	unsigned int count = pool_workers(work->readers);

	copying->workers = aligned_alloc(alignof(struct copy_worker), count * sizeof(*copying->workers));
	if (!copying->workers)
		return ENOMEM;
	memset(copying->workers, 0, count * sizeof(*copying->workers));
	for (unsigned int worker = 0; worker < count; worker++) {
		struct copy_worker *own = &copying->workers[worker];
		errcode_t error = content_reader_create(plan->source->tree, &own->reader);

		own->reads_last = reads_last;
		own->writer = run_writer_create(&copying->file->sink.sink);
		own->writer.readers = work->readers;
		own->sharing = block_sharing_create(plan, copying->file);
		if (error)
			return error;
	}
	return 0;
}

static errcode_t gather_findings(const struct copying *copying, struct copy_findings *found)
{
	errcode_t error = 0;

	found->zeros.count = 0;
	found->refusal = copying->runs.refusal;
	for (unsigned int worker = 0; !error && worker < pool_workers(copying->work->readers); worker++) {
		error = zero_runs_join(&found->zeros, &copying->workers[worker].zeros);
		found->shared_bytes += copying->workers[worker].sharing.shared_bytes;
	}
	zero_runs_sort(&found->zeros);
	return error;
}

static void close_workers(const struct copying *copying)
{
	for (unsigned int worker = 0; copying->workers && worker < pool_workers(copying->work->readers); worker++) {
		content_reader_destroy(copying->workers[worker].reader);
		run_writer_free(&copying->workers[worker].writer);
		protect_worker_free(&copying->workers[worker].protect);
		free(copying->workers[worker].zeros.runs);
	}
	free(copying->workers);
	protect_release(&copying->plan->protection);
}

errcode_t copy_files(const struct plan *plan, struct image_file *file, const struct workplace *work, bool reads_last,
                     struct copy_findings *found)
{
	SCOPE_FREE char *directory = spool_directory(plan->options->image);
	struct copying copying = { .plan = plan, .work = work, .file = file, .directory = directory };

	if (!directory)
		return workplace_result(work, ENOMEM, "cannot copy the files");
	errcode_t error = content_runs_find(plan, &copying.runs, work->problem);

	found->shared_bytes = 0;
	if (!error)
		error = list_jobs(&copying);
	progress_stage(plan->options->progress, "copy", plan->data_bytes, copying.files + copying.runs.files);
	if (!error)
		error = content_runs_move(plan, file, work, &copying.runs, &found->shared_bytes);
	if (!error)
		error = open_workers(&copying, reads_last);
	if (!error)
		error = pool_run(work->readers, copying.list.count, run_job, &copying, work->problem);
	if (!error)
		error = contents_check(plan->source->tree, work->problem);
	if (!error)
		error = gather_findings(&copying, found);
	close_workers(&copying);
	free(copying.list.jobs);
	content_runs_free(&copying.runs);
	/* This does nothing if the cause has already been recorded. */
	return workplace_result(work, error, "cannot copy the files");
}
