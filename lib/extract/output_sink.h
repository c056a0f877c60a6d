/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a stream goes: a file that gets its name once it is whole (output/output.h), standard output, or what
 * is no regular file and is written as it is.
 */
#pragma once

#include "output/output.h"

struct output_sink {
	const char *path;     /* for messages */
	struct output output; /* the new file */
	bool is_file;         /* output is used */
	int descriptor;
	errcode_t error; /* what the stream of output_sink_stream() met first; 0: nothing */
};

/*
 * path: "-" is standard output. source: a file that must not be replaced, or NULL. EINVAL with a reason: it is that
 * file, or a block device, or standard output is a terminal and the form is binary.
 */
MUST_CHECK errcode_t output_sink_open(struct output_sink *sink, const char *path, const char *source, bool is_binary,
                                      struct problem *problem);

/* All of the bytes. Errors of write(2). One thread at a time. */
MUST_CHECK errcode_t output_sink_write(struct output_sink *sink, const void *bytes, size_t count);

/*
 * A stream that writes there; the caller closes it. What it cannot write is sink->error, and the stream has an error.
 * NULL: no memory.
 */
FILE *output_sink_stream(struct output_sink *sink);

/* Gives the file its name. */
MUST_CHECK errcode_t output_sink_finish(struct output_sink *sink, struct problem *problem);

/* Removes what is not finished. */
void output_sink_close(struct output_sink *sink);
