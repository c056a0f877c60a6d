/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An event of a trace, in whatever text it was read from. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum trace_event_kind {
	TRACE_CREATE,   /* an inode: ino, parent, mode */
	TRACE_DELETE,   /* an inode: ino */
	TRACE_ALLOCATE, /* blocks of a file, its map or its xattrs */
	TRACE_FREE,     /* block, count */
	TRACE_CLOSE,    /* ino: its preallocations were discarded */
	TRACE_COMMIT,   /* blocks that were freed before can be allocated again */
};

struct trace_event {
	enum trace_event_kind kind;
	uint64_t processor, process; /* of the event; 0: unknown */
	double seconds;              /* the time; 0: unknown */
	uint32_t ino, parent;        /* parent 0: not known */
	uint32_t mode;

	/* TRACE_ALLOCATE and TRACE_FREE: */
	uint64_t block;   /* the first block */
	uint32_t count;   /* number of blocks; 0: the kernel found none */
	uint32_t logical; /* the first logical block, if it is data */
	uint32_t asked;   /* requested blocks from there on, at least count */
	uint32_t start;   /* the first logical block of the whole request */
	uint64_t goal;    /* the kernel's, 0: none */
	/* The hole that the request is in, if it has neighbours: these may use a part of a cluster. 0: no such
	 * neighbour. */
	uint32_t left_end, right_start;
	bool is_data;                 /* data of a regular file; else of a directory, a map or xattrs */
	bool is_unwritten;            /* for fallocate(2) */
	bool is_final;                /* the file ends where the request does */
	uint32_t file_blocks;         /* the least size of the file at the request; 0: unknown */
	bool keeps_first, keeps_last; /* TRACE_FREE: a partial cluster at this end is not freed */
	uint64_t whole_bytes;         /* of the whole call of fallocate(2); 0: unknown */
	uint32_t groups_scanned;      /* by the search */
};
