/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From lines to what happened. An allocation is several lines of one process: what was asked for, how it was found,
 * what it became. Pure but for what it remembers.
 */
#pragma once

#include "simulate/replay/trace_event.h"
#include "simulate/replay/trace_line.h"

/* A process that is in an allocation, or in fallocate(2). */
struct trace_process {
	bool is_known;
	uint64_t process;
	uint32_t ino; /* that it asks blocks for */
	uint32_t logical, asked;
	bool is_asking, is_unwritten, is_final;
	bool has_writer; /* the kernel says so: the file that it asks for is still open */
	uint32_t groups_scanned;
	uint32_t reserved_ino; /* 0: not in fallocate(2) */
	uint64_t reserved_bytes;
	uint64_t waits; /* the number of the question where its last allocation's file ends; 0: it is answered */
	uint32_t next_ino, next_logical, next_left, start; /* where the rest of a request goes on, and began */
};

#define TRACE_PROCESSES 4096

/* Zero-initialise but for the first member. */
struct trace_events {
	uint32_t cluster_blocks; /* the kernel counts what it allocates in clusters, and what it frees in blocks */
	struct trace_process processes[TRACE_PROCESSES]; /* by hash; of more than these the oldest are forgotten */
	uint64_t questions;                              /* so far */

	/* Of the last line: */
	uint64_t waits;       /* the event's question, whether its file ends with it; 0: there is none */
	uint64_t answers;     /* the question that it answers; 0: none */
	bool answer_is_final; /* the file ends there */
	bool is_delayed;      /* the event is an allocation of what was written before */
	uint32_t written_ino; /* writeback of this file is over; 0: of none */
};

enum trace_meaning {
	TRACE_MEANS_EVENT,
	TRACE_MEANS_LATER,   /* a part of an event that is yet to come */
	TRACE_MEANS_NOTHING, /* an event that no replay needs */
	TRACE_MEANS_UNKNOWN, /* it should be one, but its fields are not as they should be */
};

/*
 * *event is what the line completes. Whether a file ends there may be told by the process's next event only: a file
 * that was written back when nobody had it open gives its preallocations back at once. Small files have no other sign.
 */
enum trace_meaning trace_events_read(struct trace_events *events, const struct trace_line *line,
                                     struct trace_event *event);

/*
 * The text that the manual page defines: "EVENT NAME=VALUE...". The line ends with a NUL byte. *device: 0 unless it is
 * said.
 */
enum trace_meaning trace_plain_parse(const char *text, struct trace_event *event, uint64_t *device);
