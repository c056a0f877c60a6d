/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image/run_writer.h"
#include "populate/metadata/directories.h"

#include <endian.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "support/run/interrupt.h"

static const char lost_found_name[] = "lost+found";

/* Returns the EXT2_FT_* of a mode. */
static uint8_t file_type(uint16_t mode)
{
	static const uint8_t types[16] = {
		[S_IFREG >> 12] = EXT2_FT_REG_FILE, [S_IFDIR >> 12] = EXT2_FT_DIR,    [S_IFLNK >> 12] = EXT2_FT_SYMLINK,
		[S_IFCHR >> 12] = EXT2_FT_CHRDEV,   [S_IFBLK >> 12] = EXT2_FT_BLKDEV, [S_IFIFO >> 12] = EXT2_FT_FIFO,
		[S_IFSOCK >> 12] = EXT2_FT_SOCK,
	};

	return types[mode >> 12];
}

static struct directory_name entry_name(const void *context, uint32_t entry)
{
	const struct directory_view *view = context;
	const struct tree_node *directory = plan_node(view->plan, view->node);

	if (view->has_lost_found && entry-- == 0)
		return (struct directory_name){ lost_found_name, sizeof(lost_found_name) - 1 };
	const struct tree_node *child = plan_node(view->plan, directory->first_child + entry);

	return (struct directory_name){ child->name, child->name_bytes };
}

static struct directory_target entry_target(const void *context, uint32_t entry)
{
	const struct directory_view *view = context;
	const struct plan *plan = view->plan;

	if (view->has_lost_found && entry-- == 0)
		return (struct directory_target){ plan->lost_found, EXT2_FT_DIR };
	uint32_t child = plan_node(plan, view->node)->first_child + entry;

	return (struct directory_target){ plan->placements[child].ino, file_type(plan_node(plan, child)->mode) };
}

static struct directory_hashes entry_hashes(const void *context, uint32_t entry)
{
	const struct directory_view *view = context;
	uint32_t words[2];

	memcpy(words, tree_stored_hashes(plan_node(view->plan, plan_node(view->plan, view->node)->first_child + entry)),
	       sizeof(words));
	return (struct directory_hashes){ le32toh(words[0]), le32toh(words[1]) };
}

static void expect_entry(const void *context, uint32_t entry, bool is_close)
{
	const struct directory_view *view = context;
	const struct plan *plan = view->plan;

	if (view->has_lost_found && entry-- == 0)
		return;
	uint32_t child = plan_node(plan, view->node)->first_child + entry;

	if (is_close) {
		__builtin_prefetch(plan_node(plan, child)->name);
		return;
	}
	__builtin_prefetch(plan_node(plan, child));
	__builtin_prefetch(&plan->placements[child]);
}

struct directory_source directory_view_open(struct directory_view *view, const struct plan *plan, uint32_t node)
{
	*view = (struct directory_view){
		.plan = plan,
		.node = node,
		.has_lost_found = node == TREE_ROOT && !plan->source->has_lost_found,
	};
	return (struct directory_source){
		.context = view,
		.count = plan_node(plan, node)->child_count + view->has_lost_found,
		.name = entry_name,
		.target = entry_target,
		.expect = expect_entry,
		.hashes = plan_node(plan, node)->is_encrypted && plan_node(plan, node)->is_casefolded ? entry_hashes :
		                                                                                        NULL,
		.is_casefolded = plan->placements[node].is_casefolded,
	};
}

struct writing {
	const struct plan *plan;
	struct run_writer *writers; /* one for each worker */
};

/* Writes a whole file. */
static errcode_t write_file(const struct plan *plan, struct run_writer *writer, uint32_t node, const void *bytes,
                            size_t byte_count)
{
	struct file_extent single;
	uint32_t count;
	const struct file_extent *extents = placement_extents(&plan->placements[node], &single, &count);

	return run_writer_copy(writer, extents, count, bytes, byte_count);
}

static errcode_t write_directory(const struct plan *plan, struct run_writer *writer, uint32_t node,
                                 const struct directory_job *job)
{
	const struct placement *placement = &plan->placements[node];
	size_t size_bytes = (size_t)placement->blocks << plan->format.block_bits;
	bool in_place = !placement->has_extent_map && size_bytes <= RUN_WRITER_BYTES;
	struct directory_view view;
	SCOPE_FREE void *own = NULL;
	void *bytes;
	errcode_t error = 0;

	/* A small directory in one extent is built in the buffer from which it is written. */
	if (in_place)
		error = run_writer_reserve(writer, placement->start, placement->blocks, &bytes);
	else
		bytes = own = malloc(size_bytes);
	if (error || !bytes)
		return error ? error : ENOMEM;
	const struct directory_source source = directory_view_open(&view, plan, node);

	error = directory_build(&plan->format, &source, job->layout, placement->blocks, placement->ino,
	                        plan->placements[plan_node(plan, node)->parent].ino, 0, bytes);
	if (error || in_place)
		return error;
	return write_file(plan, writer, node, bytes, size_bytes);
}

static errcode_t write_long_symlinks(const struct plan *plan, struct run_writer *writer, struct node_range nodes,
                                     struct problem *problem)
{
	for (uint32_t node = nodes.first; node < nodes.end; node++) {
		const struct tree_node *source = plan_node(plan, node);

		if (!S_ISLNK(source->mode) || !plan->placements[node].blocks ||
		    tree_node_is_link(plan->source->tree, node))
			continue;
		errcode_t error = write_file(plan, writer, node, source->target, source->size_bytes);

		if (error)
			return problem_set(problem, error, plan->options->image, "cannot write");
	}
	return 0;
}

/* The first tasks are one directory each. The others are parts of the nodes, for symlinks. */
static errcode_t write_task(void *context, unsigned int worker, size_t task, struct problem *problem)
{
	const struct writing *writing = context;
	const struct plan *plan = writing->plan;
	struct run_writer *writer = &writing->writers[worker];

	if (interrupt_pending())
		return EINTR;
	if (task >= plan->directory_count)
		return write_long_symlinks(plan, writer, node_task(plan->source->tree, task - plan->directory_count),
		                           problem);
	const struct directory_job *job = &plan->directories[task];

	if (!plan->placements[job->node].blocks)
		return 0;
	errcode_t error = write_directory(plan, writer, job->node, job);

	/*
	 * The problem does not name the directory: the failed write may be that of an earlier one, which was gathered.
	 */
	return error ? problem_set(problem, error, plan->options->image, "cannot write") : 0;
}

errcode_t directories_write(const struct plan *plan, struct sink *sink, const struct workplace *work)
{
	unsigned int workers = pool_workers(work->pool);
	SCOPE_FREE struct run_writer *writers = calloc(workers, sizeof(*writers));
	struct writing writing = { plan, writers };
	errcode_t error = writers ? 0 : ENOMEM;

	for (unsigned int worker = 0; writers && worker < workers; worker++)
		writers[worker] = run_writer_create(sink);
	if (!error)
		error = pool_run(work->pool, plan->directory_count + node_task_count(plan->source->tree), write_task,
		                 &writing, work->problem);
	for (unsigned int worker = 0; writers && worker < workers; worker++) {
		if (!error)
			error = workplace_result(work, run_writer_flush(&writers[worker]), "cannot write");
		run_writer_free(&writers[worker]);
	}
	return workplace_result(work, error, "cannot write directories");
}
