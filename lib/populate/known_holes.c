// SPDX-License-Identifier: GPL-2.0-or-later
#include "populate/known_holes.h"

#include <sys/stat.h>

#include "populate/nonzero_data.h"

/* Adds the parts of one segment of the source that have blocks; *first: the first extent that may concern it. */
static errcode_t add_mapped(const struct build *build, const struct tree_segment *segment, uint64_t stored_start,
                            const struct file_extent *extents, uint32_t count, uint32_t *first, struct nonzero_data *found)
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
			error = nonzero_data_add(found, from, to, stored_start + (from - segment->start_bytes));
	}
	return error;
}

static errcode_t find_data(const struct build *build, uint32_t number, struct nonzero_data *found)
{
	const struct tree_node *node = build_node(build, number);
	const struct tree_segment whole = { 0, node->size_bytes };
	uint32_t count, first = 0, segments = node->is_sparse ? node->data_map->count : 1;
	struct file_extent single;
	const struct file_extent *extents = placement_extents(&build->placements[number], &single, &count);
	errcode_t error = 0;

	found->count = 0;
	for (uint32_t segment = 0; !error && segment < segments; segment++) {
		error = add_mapped(build, node->is_sparse ? &node->data_map->segments[segment] : &whole,
		                   nonzero_data_stored_start(build, number, segment), extents, count, &first, found);
	}
	return error;
}

errcode_t known_holes_take(struct build *build)
{
	struct nonzero_data found = { 0 };
	errcode_t error = 0;

	for (uint32_t node = 0; !error && node < build->tree->node_count; node++) {
		if (!S_ISREG(build_node(build, node)->mode) || tree_node_is_link(build->tree, node) ||
		    build->placements[node].is_inline)
			continue;
		error = find_data(build, node, &found);
		if (!error)
			error = nonzero_data_keep(build, node, &found);
	}
	nonzero_data_free(&found);
	return error;
}
