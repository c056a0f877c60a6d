/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A whole report about a filesystem. */
#pragma once

#include "analyze/read/free_space.h"
#include "support/run/progress.h"

struct analyze_options {
	unsigned int threads; /* 0: the caller alone */
	bool without_free;    /* leave out the free space */
	bool without_files;   /* leave out inodes and the figures from them */
	bool with_groups;     /* every group's free space */
	bool by_directory;
	unsigned int directory_depth; /* of by_directory */
	uint32_t map_cells;           /* name the files in each of at most so many parts; 0: do not */
	uint32_t unlink_batch_files;  /* files per transaction, for the cost of deleting files; 0: leave it out */
	uint64_t chunk_blocks;        /* chunk size for the free space; 0: none */
	unsigned int quick_seconds;   /* read at most this long, and 32 MiB for each second; 0: read everything */
	size_t worst_limit;           /* number of worst files to name; SIZE_MAX: all */
	bool lists;                   /* only those of list_kind */
	enum file_kind list_kind;
	bool predicts;             /* what would become of it; needs the files */
	uint64_t deleted_bytes;    /* of predicts: of files that are deleted; 0: none; needs the free space */
	struct progress *progress; /* NULL: not shown */
};

/*
 * Fills in the report; report_filesystem_describe() has filled in report->filesystem before. The report does not
 * depend on the number of threads, unless quick_seconds ends it. Parts that cannot be read are counted and named in
 * it, and are not an error. Errors: ENOMEM, EAGAIN; the caller destroys the report in any case.
 */
MUST_CHECK errcode_t analyze(const struct volume *volume, const struct analyze_options *options, struct report *report,
                             struct problem *problem);
