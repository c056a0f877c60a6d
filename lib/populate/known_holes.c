// SPDX-License-Identifier: GPL-2.0-or-later
#include "populate/known_holes.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "support/vector.h"

/* The data of one file that are no zeros. */
struct found {
	struct tree_segment *segments;
	uint64_t *stored_starts;
	size_t count, capacity, stored_capacity;
};

static errcode_t add(struct found *found, uint64_t start_bytes, uint64_t end_bytes, uint64_t stored_start)
{
	errcode_t error =
		vector_reserve(&found->segments, &found->capacity, found->count + 1, sizeof(*found->segments));

	if (!error)
		error = vector_reserve(&found->stored_starts, &found->stored_capacity, found->count + 1,
		                       sizeof(*found->stored_starts));
	if (error)
		return error;
	found->segments[found->count] = (struct tree_segment){ start_bytes, end_bytes - start_bytes };
	found->stored_starts[found->count++] = stored_start;
	return 0;
}

/* Adds the parts of one segment of the source that have blocks; *first: the first extent that may concern it. */
static errcode_t add_mapped(const struct build *build, const struct tree_segment *segment, uint64_t stored_start,
                            const struct file_extent *extents, uint32_t count, uint32_t *first, struct found *found)
{
	uint64_t end_bytes = segment->start_bytes + segment->length_bytes;
	errcode_t error = 0;

	for (uint32_t number = *first; !error && number < count; number++) {
		uint64_t from = (uint64_t)extents[number].logical << build->format.block_bits;
		uint64_t to = from + ((uint64_t)extents[number].count << build->format.block_bits);

		if (to <= segment->start_bytes) {
			*first = number + 1;
			continue;
		}
		if (from >= end_bytes)
			break;
		from = from > segment->start_bytes ? from : segment->start_bytes;
		to = to < end_bytes ? to : end_bytes;
		struct tree_segment *last = found->count ? &found->segments[found->count - 1] : NULL;

		/* Extents may touch; segments may not, unless they lie apart where they are stored. */
		if (last && number > *first && last->start_bytes + last->length_bytes == from)
			last->length_bytes += to - from;
		else
			error = add(found, from, to, stored_start + (from - segment->start_bytes));
	}
	return error;
}

static errcode_t find_data(const struct build *build, uint32_t number, struct found *found)
{
	const struct tree_node *node = build_node(build, number);
	bool is_stored = build->tree->origins[node->origin].kind == TREE_ORIGIN_STORED;
	const struct tree_segment whole = { 0, node->size_bytes };
	uint32_t count, first = 0, segments = node->is_sparse ? node->data_map->count : 1;
	struct file_extent single;
	const struct file_extent *extents = placement_extents(&build->placements[number], &single, &count);
	errcode_t error = 0;

	found->count = 0;
	for (uint32_t segment = 0; !error && segment < segments; segment++) {
		uint64_t stored_start = 0;

		if (is_stored)
			stored_start = node->is_sparse ? node->data_map->stored_starts[segment] : node->stored_start;
		error = add_mapped(build, node->is_sparse ? &node->data_map->segments[segment] : &whole, stored_start,
		                   extents, count, &first, found);
	}
	return error;
}

static uint64_t data_bytes(const struct tree_segment *segments, size_t count)
{
	uint64_t bytes = 0;

	for (size_t segment = 0; segment < count; segment++)
		bytes += segments[segment].length_bytes;
	return bytes;
}

/* Gives the node what was found, unless that is all that it had. */
static errcode_t take(struct build *build, uint32_t number, const struct found *found)
{
	struct tree *tree = build->tree;
	struct tree_node *node = &tree->nodes[number];
	uint64_t had_bytes =
		node->is_sparse ? data_bytes(node->data_map->segments, node->data_map->count) : node->size_bytes;

	if (data_bytes(found->segments, found->count) == had_bytes)
		return 0;
	struct tree_data_map *map = arena_alloc(&tree->memory, sizeof(*map) + found->count * sizeof(*found->segments));
	uint64_t *starts = arena_alloc(&tree->memory, (found->count + 1) * sizeof(*starts));

	if (!map || !starts)
		return ENOMEM;
	map->count = (uint32_t)found->count;
	if (found->count) {
		memcpy(map->segments, found->segments, found->count * sizeof(*found->segments));
		memcpy(starts, found->stored_starts, found->count * sizeof(*starts));
	}
	map->stored_starts = starts;
	node->is_sparse = true;
	node->data_map = map;
	return 0;
}

errcode_t known_holes_take(struct build *build)
{
	struct found found = { 0 };
	errcode_t error = 0;

	for (uint32_t node = 0; !error && node < build->tree->node_count; node++) {
		if (!S_ISREG(build_node(build, node)->mode) || tree_node_is_link(build->tree, node) ||
		    build->placements[node].is_inline)
			continue;
		error = find_data(build, node, &found);
		if (!error)
			error = take(build, node, &found);
	}
	free(found.segments);
	free(found.stored_starts);
	return error;
}
