// SPDX-License-Identifier: GPL-2.0-or-later
#include "populate/data/known_holes.h"

#include "populate/data/nonzero_data.h"

/* Zeros of one node, ascending. */
struct node_zeros {
	const struct zero_run *runs;
	size_t count;
	size_t next; /* the first that may concern what follows */
};

/* Adds what one segment of the source has beside zeros. */
static errcode_t add_nonzero(const struct build *build, const struct tree_segment *segment, uint64_t stored_start,
                             struct node_zeros *zeros, struct nonzero_data *found)
{
	uint64_t from = segment->start_bytes, end_bytes = segment->start_bytes + segment->length_bytes;
	errcode_t error = 0;

	for (; !error && zeros->next < zeros->count && from < end_bytes; zeros->next++) {
		const struct zero_run *run = &zeros->runs[zeros->next];
		uint64_t zero_start = (uint64_t)run->logical << build->format.block_bits;
		uint64_t zero_end = zero_start + ((uint64_t)run->blocks << build->format.block_bits);

		if (zero_start >= end_bytes)
			break;
		if (zero_start > from)
			error = nonzero_data_add(found, from, zero_start, stored_start + (from - segment->start_bytes));
		from = zero_end > from ? zero_end : from;
		/* It may reach into the next segment. */
		if (zero_end > end_bytes)
			break;
	}
	if (!error && from < end_bytes)
		error = nonzero_data_add(found, from, end_bytes, stored_start + (from - segment->start_bytes));
	return error;
}

static errcode_t find_data(const struct build *build, uint32_t number, struct node_zeros *zeros,
                           struct nonzero_data *found)
{
	const struct tree_node *node = build_node(build, number);
	const struct tree_segment whole = { 0, node->size_bytes };
	uint32_t segments = node->is_sparse ? node->data_map->count : 1;
	errcode_t error = 0;

	found->count = 0;
	for (uint32_t segment = 0; !error && segment < segments; segment++)
		error = add_nonzero(build, node->is_sparse ? &node->data_map->segments[segment] : &whole,
		                    nonzero_data_stored_start(build, number, segment), zeros, found);
	return error;
}

errcode_t known_holes_take(struct build *build)
{
	const struct zero_list *all = &build->zeros;
	struct nonzero_data found = { 0 };
	errcode_t error = 0;

	for (size_t first = 0, end; !error && first < all->count; first = end) {
		uint32_t node = all->runs[first].node;

		for (end = first; end < all->count && all->runs[end].node == node; end++)
			;
		struct node_zeros zeros = { .runs = &all->runs[first], .count = end - first };

		error = find_data(build, node, &zeros, &found);
		if (!error)
			error = nonzero_data_keep(build, node, &found);
	}
	nonzero_data_free(&found);
	return error;
}
