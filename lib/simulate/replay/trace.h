/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A trace of the kernel's events as a text file, which is read as a stream, an event at a time. */
#pragma once

#include "simulate/replay/trace_event.h"
#include "support/problem.h"
#include "support/run/progress.h"

/* Counts of a trace. */
struct trace_counts {
	uint64_t events;               /* passed to the visitor */
	uint64_t lost;                 /* the least number of lost events, as the file says */
	uint64_t not_understood;       /* lines */
	uint64_t first_not_understood; /* line number of the first one; 0: none */
};

typedef errcode_t (*trace_visitor)(void *context, const struct trace_event *event, struct problem *problem);

struct trace_options {
	const uint64_t *device;  /* as trace_device_parse() has it; NULL: the trace must be of one filesystem */
	uint32_t cluster_blocks; /* blocks of a cluster of the filesystem; the kernel counts in clusters */
};

/*
 * Passes the events of one device to `visit`, up to its first error, which is returned. EINVAL, with what the user
 * can do: not a regular file, no events, none of the device, or events of several filesystems; an unknown version of
 * our text; errors of reading; EINTR when a signal arrived.
 */
MUST_CHECK errcode_t trace_read(const char *path, const struct trace_options *options, trace_visitor visit,
                                void *context, struct progress *progress, struct trace_counts *counts,
                                struct problem *problem);
