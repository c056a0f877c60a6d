/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "contents/zero_detection.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "contents/block_runs.h"
#include "support/bits.h"
#include "tree/contents.h"
#include "tree/node_tasks.h"
#include "support/vector.h"
#include "support/run/interrupt.h"
#include "support/zeros.h"

/* The bytes that are read at once: a multiple of every cluster size but the largest, which is judged in pieces. */
#define LOOK_BYTES (1u << 20)
/* The first bytes of a piece that may be all zeros, which are read before the rest: a cache line. */
#define SAMPLE_BYTES 64u

static errcode_t note(struct zero_runs *list, uint32_t node, uint32_t logical, uint32_t blocks)
{
	struct zero_run *last = list->count ? &list->runs[list->count - 1] : NULL;

	if (last && last->node == node && last->logical + last->blocks == logical) {
		last->blocks += blocks;
		return 0;
	}
	errcode_t error = vector_reserve(&list->runs, &list->capacity, list->count + 1, sizeof(*list->runs));
	if (error)
		return error;
	list->runs[list->count++] = (struct zero_run){ node, logical, blocks };
	return 0;
}

errcode_t zero_runs_find(const struct ondisk_format *format, uint32_t node, uint32_t logical, const void *bytes,
                         size_t count, struct zero_runs *list)
{
	size_t step = (size_t)format->block_bytes << format->cluster_bits;
	const char *next = bytes;

	while (count) {
		size_t length = count < step ? count : step;
		uint32_t blocks = (uint32_t)((length + format->block_bytes - 1) >> format->block_bits);

		if (bytes_are_zero(next, length)) {
			errcode_t error = note(list, node, logical, blocks);

			if (error)
				return error;
		}
		next += length;
		logical += blocks;
		count -= length;
	}
	return 0;
}

static int compare_runs(const void *left, const void *right)
{
	const struct zero_run *a = left, *b = right;

	if (a->node != b->node)
		return a->node < b->node ? -1 : 1;
	return a->logical < b->logical ? -1 : a->logical > b->logical;
}

errcode_t zero_runs_join(struct zero_runs *all, struct zero_runs *list)
{
	if (!list->count)
		return 0;
	errcode_t error = vector_reserve(&all->runs, &all->capacity, all->count + list->count, sizeof(*all->runs));
	if (error)
		return error;
	memcpy(&all->runs[all->count], list->runs, list->count * sizeof(*all->runs));
	all->count += list->count;
	list->count = 0;
	return 0;
}

void zero_runs_sort(struct zero_runs *list)
{
	list->blocks = 0;
	if (list->count)
		qsort(list->runs, list->count, sizeof(*list->runs), compare_runs);
	for (size_t run = 0; run < list->count; run++)
		list->blocks += list->runs[run].blocks;
}

/* A file's data that are not zeros: ascending segments. */
struct nonzero_data {
	struct tree_segment *segments;
	size_t count, capacity;
};

/* A segment of a file as the source has it. */
struct source_segment {
	uint64_t start_bytes, end_bytes;
};

static uint32_t segment_count(const struct tree_node *node)
{
	return node->is_sparse ? node->data_map->count : 1;
}

static struct source_segment segment_of(const struct tree_node *node, uint32_t number)
{
	const struct tree_segment whole = { 0, node->size_bytes };
	const struct tree_segment *segment = node->is_sparse ? &node->data_map->segments[number] : &whole;

	return (struct source_segment){
		.start_bytes = segment->start_bytes,
		.end_bytes = segment->start_bytes + segment->length_bytes,
	};
}

/* Adds bytes [from, to), and joins them to the last segment if they follow it. ENOMEM. */
static errcode_t add_data(struct nonzero_data *data, uint64_t from, uint64_t to)
{
	struct tree_segment *last = data->count ? &data->segments[data->count - 1] : NULL;

	if (last && last->start_bytes + last->length_bytes == from) {
		last->length_bytes += to - from;
		return 0;
	}
	errcode_t error = vector_reserve(&data->segments, &data->capacity, data->count + 1, sizeof(*data->segments));

	if (!error)
		data->segments[data->count++] = (struct tree_segment){ from, to - from };
	return error;
}

/*
 * Makes zeros data again if they would be a hole that is not worth its extent: zeros that are shorter than the least
 * hole and have data of the same segment on both sides.
 */
static void fill_short_gaps(const struct zero_detection *detection, const struct tree_node *node,
                            struct nonzero_data *data)
{
	size_t last = 0;

	if (!detection->least_hole_bytes)
		return;
	for (size_t next = 1, number = 0; next < data->count; next++) {
		const struct tree_segment segment = data->segments[next];
		uint64_t gap_start = data->segments[last].start_bytes + data->segments[last].length_bytes;
		struct source_segment source = segment_of(node, (uint32_t)number);

		while (source.end_bytes <= segment.start_bytes)
			source = segment_of(node, (uint32_t)++number);
		if (source.start_bytes < gap_start && segment.start_bytes - gap_start < detection->least_hole_bytes) {
			data->segments[last].length_bytes += segment.start_bytes - gap_start + segment.length_bytes;
			continue;
		}
		data->segments[++last] = segment;
	}
	data->count = data->count ? last + 1 : 0;
}

/* Returns how many bytes of the node's data are not in `data`. */
static uint64_t other_bytes(const struct tree_node *node, const struct nonzero_data *data)
{
	uint64_t bytes = 0;

	for (uint32_t number = 0; number < segment_count(node); number++) {
		struct source_segment segment = segment_of(node, number);

		bytes += segment.end_bytes - segment.start_bytes;
	}
	for (size_t segment = 0; segment < data->count; segment++)
		bytes -= data->segments[segment].length_bytes;
	return bytes;
}

/* Makes `data` the node's only data, and the rest holes if they pay. ENOMEM. */
static errcode_t keep_only(struct zero_detection *detection, uint32_t number, struct nonzero_data *data)
{
	struct tree *tree = detection->tree;
	struct tree_node *node = &tree->nodes[number];

	fill_short_gaps(detection, node, data);
	uint64_t zero_bytes = other_bytes(node, data);
	if (!zero_bytes)
		return 0;
	struct tree_data_map *map = arena_alloc(&tree->memory, sizeof(*map) + data->count * sizeof(*data->segments));

	if (!map)
		return ENOMEM;
	map->contents = tree_contents(node);
	map->count = (uint32_t)data->count;
	if (data->count)
		memcpy(map->segments, data->segments, data->count * sizeof(*data->segments));
	node->is_sparse = true;
	node->data_map = map;
	detection->known_zero_bytes += zero_bytes;
	return 0;
}

/* A node's runs of zeros, in ascending order. */
struct node_zeros {
	const struct zero_run *runs;
	size_t count;
	size_t next; /* the first run that may lie in the following segments */
};

/* Adds the data of one segment of the source that are not zeros. */
static errcode_t add_nonzero(const struct zero_detection *detection, const struct source_segment *segment,
                             struct node_zeros *zeros, struct nonzero_data *data)
{
	uint64_t from = segment->start_bytes;
	errcode_t error = 0;

	for (; !error && zeros->next < zeros->count && from < segment->end_bytes; zeros->next++) {
		const struct zero_run *run = &zeros->runs[zeros->next];
		uint64_t zero_start = (uint64_t)run->logical << detection->format->block_bits;
		uint64_t zero_end = zero_start + ((uint64_t)run->blocks << detection->format->block_bits);

		if (zero_start >= segment->end_bytes)
			break;
		if (zero_start > from)
			error = add_data(data, from, zero_start);
		from = zero_end > from ? zero_end : from;
		/* The zeros may reach into the next segment. */
		if (zero_end > segment->end_bytes)
			break;
	}
	return !error && from < segment->end_bytes ? add_data(data, from, segment->end_bytes) : error;
}

/* Computes a node's data without its zeros; `data` is reused. */
static errcode_t nonzero_of(const struct zero_detection *detection, uint32_t number, struct node_zeros *zeros,
                            struct nonzero_data *data)
{
	const struct tree_node *node = &detection->tree->nodes[number];
	errcode_t error = 0;

	data->count = 0;
	for (uint32_t next = 0; !error && next < segment_count(node); next++) {
		const struct source_segment segment = segment_of(node, next);

		error = add_nonzero(detection, &segment, zeros, data);
	}
	return error;
}

/* Returns the runs of the node that run `first` belongs to. */
static struct node_zeros zeros_of_node(const struct zero_runs *all, size_t first)
{
	size_t end = first;

	while (end < all->count && all->runs[end].node == all->runs[first].node)
		end++;
	return (struct node_zeros){ .runs = &all->runs[first], .count = end - first };
}

errcode_t zero_detection_count(const struct zero_detection *detection, const struct zero_runs *all, uint64_t *blocks)
{
	struct nonzero_data data = { 0 };
	errcode_t error = 0;

	*blocks = 0;
	for (size_t first = 0; !error && first < all->count;) {
		struct node_zeros zeros = zeros_of_node(all, first);
		const struct tree_node *node = &detection->tree->nodes[all->runs[first].node];

		error = nonzero_of(detection, all->runs[first].node, &zeros, &data);
		fill_short_gaps(detection, node, &data);
		/* Only a file's last block can be shorter than a block. */
		*blocks += (other_bytes(node, &data) + detection->format->block_bytes - 1) >>
		           detection->format->block_bits;
		first += zeros.count;
	}
	free(data.segments);
	return error;
}

errcode_t zero_detection_apply(struct zero_detection *detection, const struct zero_runs *all)
{
	struct nonzero_data data = { 0 };
	errcode_t error = 0;

	for (size_t first = 0; !error && first < all->count;) {
		struct node_zeros zeros = zeros_of_node(all, first);
		uint32_t number = all->runs[first].node;

		error = nonzero_of(detection, number, &zeros, &data);
		if (!error)
			error = keep_only(detection, number, &data);
		first += zeros.count;
	}
	free(data.segments);
	return error;
}

/* A file with zeros, and its other data. */
struct finding {
	uint32_t node;
	struct nonzero_data data;
};

/* The findings of one task. */
struct findings {
	struct finding *list;
	size_t count, capacity;
};

struct search_worker {
	struct content_reader *reader;
	char *bytes;
};

struct zero_search {
	struct zero_detection *detection;
	struct findings *tasks;
	struct search_worker *workers;
	uint32_t step_bytes;  /* this many bytes become a hole if they are all zeros; at most LOOK_BYTES */
	const uint64_t *only; /* a bit for each node that is searched; NULL: all are */
	bool samples;         /* a step is read only if its first bytes are zeros */
	uint32_t task_nodes;  /* of one task */
	size_t task_count;
};

/* Many readers need many tasks. The findings do not depend on them. */
#define SLOW_TASK_NODES 64u

/* Sets *has_data if the first bytes of [from, to) already show that not all are zeros. */
static errcode_t sample(const struct zero_search *search, const struct search_worker *own, uint64_t from, uint64_t to,
                        bool *has_data, struct problem *problem)
{
	uint64_t sample_bytes = to - from < SAMPLE_BYTES ? to - from : SAMPLE_BYTES;

	*has_data = false;
	if (!search->samples)
		return 0;
	errcode_t error = content_reader_read(own->reader, own->bytes, sample_bytes, from, problem);
	*has_data = !error && !bytes_are_zero(own->bytes, sample_bytes);
	return error;
}

/* Searches one segment step by step. */
static errcode_t search_segment(const struct zero_search *search, const struct search_worker *own,
                                const struct source_segment *segment, struct nonzero_data *data,
                                struct problem *problem)
{
	uint64_t step_bytes = search->step_bytes, read_bytes = search->samples ? step_bytes : LOOK_BYTES;

	for (uint64_t position = segment->start_bytes, read_end; position < segment->end_bytes; position = read_end) {
		bool has_data;

		read_end = (position / read_bytes + 1) * read_bytes;
		if (read_end > segment->end_bytes)
			read_end = segment->end_bytes;
		errcode_t error = sample(search, own, position, read_end, &has_data, problem);
		if (!error && !has_data)
			error = content_reader_read(own->reader, own->bytes, read_end - position, position, problem);
		for (uint64_t from = position, to; !error && from < read_end; from = to) {
			to = (from / step_bytes + 1) * step_bytes;
			to = to < read_end ? to : read_end;
			if (has_data || !bytes_are_zero(own->bytes + (from - position), to - from))
				error = add_data(data, from, to);
		}
		if (error)
			return error;
		if (!search->samples)
			progress_add(search->detection->progress, read_end - position, 0);
	}
	return 0;
}

/* mkswap(8) ends the first page with this and makes no file of fewer than ten pages. */
static const char swap_signature[] = "SWAPSPACE2";
#define SWAP_SIGNATURE_BYTES (sizeof(swap_signature) - 1)
#define LEAST_SWAP_PAGE 4096u
#define MOST_SWAP_PAGE 65536u
#define LEAST_SWAP_PAGES 10u

errcode_t zeros_may_be_holes(const struct zero_detection *detection, struct content_reader *reader, uint32_t node,
                             bool *may, struct problem *problem)
{
	const uint64_t size_bytes = detection->tree->nodes[node].size_bytes;
	char found[SWAP_SIGNATURE_BYTES];

	*may = !block_runs_unwritten(detection->format, detection->tree, node);
	for (uint32_t page = LEAST_SWAP_PAGE; *may && detection->keeps_swap_files && page <= MOST_SWAP_PAGE &&
	                                      (uint64_t)page * LEAST_SWAP_PAGES <= size_bytes;
	     page *= 2) {
		errcode_t error = content_reader_read(reader, found, sizeof(found), page - sizeof(found), problem);

		if (error)
			return error;
		*may = memcmp(found, swap_signature, sizeof(found)) != 0;
	}
	return 0;
}

static errcode_t search_file(const struct zero_search *search, const struct search_worker *own, uint32_t number,
                             struct nonzero_data *data, struct problem *problem)
{
	const struct tree_node *node = &search->detection->tree->nodes[number];
	errcode_t error = content_reader_open(own->reader, number, problem);
	bool may;

	if (!error)
		error = zeros_may_be_holes(search->detection, own->reader, number, &may, problem);
	for (uint32_t next = 0; !error && next < segment_count(node); next++) {
		const struct source_segment segment = segment_of(node, next);

		error = may ? search_segment(search, own, &segment, data, problem) :
		              add_data(data, segment.start_bytes, segment.end_bytes);
	}
	return error;
}

/* Files shorter than one step are not worth opening. */
static bool is_worth_a_look(const struct zero_search *search, uint32_t number)
{
	const struct tree_node *node = &search->detection->tree->nodes[number];

	return (!search->only || bits_test(search->only, number)) && S_ISREG(node->mode) && !node->is_encrypted &&
	       !tree_node_is_link(search->detection->tree, number) && node->size_bytes &&
	       (!search->samples || node->size_bytes >= search->step_bytes);
}

static errcode_t search_nodes(void *context, unsigned int worker, size_t task, struct problem *problem)
{
	const struct zero_search *search = context;
	struct findings *findings = &search->tasks[task];
	struct node_range nodes = node_part(search->detection->tree, search->task_nodes, task);

	for (uint32_t node = nodes.first; node < nodes.end; node++) {
		if (interrupt_pending())
			return EINTR;
		if (!is_worth_a_look(search, node))
			continue;
		errcode_t error = vector_reserve(&findings->list, &findings->capacity, findings->count + 1,
		                                 sizeof(*findings->list));
		if (error)
			return problem_set(problem, error, NULL, "cannot note zeros");
		struct finding *finding = &findings->list[findings->count++];

		*finding = (struct finding){ .node = node };
		error = search_file(search, &search->workers[worker], node, &finding->data, problem);
		if (error)
			return problem_set(problem, error, NULL, "cannot note zeros");
		if (!search->samples)
			progress_add(search->detection->progress, 0, 1);
	}
	return 0;
}

static errcode_t open_workers(const struct zero_search *search)
{
	errcode_t error = search->workers && search->tasks ? 0 : ENOMEM;

	for (unsigned int worker = 0; !error && worker < pool_workers(search->detection->readers); worker++) {
		error = content_reader_create(search->detection->tree, &search->workers[worker].reader);
		search->workers[worker].bytes = malloc(LOOK_BYTES);
		if (!error && !search->workers[worker].bytes)
			error = ENOMEM;
	}
	return error;
}

/* Applies the findings, unless there is an error, and frees them. */
static errcode_t finish(const struct zero_search *search, errcode_t error)
{
	for (size_t task = 0; search->tasks && task < search->task_count; task++) {
		struct findings *findings = &search->tasks[task];

		for (size_t number = 0; number < findings->count; number++) {
			struct finding *finding = &findings->list[number];

			if (!error)
				error = keep_only(search->detection, finding->node, &finding->data);
			free(finding->data.segments);
		}
		free(findings->list);
	}
	for (unsigned int worker = 0; search->workers && worker < pool_workers(search->detection->readers); worker++) {
		content_reader_destroy(search->workers[worker].reader);
		free(search->workers[worker].bytes);
	}
	return error;
}

static errcode_t run_search(struct zero_detection *detection, uint32_t step_bytes, bool samples, const uint64_t *only)
{
	bool reads_slowly = pool_active(detection->readers) > pool_workers(detection->pool);
	uint32_t task_nodes = reads_slowly ? SLOW_TASK_NODES : NODES_PER_TASK;
	size_t task_count = node_part_count(detection->tree, task_nodes);
	SCOPE_FREE struct findings *tasks = calloc(task_count, sizeof(*tasks));
	SCOPE_FREE struct search_worker *workers = calloc(pool_workers(detection->readers), sizeof(*workers));
	struct zero_search search = {
		.detection = detection,
		.tasks = tasks,
		.workers = workers,
		.step_bytes = step_bytes < LOOK_BYTES ? step_bytes : LOOK_BYTES,
		.only = only,
		.samples = samples,
		.task_nodes = task_nodes,
		.task_count = task_count,
	};

	errcode_t error = open_workers(&search);
	if (!error)
		error = pool_run(detection->readers, search.task_count, search_nodes, &search, detection->problem);
	if (!error)
		error = contents_check(detection->tree, detection->problem);
	error = finish(&search, error);
	return error ? problem_set(detection->problem, error, detection->image, "cannot look for zeros") : 0;
}

errcode_t zero_detection_search_long(struct zero_detection *detection, const uint64_t *only)
{
	uint32_t cluster_bytes = detection->format->block_bytes << detection->format->cluster_bits;

	return run_search(detection,
	                  cluster_bytes > ZERO_DETECTION_LONG_BYTES ? cluster_bytes : ZERO_DETECTION_LONG_BYTES, true,
	                  only);
}

errcode_t zero_detection_search(struct zero_detection *detection, uint64_t data_bytes)
{
	progress_stage(detection->progress, "look for zeros", data_bytes, 0);
	return run_search(detection, detection->format->block_bytes << detection->format->cluster_bits, false, NULL);
}
