/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "populate/data/content_runs.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "image/run_writer.h"
#include "populate/data/block_sharing.h"
#include "populate/metadata/flags.h"
#include "source/pack/pack_leaves.h"
#include "support/io/whole_io.h"
#include "support/run/interrupt.h"
#include "support/vector.h"
#include "tree/contents.h"

/* What is copied is divided among workers in pieces of this size. */
#define PIECE_BYTES (4u << 20)

/* --- Finding them ------------------------------------------------------------------------------------------------- */

/* May the contents be moved without a look at them? */
static bool is_candidate(const struct plan *plan, uint32_t number)
{
	const struct tree_node *node = plan_node(plan, number);
	const struct contents *contents = plan->source->tree->origins[node->origin].contents;

	return S_ISREG(node->mode) && contents && contents->fills_blocks && plan->placements[number].blocks &&
	       !plan->placements[number].is_protected && !node->is_encrypted &&
	       !tree_node_is_link(plan->source->tree, number) && !flags_are_missing(plan, number);
}

/* Finds where an extent's blocks are in the source: whole, and with zeros after the file's end. */
static bool find_extent(const struct plan *plan, const struct content_reader *reader, uint32_t node,
                        const struct file_extent *extent, struct content_run *found)
{
	const unsigned int block_bits = plan->format.block_bits;
	uint64_t start = (uint64_t)extent->logical << block_bits, bytes = (uint64_t)extent->count << block_bits;
	uint64_t left = plan_node(plan, node)->size_bytes - start;

	if (file_extent_is_unwritten(extent))
		return false;
	const struct content_range range = content_reader_map(reader, start);

	*found = (struct content_run){
		.node = node,
		.descriptor = range.descriptor,
		.from_bytes = range.place_bytes,
		.start = extent->physical,
		.blocks = extent->count,
	};
	return range.kind == CONTENT_DATA && range.descriptor >= 0 &&
	       range.length_bytes >= (bytes < left ? bytes : left);
}

/*
 * True if both can be moved at once. What upper layers hide between two files keeps its place with --keep-hidden, where
 * the blocks between the two are free (populate/plan/hidden_gaps.h).
 */
static bool continues(const struct plan *plan, const struct content_run *last, const struct content_run *next)
{
	if (last->descriptor != next->descriptor || next->start < last->start + last->blocks)
		return false;
	uint64_t distance = next->start - last->start;

	return next->from_bytes - last->from_bytes == distance << plan->format.block_bits &&
	       (distance == last->blocks || plan->options->keeps_hidden);
}

static errcode_t add_run(const struct plan *plan, struct content_runs *runs, const struct content_run *next)
{
	struct content_run *last = runs->count ? &runs->list[runs->count - 1] : NULL;

	if (!last || !continues(plan, last, next))
		return vector_add(&runs->list, &runs->count, &runs->capacity, next, sizeof(*next));
	last->blocks = next->start - last->start + next->blocks;
	last->files += next->files;
	return 0;
}

static errcode_t add_file(const struct plan *plan, struct content_reader *reader, uint32_t node,
                          struct content_runs *runs, struct problem *problem)
{
	struct file_extent single;
	uint32_t count;
	const struct file_extent *extents = placement_extents(&plan->placements[node], &single, &count);
	struct content_run found;
	errcode_t error = content_reader_open(reader, node, problem);

	if (error)
		return error;
	/* A file of which a part is stored in another way is copied by itself. */
	for (uint32_t extent = 0; extent < count; extent++)
		if (!find_extent(plan, reader, node, &extents[extent], &found))
			return 0;
	for (uint32_t extent = 0; !error && extent < count; extent++) {
		find_extent(plan, reader, node, &extents[extent], &found);
		found.files = extent == 0;
		error = add_run(plan, runs, &found);
	}
	runs->has_node[node] = true;
	runs->files++;
	runs->data_bytes += plan_node(plan, node)->size_bytes;
	return error;
}

/* Blocks larger than what contents fill would hold another file's bytes. */
static bool may_have_runs(const struct plan *plan)
{
	const struct tree *tree = plan->source->tree;

	if (!plan->options->zeros_of_source || plan->format.block_bytes > CONTENTS_BLOCK_BYTES)
		return false;
	for (uint32_t origin = 0; origin < tree->origin_count; origin++)
		if (tree->origins[origin].contents && tree->origins[origin].contents->fills_blocks)
			return true;
	return false;
}

errcode_t content_runs_find(const struct plan *plan, struct content_runs *runs, struct problem *problem)
{
	uint32_t count = plan->content_order ? plan->content_count : plan->source->tree->node_count;
	struct content_reader *reader;
	errcode_t error;

	if (!may_have_runs(plan))
		return 0;
	runs->has_node = calloc(plan->source->tree->node_count, sizeof(*runs->has_node));
	error = content_reader_create(plan->source->tree, &reader);
	if (!error && !runs->has_node)
		error = ENOMEM;
	for (uint32_t index = 0; !error && index < count; index++) {
		uint32_t node = plan->content_order ? plan->content_order[index] : index;

		if (is_candidate(plan, node))
			error = add_file(plan, reader, node, runs, problem);
	}
	content_reader_destroy(reader);
	return error;
}

void content_runs_free(struct content_runs *runs)
{
	free(TAKE(runs->list));
	free(TAKE(runs->has_node));
}

/* --- Moving them -------------------------------------------------------------------------------------------------- */

/* A part of a run that is copied. */
struct piece {
	uint32_t run;
	uint64_t first, blocks; /* within the run */
};

struct moving {
	const struct plan *plan;
	struct image_file *file;
	const struct content_runs *runs;
	struct piece *pieces;
	size_t count, capacity;
	struct piece_worker *workers;
};

struct piece_worker {
	struct block_sharing sharing;
	struct run_writer writer;
};

static struct block_transfer transfer_of(const struct moving *moving, const struct content_run *run, uint64_t first,
                                         uint64_t blocks)
{
	const unsigned int block_bits = moving->plan->format.block_bits;

	return (struct block_transfer){
		.source = run->descriptor,
		.from = run->from_bytes + (first << block_bits),
		.to = moving->file->image.offset_bytes + ((run->start + first) << block_bits),
		.bytes = blocks << block_bits,
	};
}

/* One thread shares all: the kernel changes one file at a time. */
static errcode_t share_runs(const struct moving *moving, struct content_runs *runs, struct problem *problem,
                            uint64_t *shared_bytes)
{
	struct block_sharing sharing = block_sharing_create(moving->plan, moving->file);
	errcode_t error = 0;

	for (size_t number = 0; !error && number < runs->count; number++) {
		struct content_run *run = &runs->list[number];
		const struct block_transfer all = transfer_of(moving, run, 0, run->blocks);

		error = interrupt_pending() ? EINTR :
		                              block_sharing_share(&sharing, run->node, &all, &run->is_moved, problem);
		if (!error && run->is_moved)
			progress_add(moving->plan->options->progress, all.bytes, run->files);
	}
	*shared_bytes = sharing.shared_bytes;
	runs->refusal = sharing.refusal;
	return error;
}

static errcode_t list_pieces(struct moving *moving)
{
	const uint64_t most = PIECE_BYTES >> moving->plan->format.block_bits;

	for (size_t number = 0; number < moving->runs->count; number++) {
		const struct content_run *run = &moving->runs->list[number];

		for (uint64_t first = 0; !run->is_moved && first < run->blocks; first += most) {
			const struct piece piece = {
				.run = (uint32_t)number,
				.first = first,
				.blocks = run->blocks - first < most ? run->blocks - first : most,
			};
			errcode_t error =
				vector_add(&moving->pieces, &moving->count, &moving->capacity, &piece, sizeof(piece));

			if (error)
				return error;
		}
	}
	return 0;
}

static errcode_t read_and_write(const struct moving *moving, struct piece_worker *own, const struct piece *piece,
                                struct problem *problem)
{
	const struct content_run *run = &moving->runs->list[piece->run];
	const unsigned int block_bits = moving->plan->format.block_bits;
	const uint64_t most = RUN_WRITER_BYTES >> block_bits;

	for (uint64_t done = 0, blocks; done < piece->blocks; done += blocks) {
		void *bytes;

		blocks = piece->blocks - done < most ? piece->blocks - done : most;
		errcode_t error = run_writer_reserve(&own->writer, run->start + piece->first + done, blocks, &bytes);

		if (error)
			return problem_set(problem, error, moving->plan->options->image, "cannot write");
		error = whole_read(run->descriptor, bytes, blocks << block_bits,
		                   run->from_bytes + ((piece->first + done) << block_bits));
		if (error)
			return plan_node_problem(moving->plan, problem, run->node, error, "cannot read");
	}
	errcode_t error = run_writer_flush(&own->writer);

	return error ? problem_set(problem, error, moving->plan->options->image, "cannot write") : 0;
}

static errcode_t copy_piece(void *context, unsigned int worker, size_t number, struct problem *problem)
{
	const struct moving *moving = context;
	const struct piece *piece = &moving->pieces[number];
	const struct content_run *run = &moving->runs->list[piece->run];
	const struct block_transfer all = transfer_of(moving, run, piece->first, piece->blocks);
	struct piece_worker *own = &moving->workers[worker];

	if (interrupt_pending())
		return EINTR;
	errcode_t error = block_sharing_copy(&own->sharing, &all) ? 0 : read_and_write(moving, own, piece, problem);

	if (!error)
		progress_add(moving->plan->options->progress, all.bytes, piece->first ? 0 : run->files);
	return error;
}

static errcode_t copy_pieces(struct moving *moving, const struct workplace *work)
{
	unsigned int count = pool_workers(work->pool);
	SCOPE_FREE struct piece_worker *workers = calloc(count, sizeof(*workers));

	if (!workers)
		return ENOMEM;
	for (unsigned int worker = 0; worker < count; worker++) {
		workers[worker].sharing = block_sharing_create(moving->plan, moving->file);
		workers[worker].writer = run_writer_create(&moving->file->sink.sink);
	}
	moving->workers = workers;
	errcode_t error = pool_run(work->pool, moving->count, copy_piece, moving, work->problem);

	for (unsigned int worker = 0; worker < count; worker++)
		run_writer_free(&workers[worker].writer);
	return error;
}

/* --- Their hashes ------------------------------------------------------------------------------------------------- */

/* A salt of the image's own would be another one for each image, and none is met again. */
static bool takes_hashes(const struct plan *plan, const struct leaf_hashes *leaves)
{
	return leaves && leaves->known && plan->options->dm_verity.has_salt && plan->options->layer_cache.path &&
	       leaves->tree->data_block_bits == PACK_LEAVES_BLOCK_BITS &&
	       plan->format.block_bits == PACK_LEAVES_BLOCK_BITS;
}

static errcode_t take_of_run(struct leaf_hashes *leaves, const struct content_run *run, const struct pack_leaves *kept)
{
	const uint64_t first = (run->from_bytes - PACK_LEAVES_START_BYTES) >> PACK_LEAVES_BLOCK_BITS;

	if (!kept->hashes || first >= kept->blocks || run->blocks > kept->blocks - first)
		return 0;
	return leaf_hashes_take(leaves, kept->hashes + (first << leaves->tree->slot_bits), run->start, run->blocks);
}

/* For dm-verity: the hashes that are kept beside the packs. Runs of one pack follow each other. */
static errcode_t take_hashes(const struct moving *moving, const struct workplace *work)
{
	struct leaf_hashes *leaves = moving->file->sink.leaves;
	const struct content_runs *runs = moving->runs;
	struct pack_leaves kept = { 0 };
	struct layer_cache *cache;
	int pack = -1;

	if (!runs->count || !takes_hashes(moving->plan, leaves))
		return 0;
	errcode_t error = layer_cache_open(&moving->plan->options->layer_cache, &cache, work->problem);

	for (size_t number = 0; !error && number < runs->count; number++) {
		const struct content_run *run = &runs->list[number];

		if (run->descriptor != pack) {
			pack_leaves_free(&kept);
			error = pack_leaves_get(cache, run->descriptor, leaves->tree, work->pool, &kept, work->problem);
		}
		pack = run->descriptor;
		if (!error)
			error = take_of_run(leaves, run, &kept);
	}
	pack_leaves_free(&kept);
	layer_cache_close(cache);
	return error;
}

errcode_t content_runs_move(const struct plan *plan, struct image_file *file, const struct workplace *work,
                            struct content_runs *runs, uint64_t *shared_bytes)
{
	struct moving moving = { .plan = plan, .file = file, .runs = runs };
	errcode_t error = share_runs(&moving, runs, work->problem, shared_bytes);

	if (!error)
		error = list_pieces(&moving);
	if (!error && moving.count)
		error = copy_pieces(&moving, work);
	if (!error)
		error = take_hashes(&moving, work);
	free(moving.pieces);
	return error;
}
