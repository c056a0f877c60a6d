/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "simulate/replay/replayer.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#include "allocator/core/arithmetic.h"
#include "allocator/preallocation/file_search.h"
#include "allocator/preallocation/preallocation.h"
#include "allocator/search/empty_groups.h"

/* jbd2 commits after at most this many seconds (JBD2_DEFAULT_MAX_COMMIT_AGE). */
#define MOST_SECONDS_TO_COMMIT 5

/* --- Streams ------------------------------------------------------------------------------------------------- */

/* If there are more streams, several share a worker. */
static errcode_t find_worker(struct replayer *replayer, const struct trace_event *event, struct ext2mb_worker **ret)
{
	uint64_t stream = replayer->streams == REPLAY_BY_PROCESSOR ? event->processor :
	                  replayer->streams == REPLAY_BY_PROCESS   ? event->process :
	                                                             0;
	struct ext2mb_worker **worker = &replayer->workers[stream % REPLAY_WORKERS];
	errcode_t error = *worker ? 0 : ext2mb_worker_open(replayer->image->mb, worker);

	*ret = *worker;
	return error;
}

/* A file belongs to the worker that opened it: what it leaves over is of use to that one's next files. */
static void close_handle(struct replay_file *file)
{
	if (file->handle)
		ext2mb_file_close(file->opener, TAKE(file->handle));
	file->final_blocks = 0;
}

static uint64_t blocks_of(const struct replay_file *file)
{
	const struct file_runs *runs = &file->runs;

	return runs->count ? (uint64_t)runs->list[runs->count - 1].logical + runs->list[runs->count - 1].count : 0;
}

/*
 * If the kernel knows that a file ends with the request, it preallocates nothing after it, from then on until the
 * file is closed or grows; earlier preallocations stay the file's. It normalises a request by the file's size, which
 * may exceed all mapped blocks.
 */
static errcode_t open_handle(struct replay_file *file, const struct trace_event *event, struct ext2mb_worker *worker)
{
	uint64_t now = max_u64(blocks_of(file), event->file_blocks), end = (uint64_t)event->logical + event->asked;
	uint64_t final_blocks = event->is_final           ? max_u64(now, end) :
	                        file->final_blocks >= end ? file->final_blocks :
	                                                    0;
	const struct ext2mb_file_info info = {
		.struct_bytes = sizeof(info),
		.ino = file->simulated_ino,
		.parent = file->parent,
		.blocks = final_blocks ? final_blocks : now,
		.flags = final_blocks ? EXT2MB_FILE_FINAL : 0,
	};

	if (file->handle && final_blocks)
		file_ends(file->handle, final_blocks);
	if (file->handle && !final_blocks)
		file->handle->blocks = max_u64(file->handle->blocks, now);
	if (file->handle && (final_blocks || !file->final_blocks)) {
		file->final_blocks = final_blocks;
		return 0;
	}
	close_handle(file);
	errcode_t error = ext2mb_file_open(worker, &info, &file->handle);
	file->opener = worker;
	if (!error)
		file->final_blocks = final_blocks;
	return error;
}

/* --- Commits ------------------------------------------------------------------------------------------------- */

static errcode_t commit(struct replayer *replayer)
{
	traced_blocks_clear(&replayer->pending);
	replayer->pending_since = 0;
	replayer->counts.commits++;
	return ext2mb_commit(replayer->image->mb);
}

/* The kernel has committed by then. If it allocates freed blocks again, it has also committed their free. */
static errcode_t commit_if_due(struct replayer *replayer, const struct trace_event *event)
{
	bool is_proved = event->kind == TRACE_ALLOCATE && event->count &&
	                 traced_blocks_find(&replayer->pending, event->block, event->count);

	if (!replayer->pending.runs || event->kind == TRACE_COMMIT)
		return 0;
	if (!replayer->pending_since)
		replayer->pending_since = event->seconds;
	return is_proved || event->seconds - replayer->pending_since >= MOST_SECONDS_TO_COMMIT ? commit(replayer) : 0;
}

/* --- Freeing ------------------------------------------------------------------------------------------------ */

/* Blocks that the allocator refuses to free are contradictions of a damaged image; nothing else depends on them. */
static errcode_t free_blocks(struct replayer *replayer, uint64_t start, uint64_t count)
{
	errcode_t error = ext2mb_free(replayer->image->worker, start, count);

	if (error == EXT2MB_ET_DOUBLE_FREE || error == EXT2MB_ET_METADATA_FREE || error == EXT2MB_ET_BAD_RANGE ||
	    error == EXT2MB_ET_RESERVED_FREE) {
		replayer->files.contradictions.unknown_blocks += count;
		return 0;
	}
	return error;
}

static errcode_t free_data(struct replayer *replayer, struct replay_file *file, uint32_t logical, uint32_t end)
{
	struct file_run run;
	errcode_t error;

	do {
		error = file_runs_remove(&file->runs, logical, end, &run);
		if (!error && run.count)
			error = free_blocks(replayer, run.physical, run.count);
	} while (!error && run.count);
	return error;
}

/* Frees blocks that the policy allocated beyond the kernel's. */
static errcode_t free_ahead(struct replayer *replayer, struct replay_file *file)
{
	errcode_t error = 0;

	for (size_t index = file->runs.count; !error && index--;) {
		const struct file_run run = file->runs.list[index];

		if (run.is_ahead)
			error = free_data(replayer, file, run.logical, run.logical + run.count);
	}
	return error;
}

static errcode_t free_run(struct replayer *replayer, const struct traced_run *run)
{
	const struct traced_run pending = { .start = run->start, .count = run->count };
	errcode_t error = 0;

	if (run->is_data)
		error = free_data(replayer, run->file, (uint32_t)run->place, (uint32_t)(run->place + run->count));
	else if (run->place)
		error = free_blocks(replayer, run->place, run->count);
	if (!run->is_data)
		run->file->other_blocks -= run->count;
	run->file->is_counted = true;
	replay_files_release(run->file, run->count);
	if (error || traced_blocks_find(&replayer->pending, run->start, run->count))
		return error;
	return traced_blocks_add(&replayer->pending, &pending);
}

static uint32_t cluster_blocks(const struct replayer *replayer)
{
	return (uint32_t)geometry_cluster_blocks(&replayer->image->geometry);
}

static bool is_possible(const struct replayer *replayer, const struct trace_event *event)
{
	const struct geometry *geometry = &replayer->image->geometry;

	return event->block >= geometry->first_block && event->block <= geometry->end_block &&
	       event->count <= geometry->end_block - event->block;
}

/* Finds the whole clusters that the kernel frees: it may keep partial clusters at both ends. */
static void find_freed(const struct replayer *replayer, const struct trace_event *event, uint64_t *start, uint64_t *end)
{
	uint64_t cluster = cluster_blocks(replayer), first = replayer->image->geometry.first_block;

	*start = event->block - first;
	*end = *start + event->count;
	*start = first + (event->keeps_first ? round_up(*start, cluster) : round_down(*start, cluster));
	*end = first + (event->keeps_last ? round_down(*end, cluster) : round_up(*end, cluster));
}

static errcode_t replay_free(struct replayer *replayer, const struct trace_event *event)
{
	struct replay_file *file;
	struct traced_run run;
	uint64_t start, end, left;
	errcode_t error = replay_files_find(&replayer->files, event->ino, &file);

	if (error)
		return error;
	if (!file || !is_possible(replayer, event)) {
		replayer->files.contradictions.impossible++;
		return 0;
	}
	find_freed(replayer, event, &start, &end);
	left = end > start ? end - start : 0;
	while (!error && left) {
		error = traced_blocks_remove(&replayer->files.blocks, start, end - start, &run);
		if (error || !run.count)
			break;
		left -= run.count;
		error = free_run(replayer, &run);
	}
	replayer->files.contradictions.unknown_blocks += left;
	if (!error && !replayer->has_journal)
		error = commit(replayer);
	return error;
}

/* --- Allocating --------------------------------------------------------------------------------------------- */

static errcode_t note_traced(struct replayer *replayer, struct replay_file *file, uint64_t start, uint64_t count,
                             bool is_data, uint64_t place)
{
	const struct traced_run run = {
		.start = start, .count = count, .file = file, .is_data = is_data, .place = place
	};
	errcode_t error = traced_blocks_add(&replayer->files.blocks, &run);

	if (!error)
		file->references += count;
	if (!error && !is_data)
		file->other_blocks += count;
	return error;
}

/*
 * Linux and libext2fs ask for the first blocks of a directory in its flex group's first group. With our policy it is
 * the inode's own group, which our inodes are spread over; but not while most groups are nearly free, since the free
 * space would be cut into as many pieces as there are groups.
 */
static uint64_t first_goal(const struct replayer *replayer, ext2_ino_t ino)
{
	const struct image *image = replayer->image;
	uint32_t group = (ino - 1) / image->geometry.inodes_per_group;

	if (preallocation_is_ours(image->mb) && empty_groups_are_most(image->mb))
		group -= group % image->geometry.flex_groups;
	return geometry_block(&image->geometry, group, 0);
}

/* The kernel's goals are next to blocks of the file: these have places on the simulated disk. */
static uint64_t translate_goal(const struct replayer *replayer, const struct replay_file *file, uint64_t goal)
{
	const struct geometry *geometry = &replayer->image->geometry;
	/* Without extents it is a block of the file, not the one after it. */
	uint64_t before = replayer->image->format.extents && goal > geometry->first_block ? 1 : 0;

	if (goal < geometry->first_block || goal >= geometry->end_block)
		return first_goal(replayer, file->simulated_ino);
	const struct traced_run *run = traced_blocks_find(&replayer->files.blocks, goal - before, 1);
	if (run && !run->is_data && run->place)
		return min_u64(run->place + (goal - run->start), geometry->end_block - 1);
	if (run && run->is_data) {
		uint32_t logical = (uint32_t)(run->place + (goal - before - run->start));
		size_t index = file_runs_find(&run->file->runs, logical);
		const struct file_run *there = run->file->runs.list;

		if (index < run->file->runs.count && there[index].logical <= logical)
			return min_u64(there[index].physical + (logical - there[index].logical) + before,
			               geometry->end_block - 1);
	}
	/* No block of the file is there: use the inode's group. */
	return file->simulated_ino == file->ino ? goal : first_goal(replayer, file->simulated_ino);
}

/*
 * Neighbours may use parts of clusters. Linux's goal has as many clusters as the hole has blocks, rounded up; and where
 * the left neighbour ends within a cluster, it tries to go on in that cluster, which is in use, and nowhere else.
 */
static void meet_part_clusters(const struct replayer *replayer, const struct trace_event *event,
                               struct ext2mb_file_request *request)
{
	uint32_t cluster = cluster_blocks(replayer), blocks = event->right_start - event->left_end;

	if ((event->left_end | event->right_start) % cluster == 0 || preallocation_is_ours(replayer->image->mb) ||
	    event->logical != request->logical)
		return;
	if (event->left_end % cluster)
		request->left_physical = request->right_physical = 0;
	if (event->right_start > event->left_end)
		request->hole_end = max_u64(request->hole_end, request->hole_start + round_up(blocks, cluster));
}

/* Allocates one extent for the hole at `logical`; its blocks after `end` are ahead of the kernel. */
static errcode_t replay_extent(struct replayer *replayer, struct replay_file *file, const struct trace_event *event,
                               uint32_t logical, uint32_t end, struct ext2mb_worker *worker)
{
	const struct file_runs *runs = &file->runs;
	size_t index = file_runs_find(runs, logical);
	uint32_t hole_start, hole_end, wanted_end = event->logical + event->asked;
	struct ext2mb_extent extent;
	bool has_hole = file_runs_hole(runs, logical, &hole_start, &hole_end);
	errcode_t error = has_hole ? open_handle(file, event, worker) : EXT2MB_ET_BAD_ARGUMENT;

	if (error)
		return error;
	struct ext2mb_file_request request = {
		.struct_bytes = sizeof(request),
		.logical = logical,
		.count = min_u64(hole_end, wanted_end) - logical,
		.whole_count = round_up(image_blocks_of(replayer->image, event->whole_bytes), cluster_blocks(replayer)),
		.hole_start = hole_start,
		/* Also if nothing follows. */
		.hole_end = round_down(hole_end, cluster_blocks(replayer)),
		.left_physical = index ? runs->list[index - 1].physical + runs->list[index - 1].count : 0,
		.right_physical = index < runs->count ? runs->list[index].physical : 0,
		.flags = event->is_unwritten ? EXT2MB_FILE_UNWRITTEN : 0,
	};
	meet_part_clusters(replayer, event, &request);
	if (!replayer->image->format.extents && !preallocation_is_ours(replayer->image->mb) && event->goal &&
	    logical == event->logical)
		request.left_physical = translate_goal(replayer, file, event->goal);
	error = ext2mb_file_alloc(worker, file->handle, &request, &extent);
	if (error)
		return error;
	const uint32_t asked = (uint32_t)min_u64(extent.count, end - logical);
	const struct file_run run = { .logical = logical, .count = asked, .physical = extent.start };
	const struct file_run ahead = {
		.logical = logical + asked,
		.count = (uint32_t)extent.count - asked,
		.physical = extent.start + asked,
		.is_ahead = true,
	};
	error = file_runs_add(&file->runs, &run);
	return error || !ahead.count ? error : file_runs_add(&file->runs, &ahead);
}

/* Allocates the kernel's blocks that are missing, extent by extent. */
static errcode_t fill(struct replayer *replayer, struct replay_file *file, const struct trace_event *event)
{
	uint32_t end = event->logical + event->count;
	struct ext2mb_worker *worker;
	errcode_t error = find_worker(replayer, event, &worker);

	if (!error)
		error = file_runs_confirm(&file->runs, event->logical, end);
	for (uint32_t logical = event->logical; !error && logical < end;) {
		size_t index = file_runs_find(&file->runs, logical);

		if (index < file->runs.count && file->runs.list[index].logical <= logical) {
			logical = file->runs.list[index].logical + file->runs.list[index].count;
			continue;
		}
		error = replay_extent(replayer, file, event, logical, end, worker);
		if (error == EXT2MB_ET_NO_SPACE) {
			replayer->counts.failed_blocks += end - logical;
			return 0;
		}
	}
	return error;
}

static void count_before(struct replay_counts *counts, const struct replay_file *file, const struct trace_event *event)
{
	uint64_t extents = 0;

	if (event->start < event->logical)
		extents = file_runs_extents(&file->runs, event->start, event->logical);
	counts->extents -= extents;
	counts->in_one -= extents == 1;
	counts->requests += event->start == event->logical;
	counts->asked_blocks += event->start == event->logical ? event->asked : 0;
}

static void count_after(struct replay_counts *counts, const struct replay_file *file, const struct trace_event *event)
{
	uint64_t extents = file_runs_extents(&file->runs, event->start, event->logical + event->count);

	counts->extents += extents;
	counts->in_one += extents == 1;
}

static errcode_t replay_data(struct replayer *replayer, struct replay_file *file, const struct trace_event *event)
{
	const struct file_run run = { .logical = event->logical, .count = event->count, .physical = event->block };
	errcode_t error = note_traced(replayer, file, event->block, event->count, true, event->logical);

	if (error)
		return error;
	count_before(&replayer->counts, file, event);
	error = replayer->is_traced ? file_runs_add(&file->runs, &run) : fill(replayer, file, event);
	count_after(&replayer->counts, file, event);
	return error;
}

static errcode_t replay_other(struct replayer *replayer, struct replay_file *file, const struct trace_event *event)
{
	uint64_t first = replayer->image->geometry.first_block;
	uint64_t goal =
		first + round_down(translate_goal(replayer, file, event->goal) - first, cluster_blocks(replayer));
	struct ext2mb_worker *worker;
	errcode_t error = find_worker(replayer, event, &worker);

	replayer->counts.other++;
	if (replayer->is_traced)
		return note_traced(replayer, file, event->block, event->count, false, event->block);
	for (uint32_t done = 0; !error && done < event->count;) {
		const struct ext2mb_request request = { .struct_bytes = sizeof(request),
			                                .goal = goal,
			                                .count = event->count - done };
		struct ext2mb_extent extent;

		error = ext2mb_alloc(worker, &request, &extent);
		if (error == EXT2MB_ET_NO_SPACE) {
			extent = (struct ext2mb_extent){ .count = event->count - done };
			replayer->counts.failed_blocks += extent.count;
			error = 0;
		}
		if (!error)
			error = note_traced(replayer, file, event->block + done, extent.count, false, extent.start);
		done += (uint32_t)extent.count;
		goal = extent.start + extent.count;
	}
	return error;
}

/* Are any of these blocks mapped in the kernel's layout? */
static bool has_blocks(const struct replay_file *file, const struct trace_event *event)
{
	const struct file_runs *runs = &file->runs;

	for (size_t index = file_runs_find(runs, event->logical); index < runs->count; index++) {
		if (runs->list[index].logical >= event->logical + event->count)
			return false;
		if (!runs->list[index].is_ahead)
			return true;
	}
	return false;
}

/* The kernel allocates whole clusters; a file's data is divided in the same way. */
static bool is_whole(const struct replayer *replayer, const struct trace_event *event)
{
	uint64_t first = replayer->image->geometry.first_block;
	uint64_t all = (event->block - first) | event->count | (event->is_data ? event->logical | event->asked : 0);

	return all % cluster_blocks(replayer) == 0;
}

static errcode_t replay_blocks(struct replayer *replayer, const struct trace_event *event)
{
	struct replay_contradictions *contradictions = &replayer->files.contradictions;
	struct replay_file *file;
	errcode_t error = replay_files_find(&replayer->files, event->ino, &file);

	if (error)
		return error;
	if (!event->count) {
		replayer->counts.refused++;
		return 0;
	}
	if (!file || !is_possible(replayer, event) || !is_whole(replayer, event)) {
		contradictions->impossible++;
		return 0;
	}
	if (traced_blocks_find(&replayer->files.blocks, event->block, event->count))
		error = EXT2MB_ET_NO_SPACE;
	else if (replayer->is_traced)
		error = ext2mb_mark_used(replayer->image->worker, event->block, event->count);
	if (error == EXT2MB_ET_NO_SPACE) {
		contradictions->taken_twice += event->count;
		return 0;
	}
	if (error)
		return error;
	file->is_counted = true;
	replayer->counts.groups_scanned += event->groups_scanned;
	if (!event->is_data)
		return replay_other(replayer, file, event);
	if (!has_blocks(file, event))
		return replay_data(replayer, file, event);
	contradictions->moved++;
	return replay_other(replayer, file, event);
}

/* --- Inodes -------------------------------------------------------------------------------------------------- */

static errcode_t replay_inode(struct replayer *replayer, struct replay_file *file)
{
	char name[16];
	const struct ext2mb_inode_request request = {
		.struct_bytes = sizeof(request),
		.parent = file->parent ? file->parent : EXT2_ROOT_INO,
		/* The trace has no names, but directories with different names must be spread. */
		.name = name,
		.flags = S_ISDIR(file->mode) ? EXT2MB_INODE_DIRECTORY : 0,
	};
	ext2_ino_t ino;

	snprintf(name, sizeof(name), "%u", (unsigned int)file->ino);
	errcode_t error = ext2mb_inode_alloc(replayer->image->worker, &request, &ino);
	if (!error)
		file->simulated_ino = ino;
	return error == EXT2MB_ET_NO_INODES ? 0 : error;
}

static errcode_t drop_file(struct replayer *replayer, struct replay_file *file)
{
	errcode_t error = free_ahead(replayer, file);

	close_handle(file);
	if (!error && replayer->inodes_by_policy && file->mode) {
		error = ext2mb_inode_free(replayer->image->worker, file->simulated_ino, S_ISDIR(file->mode));
		if (error == EXT2MB_ET_DOUBLE_FREE || error == EXT2MB_ET_BAD_RANGE) {
			replayer->files.contradictions.impossible++;
			error = 0;
		}
	}
	replay_files_delete(&replayer->files, file);
	return error;
}

static errcode_t replay_delete(struct replayer *replayer, const struct trace_event *event)
{
	struct replay_file *file;
	errcode_t error = replay_files_find(&replayer->files, event->ino, &file);

	if (!error && !file)
		replayer->files.contradictions.impossible++;
	return error || !file ? error : drop_file(replayer, file);
}

static errcode_t replay_create(struct replayer *replayer, const struct trace_event *event)
{
	struct replay_file *file = replay_files_look_up(&replayer->files, event->ino), *parent;
	errcode_t error = 0;

	if (file) {
		replayer->files.contradictions.made_twice++;
		error = drop_file(replayer, file);
	}
	if (!error)
		error = replay_files_create(&replayer->files, event->ino, &file);
	if (error)
		return error;
	if (!file) {
		replayer->files.contradictions.impossible++;
		return 0;
	}
	parent = replay_files_look_up(&replayer->files, event->parent);
	file->mode = event->mode ? event->mode : S_IFREG;
	file->parent = parent ? parent->simulated_ino : event->parent;
	if ((uint64_t)file->parent >
	    (uint64_t)replayer->image->geometry.groups * replayer->image->geometry.inodes_per_group)
		file->parent = 0;
	return replayer->inodes_by_policy ? replay_inode(replayer, file) : 0;
}

/* --- Events -------------------------------------------------------------------------------------------------- */

errcode_t replayer_open(struct replayer *replayer)
{
	replayer->has_journal = image_has_journal(replayer->image);
	return replay_files_open(&replayer->files, replayer->image);
}

errcode_t replayer_run_event(struct replayer *replayer, const struct trace_event *event)
{
	struct replay_file *file;
	errcode_t error = commit_if_due(replayer, event);

	if (error)
		return error;
	switch (event->kind) {
	case TRACE_CREATE:
		return replay_create(replayer, event);
	case TRACE_DELETE:
		return replay_delete(replayer, event);
	case TRACE_ALLOCATE:
		return replay_blocks(replayer, event);
	case TRACE_FREE:
		return replay_free(replayer, event);
	case TRACE_CLOSE:
		file = replay_files_look_up(&replayer->files, event->ino);
		if (file)
			close_handle(file);
		return 0;
	case TRACE_COMMIT:
		break;
	}
	return commit(replayer);
}

static void close_handles(struct replayer *replayer)
{
	struct replay_file *file;

	LIST_FOREACH(file, &replayer->files.all, all)
	close_handle(file);
}

errcode_t replayer_finish(struct replayer *replayer)
{
	errcode_t error = 0;

	for (struct replay_file *file = LIST_FIRST(&replayer->files.all); !error && file; file = LIST_NEXT(file, all))
		error = free_ahead(replayer, file);
	close_handles(replayer);
	return error ? error : ext2mb_commit(replayer->image->mb);
}

void replayer_close(struct replayer *replayer)
{
	close_handles(replayer);
	for (unsigned int worker = 0; worker < REPLAY_WORKERS; worker++)
		if (replayer->workers[worker])
			ext2mb_worker_close(replayer->workers[worker]);
	traced_blocks_clear(&replayer->pending);
	replay_files_close(&replayer->files);
}
