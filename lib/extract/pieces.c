/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/pieces.h"

void piece_cursor_start(struct piece_cursor *cursor, const struct selection *selection, enum piece_contents contents)
{
	*cursor = (struct piece_cursor){ .selection = selection, .contents = contents };
}

bool piece_has_contents(const struct selection *selection, uint32_t node)
{
	return S_ISREG(selection->tree->nodes[node].mode) && selection_has(selection, node) &&
	       selection_first_name(selection, node) == node;
}

/* Returns the node that holds a file's contents, whichever name of the file is selected first. */
static const struct tree_node *file_of(const struct selection *selection, uint32_t node)
{
	return &selection->tree->nodes[selection->tree->nodes[node].link_to];
}

bool piece_is_long(const struct selection *selection, uint32_t node)
{
	return piece_has_contents(selection, node) && selection_data_bytes(file_of(selection, node)) > PIECE_DATA_BYTES;
}

bool piece_range_next(const struct tree_node *node, uint64_t *at, uint64_t stop, uint32_t *segment,
                      struct piece_range *range)
{
	uint64_t end = stop;

	if (*at >= stop)
		return false;
	*range = (struct piece_range){ .start = *at };
	if (node->is_sparse) {
		const struct tree_data_map *map = node->data_map;

		while (*segment < map->count &&
		       map->segments[*segment].start_bytes + map->segments[*segment].length_bytes <= *at)
			++*segment;
		range->is_hole = *segment == map->count || *at < map->segments[*segment].start_bytes;
		if (*segment < map->count)
			end = map->segments[*segment].start_bytes +
			      (range->is_hole ? 0 : map->segments[*segment].length_bytes);
		end = end < stop ? end : stop;
	}
	range->length = end - *at;
	*at = end;
	return true;
}

/*
 * Returns the end of a part that begins at `at`. A part has as much data as a piece may have, and the holes around
 * them.
 */
static uint64_t part_end(const struct tree_node *node, uint64_t at, uint32_t segment)
{
	uint64_t data_bytes = 0;
	struct piece_range range;

	while (data_bytes < PIECE_DATA_BYTES && piece_range_next(node, &at, node->size_bytes, &segment, &range)) {
		if (range.is_hole)
			continue;
		uint64_t room = PIECE_DATA_BYTES - data_bytes;

		if (range.length > room)
			return range.start + room;
		data_bytes += range.length;
	}
	return at;
}

/* A hole after the last data belongs to the last part. */
static uint64_t without_last_hole(const struct tree_node *node, uint64_t stop, uint32_t segment)
{
	struct piece_range range;
	uint64_t at = stop;

	return piece_range_next(node, &at, node->size_bytes, &segment, &range) && range.is_hole &&
	                       at == node->size_bytes ?
	               at :
	               stop;
}

static void set_part(const struct selection *selection, struct piece *piece, uint64_t start, uint32_t segment)
{
	const struct tree_node *node = file_of(selection, piece->first);
	uint64_t at = start;
	struct piece_range range;

	piece->is_part = true;
	piece->end = piece->first + 1;
	piece->start = start;
	piece->segment = segment;
	piece->stop = without_last_hole(node, part_end(node, start, segment), segment);
	piece->is_file_first = start == 0;
	piece->is_file_last = piece->stop == node->size_bytes;
	/* This sets piece->segment, so that no part has to search for its segment from the beginning. */
	piece_range_next(node, &at, start + 1, &piece->segment, &range);
}

/* Sets the nodes of a piece: as many as fit. */
static void set_nodes(const struct piece_cursor *cursor, struct piece *piece)
{
	const struct selection *selection = cursor->selection;
	uint64_t data_bytes = 0;

	*piece = (struct piece){ .number = piece->number, .first = piece->first };
	for (piece->end = piece->first; piece->end < selection->tree->node_count; piece->end++) {
		uint32_t node = piece->end;
		uint64_t more =
			piece_has_contents(selection, node) ? selection_data_bytes(file_of(selection, node)) : 0;
		bool is_long = more > PIECE_DATA_BYTES;

		if (is_long && cursor->contents == PIECES_OF_ALL)
			break;
		if (is_long && cursor->contents == PIECES_WITHOUT_LONG)
			more = 0;
		if (piece->end > piece->first &&
		    (data_bytes + more > PIECE_DATA_BYTES || piece->end - piece->first >= PIECE_NODES))
			break;
		data_bytes += more;
	}
}

bool piece_cursor_next(struct piece_cursor *cursor, struct piece *piece)
{
	const struct selection *selection = cursor->selection;
	struct piece *next = &cursor->next;
	bool has_parts = cursor->contents == PIECES_OF_ALL || cursor->contents == PIECES_OF_LONG;

	next->number += cursor->has_begun;
	if (cursor->has_begun && next->is_part && !next->is_file_last) {
		set_part(selection, next, next->stop, next->segment);
		*piece = *next;
		return true;
	}
	cursor->has_begun = true;
	next->first = next->end;
	while (cursor->contents == PIECES_OF_LONG && next->first < selection->tree->node_count &&
	       !piece_is_long(selection, next->first))
		next->first++;
	next->end = next->first;
	if (next->first == selection->tree->node_count)
		return false;
	if (has_parts && piece_is_long(selection, next->first))
		set_part(selection, next, 0, 0);
	else
		set_nodes(cursor, next);
	*piece = *next;
	return true;
}
