/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rarely used formats are read by a child process, which has limits of memory and of processor time and writes what it
 * reads as a tar archive into a pipe. Their parsers in libarchive can be made to loop (3.6.2: a xar archive whose hard
 * links lead to each other) or to take any memory (an ISO 9660 image of 2575 bytes: 22 GB), and nothing in the same
 * process could end that.
 */
#pragma once

#include "source/archive/archive_rest.h"
#include "support/problem.h"

/* What the child may take beyond what we have. 7-Zip's own limit for a dictionary is 1536 MiB; usual are up to 64. */
#define LIMITED_READER_MIB 1024u
/* And how much of a processor's time before each block that it writes. */
#define LIMITED_READER_SECONDS 60u

struct limited_report;

/* Zero-initialise. */
struct limited_reader {
	int child;                     /* its process id; 0: none has been started */
	int archive;                   /* the pipe, owned */
	struct limited_report *report; /* shared with the child; owned */
};

/* The kind of the pipe's data: a tar archive, never packed. */
extern const struct archive_kind archive_kind_converted;

/*
 * Starts reading the file, to which the child has a descriptor of its own. Main thread: no other one may be within the
 * C library's locks when it forks. ENOMEM, errors of pipe(2) and fork(2).
 */
MUST_CHECK errcode_t limited_reader_start(struct limited_reader *reader, int descriptor,
                                          const struct archive_kind *kind, const struct scan_options *options);

/*
 * Ends the child, which has nothing more to do if error (of reading the pipe) is 0. Gives that error, or why the child
 * has failed, which then is the problem. name: of the archive. *rest: what follows it, which is not read. Also without
 * a start.
 */
MUST_CHECK errcode_t limited_reader_end(struct limited_reader *reader, errcode_t error, const char *name,
                                        struct archive_rest *rest, struct problem *problem);
