// SPDX-License-Identifier: GPL-2.0-or-later
#include "populate/metadata/directories.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "populate/metadata/directory_view.h"
#include "populate/plan/needs.h"
#include "populate/data/run_writer.h"
#include "support/work/interrupt.h"

struct writing {
	struct build *build;
	struct run_writer *writers; /* one for each worker */
};

/* Writes bytes of a whole file to where its extents stand. */
static errcode_t write_extents(const struct build *build, struct run_writer *writer, uint32_t node,
                               const char *bytes)
{
	const uint32_t most = RUN_WRITER_BYTES >> build->format.block_bits;
	struct file_extent single;
	uint32_t count;
	const struct file_extent *extents = placement_extents(&build->placements[node], &single, &count);

	for (uint32_t extent = 0; extent < count; extent++) {
		for (uint32_t done = 0, blocks; done < extents[extent].count; done += blocks) {
			void *space;

			blocks = extents[extent].count - done < most ? extents[extent].count - done : most;
			errcode_t error = run_writer_reserve(writer, extents[extent].physical + done, blocks, &space);

			if (error)
				return error;
			size_t size_bytes = (size_t)blocks << build->format.block_bits;

			memcpy(space, bytes, size_bytes);
			bytes += size_bytes;
		}
	}
	return 0;
}

static errcode_t write_directory(const struct build *build, struct run_writer *writer, uint32_t node,
                                 const struct directory_job *job)
{
	struct directory_view view;
	bool in_place = !build->placements[node].is_long && job->blocks <= RUN_WRITER_BYTES >> build->format.block_bits;
	SCOPE_FREE void *own = NULL;
	void *bytes;
	errcode_t error = 0;

	/* A small directory in one piece is built where it is written from. */
	if (in_place)
		error = run_writer_reserve(writer, build->placements[node].start, job->blocks, &bytes);
	else
		bytes = own = malloc((size_t)job->blocks << build->format.block_bits);
	if (error || !bytes)
		return error ? error : ENOMEM;
	directory_view_open(&view, build, node);
	const struct directory_source source = directory_view_source(&view);

	error = directory_build(&build->format, &source, job->layout, job->blocks, build->placements[node].ino,
	                        build->placements[build_node(build, node)->parent].ino, 0, bytes);
	if (error || in_place)
		return error;
	return write_extents(build, writer, node, bytes);
}

static errcode_t write_symlink(const struct build *build, struct run_writer *writer, uint32_t node)
{
	const struct tree_node *link = build_node(build, node);
	void *bytes;
	errcode_t error = run_writer_reserve(writer, build->placements[node].start, 1, &bytes);

	if (error)
		return error;
	memset(bytes, 0, build->format.block_bytes);
	memcpy(bytes, link->target, link->size_bytes);
	return 0;
}

static errcode_t write_chunk(void *context, unsigned int worker, size_t chunk, struct problem *problem)
{
	const struct writing *writing = context;
	const struct build *build = writing->build;
	struct run_writer *writer = &writing->writers[worker];
	uint32_t node = (uint32_t)chunk * NODES_PER_CHUNK, end = node + NODES_PER_CHUNK;
	uint32_t directory = build_first_directory(build, node);
	errcode_t error = 0;

	if (interrupt_pending())
		return EINTR;
	if (end > build->tree->node_count)
		end = build->tree->node_count;
	for (; node < end; node++) {
		uint16_t mode = build_node(build, node)->mode;
		const struct directory_job *job = S_ISDIR(mode) ? &build->directories[directory++] : NULL;

		if (!build->placements[node].blocks || tree_node_is_link(build->tree, node))
			continue;
		if (job)
			error = write_directory(build, writer, node, job);
		else if (S_ISLNK(mode))
			error = write_symlink(build, writer, node);
		if (error)
			return build_node_problem(build, problem, node, error, "cannot write");
	}
	error = run_writer_flush(writer);
	return error ? problem_set(problem, error, build->options->image, "cannot write") : 0;
}

errcode_t directories_write(struct build *build)
{
	unsigned int workers = pool_workers(build->pool);
	SCOPE_FREE struct run_writer *writers = calloc(workers, sizeof(*writers));
	struct writing writing = { build, writers };
	errcode_t error = writers ? 0 : ENOMEM;

	for (unsigned int worker = 0; !error && worker < workers; worker++)
		error = run_writer_open(&writers[worker], &build->image, build->format.block_bytes);
	if (!error)
		error = pool_run(build->pool, build_chunk_count(build), write_chunk, &writing, build->problem);
	for (unsigned int worker = 0; writers && worker < workers; worker++)
		run_writer_close(&writers[worker]);
	return error ? problem_set(build->problem, error, build->options->image, "cannot write directories") : 0;
}
