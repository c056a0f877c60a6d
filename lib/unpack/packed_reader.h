/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The bytes of a packed file on their way to what unpacks them. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include "support/buffer_size.h"
#include "support/problem.h"
#include "support/run/progress.h"

/* How far a file has been read: shown as bytes of progress, once, however often and in which order they are read. */
struct packed_position {
	struct progress *progress; /* may be NULL */
	_Atomic uint64_t reached;
};

struct window_budget;

/* A file that is read by any number of threads if it is a regular one, else by one, in order. */
struct packed_file {
	int descriptor; /* borrowed */
	/* What is no regular file may be no file at all: then this reads it, as packed_file_read() does. */
	errcode_t (*read)(void *context, void *bytes, size_t count, size_t *got);
	void *context;
	bool is_regular;       /* it is read with pread(2) */
	uint64_t start;        /* where in it the packed bytes begin */
	uint64_t size_bytes;   /* of a regular file: of the packed bytes */
	bool is_bounded;       /* what follows them in the file is no part of them */
	const void *beginning; /* else: what has been read of it already; borrowed, like the file */
	size_t beginning_bytes;
	/* May this follow what zstd has packed? Anything else is damage. NULL: only zeros may. */
	bool (*may_follow)(const uint8_t *bytes, size_t count);
	struct window_budget *windows;    /* borrowed; NULL: as many as it wants */
	struct packed_position *position; /* borrowed; NULL: nobody wants to know */
	atomic_bool is_stopped; /* nobody wants more: reading ends with ECANCELED, also where a pipe's writer writes
	                           nothing */
};

/*
 * At least one byte unless it is the end (*got 0), from a place counted from the start; what is no regular file is read
 * in order. Errors of reading, EINTR after a signal, ECANCELED.
 */
MUST_CHECK errcode_t packed_file_read(const struct packed_file *file, void *bytes, size_t count, uint64_t at,
                                      size_t *got);

/* All up to a place, counted from the start, is done. */
void packed_position_reach(struct packed_position *position, uint64_t at);

/* One thread's window on such a file. */
struct packed_reader {
	const struct packed_file *file;
	uint8_t *buffer;
	const uint8_t *bytes; /* not used yet; in the buffer */
	size_t count;
	uint64_t next;  /* where what comes after them lies */
	bool is_at_end; /* nothing does */
};

/* How much is at hand at most: any header must fit in, or it is none. */
#define PACKED_READER_BYTES ((size_t)BUFFER_SIZE(256, 4) << 10)

/* ENOMEM. */
MUST_CHECK errcode_t packed_reader_open(struct packed_reader *reader, const struct packed_file *file, uint64_t at);
void packed_reader_close(struct packed_reader *reader);

/* The position of the buffered bytes. */
static inline uint64_t packed_reader_position(const struct packed_reader *reader)
{
	return reader->next - reader->count;
}

/* Makes at least so many bytes available, up to PACKED_READER_BYTES, unless the file has no more. */
MUST_CHECK errcode_t packed_reader_fill(struct packed_reader *reader, size_t least);

/* These have been used. */
static inline void packed_reader_skip(struct packed_reader *reader, size_t count)
{
	reader->bytes += count;
	reader->count -= count;
}
