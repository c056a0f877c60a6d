/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The contents of a piece in memory, or their digests. One worker's, piece after piece. */
#pragma once

#include "extract/extract.h"
#include "extract/pieces.h"
#include "tree/contents.h"

#define LOADED_DIGEST_BYTES 32 /* SHA-256 */

/* A regular file of the piece that has contents. */
struct loaded_file {
	uint32_t node;
	size_t at;       /* in bytes: its data, without holes */
	errcode_t error; /* its contents cannot be read: */
	struct problem problem;
	uint8_t digest[LOADED_DIGEST_BYTES];
};

/* Zero-initialise, but for selection, options and hole_seconds. */
struct loaded {
	const struct selection *selection;
	const struct extract_options *options;
	double *hole_seconds;          /* that all workers have spent; shared */
	struct content_reader *reader; /* owned; made with the first file */
	struct piece piece;
	struct loaded_file *files; /* in the order of nodes */
	size_t count, capacity;
	uint8_t *bytes;
	uint64_t data_bytes; /* of the piece */
};

/* Makes the reader, and bytes, of which there are PIECE_DATA_BYTES; once is enough. ENOMEM. */
MUST_CHECK errcode_t loaded_prepare(struct loaded *loaded);

/*
 * Reads all data of a piece (with_digests: only digests are kept, of files of any length). Files that cannot be read
 * have an error of their own; ENOMEM and EINTR are the caller's.
 */
MUST_CHECK errcode_t loaded_read(struct loaded *loaded, const struct piece *piece, bool with_digests,
                                 struct problem *problem);

/* The file of a node of the piece; NULL: it has no contents. */
const struct loaded_file *loaded_find(const struct loaded *loaded, uint32_t node);

/* Has this error to do with one file alone? */
bool loaded_error_is_of_file(errcode_t error);

void loaded_free(struct loaded *loaded);
