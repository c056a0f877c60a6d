/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A whole report about a filesystem. */
#pragma once

#include "analyze/read/free_space.h"
#include "support/run/progress.h"

struct analyze_options {
	unsigned int threads; /* 0: the caller alone */
	bool without_free;    /* leave out the free space */
	bool without_files;   /* leave out inodes and all that comes of them */
	bool with_groups;     /* every group's free space */
	bool by_directory;
	unsigned int directory_depth; /* of by_directory */
	uint32_t unlink_batch_files;  /* for the cost of deleting files; 0: leave it out */
	uint64_t chunk_blocks;        /* for the free space; 0: none */
	unsigned int quick_seconds;   /* read no longer than this, and 32 MiB for each; 0: all of it */
	size_t worst_limit;           /* how many of the worst files are named */
	struct progress *progress;    /* NULL: not shown */
};

/*
 * Fills in the report about the filesystem, whose own part report_filesystem_describe() has filled in already. The same
 * report whatever the number of threads, unless quick_seconds end it. What cannot be read is counted and named in it
 * and no error. Errors: ENOMEM, EAGAIN; the report is to be destroyed in any case.
 */
MUST_CHECK errcode_t analyze(const struct volume *volume, const struct analyze_options *options, struct report *report,
                             struct problem *problem);
