// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <sys/stat.h>

#include "populate/data/known_holes.h"
#include "populate/plan/needs.h"
#include "populate/data/nonzero_data.h"
#include "populate/data/zeros.h"
#include "source/host/content_reader.h"
#include "support/work/interrupt.h"
#include "support/vector.h"

/* A multiple of every cluster size but the largest, of which a part is looked at by itself. */
#define LOOK_BYTES (1u << 20)
/* What is read first of a piece that may be all zeros: a cache line. */
#define SAMPLE_BYTES 64u

/* A file with zeros, and what else it has. */
struct finding {
	uint32_t node;
	struct nonzero_data data;
};

/* Of one chunk of nodes, which one worker looks through. */
struct findings {
	struct finding *list;
	size_t count, capacity;
};

struct look_worker {
	struct content_reader *reader;
	char *bytes;
};

struct looking {
	struct build *build;
	struct findings *chunks;
	struct look_worker *workers;
	uint32_t step_bytes; /* what is a hole if it is all zeros; at most LOOK_BYTES */
	bool samples;        /* a step is read only where its first bytes are zeros */
};

/* Joins it to the last one where it goes on. */
static errcode_t add_data(struct nonzero_data *data, uint64_t start_bytes, uint64_t end_bytes, uint64_t stored_start,
                          bool goes_on)
{
	struct tree_segment *last = data->count ? &data->segments[data->count - 1] : NULL;

	if (goes_on && last && last->start_bytes + last->length_bytes == start_bytes) {
		last->length_bytes = end_bytes - last->start_bytes;
		return 0;
	}
	return nonzero_data_add(data, start_bytes, end_bytes, stored_start);
}

/* Says whether [from, to) of the file, of which nothing is read yet, need not be looked at. */
static errcode_t has_data_at_once(const struct looking *looking, const struct look_worker *own, uint64_t from,
                                  uint64_t to, bool *has_data, struct problem *problem)
{
	uint64_t sample_bytes = to - from < SAMPLE_BYTES ? to - from : SAMPLE_BYTES;

	*has_data = false;
	if (!looking->samples)
		return 0;
	errcode_t error = content_reader_read(own->reader, own->bytes, sample_bytes, from, problem);
	*has_data = !error && !bytes_are_zero(own->bytes, sample_bytes);
	return error;
}

/* Looks at one segment step by step. */
static errcode_t look_at_segment(const struct looking *looking, const struct look_worker *own,
                                 const struct tree_segment *segment, uint64_t stored_start, struct nonzero_data *data,
                                 struct problem *problem)
{
	uint64_t step_bytes = looking->step_bytes, read_bytes = looking->samples ? step_bytes : LOOK_BYTES;
	uint64_t end_bytes = segment->start_bytes + segment->length_bytes, position = segment->start_bytes;
	bool goes_on = false;

	for (uint64_t read_end; position < end_bytes; position = read_end) {
		bool has_data;

		read_end = (position / read_bytes + 1) * read_bytes;
		if (read_end > end_bytes)
			read_end = end_bytes;
		errcode_t error = has_data_at_once(looking, own, position, read_end, &has_data, problem);
		if (!error && !has_data)
			error = content_reader_read(own->reader, own->bytes, read_end - position, position, problem);
		for (uint64_t from = position, to; !error && from < read_end; from = to) {
			to = (from / step_bytes + 1) * step_bytes;
			to = to < read_end ? to : read_end;
			if (!has_data && bytes_are_zero(own->bytes + (from - position), to - from)) {
				goes_on = false;
				continue;
			}
			error = add_data(data, from, to, stored_start + (from - segment->start_bytes), goes_on);
			goes_on = true;
		}
		if (error)
			return error;
		if (!looking->samples)
			progress_add(looking->build->options->progress, read_end - position, 0);
	}
	return 0;
}

static errcode_t look_at_file(const struct looking *looking, const struct look_worker *own, uint32_t number,
                              struct nonzero_data *data, struct problem *problem)
{
	const struct build *build = looking->build;
	const struct tree_node *node = build_node(build, number);
	const struct tree_segment whole = { 0, node->size_bytes };
	uint32_t segments = node->is_sparse ? node->data_map->count : 1;
	errcode_t error = content_reader_open(own->reader, number, problem);

	for (uint32_t segment = 0; !error && segment < segments; segment++)
		error = look_at_segment(looking, own, node->is_sparse ? &node->data_map->segments[segment] : &whole,
		                        nonzero_data_stored_start(build, number, segment), data, problem);
	return error;
}

/* Files that one sample would say everything of are not worth opening. */
static bool is_worth_a_look(const struct looking *looking, uint32_t number)
{
	const struct tree_node *node = build_node(looking->build, number);

	return S_ISREG(node->mode) && !tree_node_is_link(looking->build->tree, number) && node->size_bytes &&
	       (!looking->samples || node->size_bytes >= looking->step_bytes);
}

static errcode_t look_at_chunk(void *context, unsigned int worker, size_t chunk, struct problem *problem)
{
	const struct looking *looking = context;
	const struct build *build = looking->build;
	struct findings *findings = &looking->chunks[chunk];
	uint32_t node = (uint32_t)chunk * NODES_PER_CHUNK, end = node + NODES_PER_CHUNK;

	if (end > build->tree->node_count)
		end = build->tree->node_count;
	for (; node < end; node++) {
		if (interrupt_pending())
			return EINTR;
		if (!is_worth_a_look(looking, node))
			continue;
		errcode_t error = vector_reserve(&findings->list, &findings->capacity, findings->count + 1,
		                                 sizeof(*findings->list));
		if (error)
			return problem_set(problem, error, NULL, "cannot note zeros");
		struct finding *finding = &findings->list[findings->count++];

		*finding = (struct finding){ .node = node };
		error = look_at_file(looking, &looking->workers[worker], node, &finding->data, problem);
		if (error)
			return problem_set(problem, error, NULL, "cannot note zeros");
		if (!looking->samples)
			progress_add(build->options->progress, 0, 1);
	}
	return 0;
}

static errcode_t open_workers(const struct looking *looking)
{
	errcode_t error = looking->workers && looking->chunks ? 0 : ENOMEM;

	for (unsigned int worker = 0; !error && worker < pool_workers(looking->build->pool); worker++) {
		error = content_reader_create(looking->build->tree, &looking->workers[worker].reader);
		looking->workers[worker].bytes = malloc(LOOK_BYTES);
		if (!error && !looking->workers[worker].bytes)
			error = ENOMEM;
	}
	return error;
}

/* Applies what was found, unless `error`, and frees it. */
static errcode_t close_looking(const struct looking *looking, errcode_t error)
{
	for (uint32_t chunk = 0; looking->chunks && chunk < build_chunk_count(looking->build); chunk++) {
		struct findings *findings = &looking->chunks[chunk];

		for (size_t number = 0; number < findings->count; number++) {
			struct finding *finding = &findings->list[number];

			if (!error)
				error = nonzero_data_keep(looking->build, finding->node, &finding->data);
			nonzero_data_free(&finding->data);
		}
		free(findings->list);
	}
	for (unsigned int worker = 0; looking->workers && worker < pool_workers(looking->build->pool); worker++) {
		content_reader_destroy(looking->workers[worker].reader);
		free(looking->workers[worker].bytes);
	}
	return error;
}

static errcode_t look(struct build *build, uint32_t step_bytes, bool samples)
{
	SCOPE_FREE struct findings *chunks = calloc(build_chunk_count(build), sizeof(*chunks));
	SCOPE_FREE struct look_worker *workers = calloc(pool_workers(build->pool), sizeof(*workers));
	struct looking looking = { build, chunks, workers, step_bytes < LOOK_BYTES ? step_bytes : LOOK_BYTES, samples };

	errcode_t error = open_workers(&looking);
	if (!error)
		error = pool_run(build->pool, build_chunk_count(build), look_at_chunk, &looking, build->problem);
	if (!error)
		error = content_reader_check(build->tree, build->problem);
	error = close_looking(&looking, error);
	return error ? problem_set(build->problem, error, build->options->image, "cannot look for zeros") : 0;
}

errcode_t known_holes_look_for_long(struct build *build)
{
	uint32_t cluster_bytes = build->format.block_bytes << build->format.cluster_bits;

	return look(build, cluster_bytes > KNOWN_HOLES_LONG_BYTES ? cluster_bytes : KNOWN_HOLES_LONG_BYTES, true);
}

errcode_t known_holes_look(struct build *build)
{
	progress_stage(build->options->progress, "look for zeros", build->data_bytes, 0);
	return look(build, build->format.block_bytes << build->format.cluster_bits, false);
}
