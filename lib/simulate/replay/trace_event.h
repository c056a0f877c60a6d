/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a trace says that the kernel did, one thing at a time, whatever text it was read from. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum trace_event_kind {
	TRACE_CREATE,   /* an inode: ino, parent, mode */
	TRACE_DELETE,   /* an inode: ino */
	TRACE_ALLOCATE, /* blocks of a file, or for what belongs to it */
	TRACE_FREE,     /* block, count */
	TRACE_CLOSE,    /* ino: its preallocations were given back */
	TRACE_COMMIT,   /* what was freed before can be allocated again */
};

struct trace_event {
	enum trace_event_kind kind;
	uint64_t processor, process; /* that did it; 0: not known */
	double seconds;              /* when; 0: not known */
	uint32_t ino, parent;        /* parent 0: not known */
	uint32_t mode;

	/* TRACE_ALLOCATE and TRACE_FREE: */
	uint64_t block;               /* where they are */
	uint32_t count;               /* how many; 0: the kernel had none to give */
	uint32_t logical;             /* the first one in the file, if it is data */
	uint32_t asked;               /* how many were wanted from there on, at least count */
	uint32_t start;               /* where the request began that this is a part of; logical: here */
	uint64_t goal;                /* the kernel's, 0: none */
	bool is_data;                 /* of a regular file; else of a directory, or a map's, or attributes */
	bool is_unwritten;            /* as fallocate(2) asks for it */
	bool is_final;                /* the file ends where the request does */
	uint32_t file_blocks;         /* the file had at least so many when they were asked for; 0: not known */
	bool keeps_first, keeps_last; /* TRACE_FREE: clusters of which it has a part only are not freed */
	uint64_t whole_bytes;         /* of the call of fallocate(2) that this is a part of; 0: not known */
	uint32_t groups_scanned;      /* by the search */
};
