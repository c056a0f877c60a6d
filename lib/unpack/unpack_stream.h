/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A packed file, or a pipe, as what it unpacks to: pieces in order, which go to a store (unpacked_store.h) as they are.
 * Reading and unpacking go on in threads of their own while the caller looks at what has come.
 *
 * The members of gzip and the frames of zstd can be unpacked side by side, but nothing says where they begin. So the
 * file is cut into units. A thread looks in one of them for what may be the beginning of a member, and unpacks from
 * there to the first end of a member that lies beyond the unit. It was right if and only if a member of the unit before
 * ends exactly there. Else what it has made is dropped, and the thread of the unit before goes on through this one.
 * This begins once the first member has ended, so a file with a single member is read once and by one thread. What
 * comes out, and what is refused, is the same for any number of threads.
 */
#pragma once

#include "tree/source_limits.h"
#include "unpack/decoder.h"
#include "unpack/unpacked_store.h"

struct unpack_stream;

/* Bytes of the packed file: some megabytes unpacked, so that few units have much more than may wait. */
#define UNPACK_UNIT_BYTES ((uint64_t)512 << 10)

struct unpack_source {
	const struct decoder_format *format;
	void *context;                /* for the format; it is used by the thread that unpacks the first unit */
	struct packed_file *file;     /* borrowed; its is_stopped is set when the stream is closed */
	struct unpacked_store *store; /* borrowed */
	unsigned int threads;         /* that unpack; 0: the caller's own does */
	struct source_counts *counts; /* borrowed; NULL: nobody counts what is unpacked */
	uint64_t unit_bytes;          /* 0: UNPACK_UNIT_BYTES */
};

/*
 * How many pieces of a unit wait at most for the caller: memory beside the store's budget is at most this, and the ones
 * that are being filled, for each thread.
 */
#define UNPACK_WAITING_PIECES 16

/* ENOMEM, EAGAIN (threads). */
MUST_CHECK errcode_t unpack_stream_open(const struct unpack_source *source, struct unpack_stream **ret);

/* Stops the threads, at once; NULL is allowed. */
void unpack_stream_close(struct unpack_stream *stream);

/*
 * The next bytes, which are the store's last piece from now on; none (*count 0): the end. Errors of reading; EINTR
 * after a signal; EBADMSG with a reason (below); those of unpacked_store_add();
 * EDQUOT: it unpacks to more than is allowed.
 */
MUST_CHECK errcode_t unpack_stream_next(struct unpack_stream *stream, const uint8_t **bytes, size_t *count,
                                        struct problem *problem);

/* After the end: what follows and is no further member, nor zeros. (Of formats that libarchive unpacks nothing.) */
const struct packed_rest *unpack_stream_rest(const struct unpack_stream *stream);

/* Why it is damaged, until it is closed. */
const char *unpack_stream_reason(const struct unpack_stream *stream);
