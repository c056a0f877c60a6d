/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Turns lines into events. An allocation is several lines of one process: the request, the search, the result. Pure
 * but for its own state.
 */
#pragma once

#include "simulate/replay/trace_event.h"
#include "simulate/replay/trace_line.h"

/* A process in an allocation, or in fallocate(2). */
struct trace_process {
	bool is_known;
	uint64_t process;
	uint32_t ino; /* the file that gets blocks */
	uint32_t logical, asked;
	uint32_t left_end, right_start; /* as in struct trace_event */
	bool is_asking, is_unwritten, is_final;
	bool has_writer; /* the kernel says that the file is still open */
	uint32_t groups_scanned;
	uint32_t reserved_ino; /* 0: not in fallocate(2) */
	uint64_t reserved_bytes;
	uint64_t waits; /* number of the question whether its last allocation's file ends; 0: answered */
	uint32_t next_ino, next_logical, next_left, start; /* where the rest of a request goes on, and where the
	                                                    * request began */
};

#define TRACE_PROCESSES 4096

/* Zero-initialise but for the first member. */
struct trace_events {
	uint32_t cluster_blocks; /* the kernel counts allocations in clusters, and frees in blocks */
	struct trace_process processes[TRACE_PROCESSES]; /* by hash; new ones replace old ones */
	uint64_t questions;                              /* so far */

	/* Results of the last line: */
	uint64_t waits;       /* number of the event's question whether its file ends with it; 0: none */
	uint64_t answers;     /* number of the question that it answers; 0: none */
	bool answer_is_final; /* the answer: the file ends there */
	bool is_delayed;      /* the event is a delayed allocation */
	uint32_t written_ino; /* the file whose writeback is over; 0: none */
};

enum trace_meaning {
	TRACE_MEANS_EVENT,
	TRACE_MEANS_LATER,   /* a part of an event that is not complete */
	TRACE_MEANS_NOTHING, /* an event that no replay needs */
	TRACE_MEANS_UNKNOWN, /* an event with unexpected fields */
};

/*
 * *event is the event that the line completes. Only the process's next event may show whether the file ends there: if
 * it was written back when it was not open, its preallocations are discarded at once. Small files have no other sign.
 */
enum trace_meaning trace_events_read(struct trace_events *events, const struct trace_line *line,
                                     struct trace_event *event);

/*
 * Parses the text that the manual page defines: "EVENT NAME=VALUE...". The line ends with a NUL byte. *device is 0
 * unless the line has one.
 */
enum trace_meaning trace_plain_parse(const char *text, struct trace_event *event, uint64_t *device);
