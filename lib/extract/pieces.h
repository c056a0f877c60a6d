/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A piece is read by one thread: some neighbouring nodes with all their contents, or a part of one long file. Pieces
 * are cut while others are read, so that a file of 16 TiB needs no list of them; where they are cut depends on the
 * tree alone.
 */
#pragma once

#include "extract/selection.h"

/* A worker reads this much before another has its turn: the memory that reading ahead takes is bounded by it. */
#define PIECE_DATA_BYTES ((uint64_t)1 << 20)
#define PIECE_NODES 256u

/* Which contents pieces have. A long file has more than PIECE_DATA_BYTES of data. */
enum piece_contents {
	PIECES_OF_ALL,       /* long files in parts */
	PIECES_OF_FILES,     /* each file is whole, however long it is */
	PIECES_WITHOUT_LONG, /* long files are there, but not their data */
	PIECES_OF_LONG,      /* parts of long files, and nothing else */
};

struct piece {
	uint64_t number;                  /* in their order, from 0 */
	uint32_t first, end;              /* nodes, of which those count that are selected */
	bool is_part;                     /* of the one node that it has: */
	uint64_t start, stop;             /* bytes of its contents */
	uint32_t segment;                 /* of its map: the first one that is not over at `start` */
	bool is_file_first, is_file_last; /* its first part, and its last one */
};

struct piece_cursor {
	const struct selection *selection;
	enum piece_contents contents;
	struct piece next; /* the last one, as far as it tells where to go on */
	bool has_begun;
};

void piece_cursor_start(struct piece_cursor *cursor, const struct selection *selection, enum piece_contents contents);

/* The next piece; false: there is none. One thread at a time. */
bool piece_cursor_next(struct piece_cursor *cursor, struct piece *piece);

/* A part of a file that lies within a piece, and is either data or a hole. */
struct piece_range {
	uint64_t start, length;
	bool is_hole;
};

/*
 * Returns the range that begins at *at in a node's contents, up to stop; *segment is the first one of its map that
 * may begin there, and advances with *at. False: *at is stop.
 */
bool piece_range_next(const struct tree_node *node, uint64_t *at, uint64_t stop, uint32_t *segment,
                      struct piece_range *range);

/* Is it the node that has contents: a regular file, and the first of its names that is selected? */
bool piece_has_contents(const struct selection *selection, uint32_t node);

/* Is it such a file, and long? */
bool piece_is_long(const struct selection *selection, uint32_t node);
