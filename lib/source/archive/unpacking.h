/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * This takes off what an archive is packed with, layer by layer. Each level has one packing, which is known by its
 * first bytes, and reads what the level below gives. (libarchive would find out by itself, up to 25 deep, and its
 * filters look ahead in each other's output without a limit: a gzip file of 293 bytes takes any memory.) All that comes
 * out of each level is counted.
 */
#pragma once

#include <archive.h>

#include "source/archive/archive_kind.h"
#include "source/archive/lz4_legacy.h"
#include "unpack/unpack_stream.h"

/* How often an archive may be packed. */
#define UNPACKING_MOST 4

/* That, and what follows an archive in a pipe, which may be packed once more. */
#define UNPACKING_LEVELS (UNPACKING_MOST + 1)

struct unpacking_level {
	const struct packing *packing; /* NULL: none, a pipe's bytes are kept as they come */
	struct packed_file *from;      /* what is unpacked; borrowed, or below: */
	struct packed_file below;      /* what the level below gives */
	struct archive *unpacker;      /* owned; NULL: a decoder of ours */
	uint8_t *buffer;               /* for the unpacker; owned */
	uint64_t at;                   /* where in `from` it reads next */
	size_t last_bytes;             /* that are in the buffer, the last ones before that */
	size_t handed_bytes;           /* of them, to the unpacker */
	struct lz4_legacy lz4;
	struct unpack_stream *stream;
	struct unpacked_store *store; /* what has come out */
	bool owns_store;
	const uint8_t *bytes; /* have come out, and are not used yet */
	size_t count;
	uint8_t *beginning; /* which these are, if that came in several pieces; owned */
	size_t beginning_capacity;
	errcode_t error; /* why no more comes */
	struct problem problem;
};

struct unpacking {
	const struct archive_kind *kind;
	const struct scan_options *options;   /* NULL: of a manifest */
	struct unpacked_budget *small_budget; /* its stores'; owned */
	struct unpacking_level levels[UNPACKING_LEVELS];
	unsigned int count;       /* 0: the file is not packed, and is read as it is */
	unsigned int packed;      /* how many levels have a packing */
	const uint8_t *beginning; /* of what is not packed any more, or not as what is unpacked here */
	size_t beginning_bytes;
	const char *refusal; /* of EBADMSG; NULL: unpacking_reason() says it */
};

/*
 * Takes off all packings of a file, of which so many bytes are at hand; of a pipe they are all that has been read.
 * Borrowed until it is closed. ENOMEM, EAGAIN (threads), errors of reading, EBADMSG, EDQUOT. To be closed also after a
 * failure.
 */
MUST_CHECK errcode_t unpacking_open(struct unpacking *unpacking, struct packed_file *file, const uint8_t *bytes,
                                    size_t count);

/* Unpacks what begins with these bytes, a copy of the last level's latest, which is taken. Errors likewise. */
MUST_CHECK errcode_t unpacking_go_deeper(struct unpacking *unpacking, uint8_t *bytes, size_t count);

void unpacking_close(struct unpacking *unpacking);

/* The next bytes of the last level, which lie in its store; none: the end. Errors of unpack_stream_next(). */
MUST_CHECK errcode_t unpacking_next(struct unpacking *unpacking, const uint8_t **bytes, size_t *count);

/* The last level. There is one. */
static inline struct unpacking_level *unpacking_last(struct unpacking *unpacking)
{
	return &unpacking->levels[unpacking->count - 1];
}

/* Why it failed with EBADMSG; NULL: it did not. */
const char *unpacking_reason(const struct unpacking *unpacking);

/* The failure of a temporary file; NULL: there was none. */
const struct problem *unpacking_problem(const struct unpacking *unpacking);

/*
 * All has come out. Looks for what is not zeros and follows what a level unpacks: of the file (0) or of what comes out
 * of the level below. rest->bytes are borrowed. Errors of reading.
 */
MUST_CHECK errcode_t unpacking_look_at_rest(struct unpacking *unpacking, struct packed_rest *rest, unsigned int *level);

/*
 * This level, which is not 0, and those above are over: what follows it comes next, and so many bytes of it at least,
 * if there are so many, are unpacking->beginning. ENOMEM, errors of unpacking_next().
 */
MUST_CHECK errcode_t unpacking_go_back(struct unpacking *unpacking, unsigned int level, const struct packed_rest *rest,
                                       size_t least);

/* Has what comes next come from a level of its own, unpacked. Errors of unpacking_open(). */
MUST_CHECK errcode_t unpacking_go_on(struct unpacking *unpacking);
