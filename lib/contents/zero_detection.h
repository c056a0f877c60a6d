/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds zeros of the source that are not holes. Blocks of zeros that copying finds keep their place, since a hole that
 * is made after placement leaves a free extent of its size and cuts the file in two: each worker records them.
 */
#pragma once

#include "ondisk/format.h"
#include "support/run/pool.h"
#include "support/run/progress.h"
#include "tree/tree.h"

struct content_reader;

/* The files that are looked at, and what is wanted of their zeros. All pointers are borrowed. */
struct zero_detection {
	struct tree *tree;
	const struct ondisk_format *format; /* as it is at each call */
	bool keeps_swap_files;              /* the kernel refuses those that have holes */
	uint64_t least_hole_bytes; /* of zeros between data of a file; 0: all that are a cluster become holes */
	uint64_t known_zero_bytes; /* the result: those that are holes of the tree now */
	/* For searches: */
	const char *image;    /* its name in messages */
	struct pool *pool;    /* of threads that work */
	struct pool *readers; /* where more of them are active than there are threads, small tasks are better */
	struct progress *progress;
	struct problem *problem;
};

/* Blocks of a node that hold only zeros. */
struct zero_run {
	uint32_t node;
	uint32_t logical;
	uint32_t blocks;
};

/* One worker's findings, in any order. */
struct zero_runs {
	struct zero_run *runs; /* owned; freed with free() */
	size_t count, capacity;
	uint64_t blocks; /* of all runs, once they are sorted */
};

/*
 * Sets *may to whether zeros of the reader's file may become holes: not those of a preallocated file, nor, with
 * keeps_swap_files, of a swap file. Errors of reading.
 */
MUST_CHECK errcode_t zeros_may_be_holes(const struct zero_detection *detection, struct content_reader *reader,
                                        uint32_t node, bool *may, struct problem *problem);

/*
 * Searches `bytes` bytes of a file's data that begin at block `logical`, the first of a cluster, in steps of a cluster,
 * and records those that hold only zeros. The bytes up to the end of the last block count. ENOMEM.
 */
MUST_CHECK errcode_t zero_runs_find(const struct ondisk_format *format, uint32_t node, uint32_t logical,
                                    const void *bytes, size_t count, struct zero_runs *list);

/* Moves what is in the list to the end of `all`. ENOMEM: both are as they were. */
MUST_CHECK errcode_t zero_runs_join(struct zero_runs *all, struct zero_runs *list);

/* Puts the runs in the order of nodes and blocks, so that it does not matter which worker found what. */
void zero_runs_sort(struct zero_runs *list);

/*
 * Counts the blocks in the runs that copying found that would become worthwhile holes in the format that it copied for.
 * ENOMEM.
 */
MUST_CHECK errcode_t zero_detection_count(const struct zero_detection *detection, const struct zero_runs *zeros,
                                          uint64_t *blocks);

/*
 * The following make those zeros holes of the tree that pay, before anything is placed, so they leave neither free
 * extents nor gaps in the files. A hole pays if it adds no extent, because it is at the beginning or the end of a file
 * or beside a hole that the source has; another one, which cuts an extent in two, if it has least_hole_bytes of
 * all. All count the bytes in known_zero_bytes. Main thread only.
 */

/* Those that copying found; the format must still be the one that it copied for. ENOMEM. */
MUST_CHECK errcode_t zero_detection_apply(struct zero_detection *detection, const struct zero_runs *zeros);

/*
 * Aligned pieces of at least ZERO_DETECTION_LONG_BYTES, for which only a few bytes of each piece are read. For the
 * plan's format, after size_choose(); another size may do then. only: a bit for each node that is searched; NULL: all
 * are. Errors are those of reading, and ENOMEM.
 */
MUST_CHECK errcode_t zero_detection_search_long(struct zero_detection *detection, const uint64_t *only);

/* All zeros, by reading all data: each cluster of the format. data_bytes: for the progress. The same errors. */
MUST_CHECK errcode_t zero_detection_search(struct zero_detection *detection, uint64_t data_bytes);

/*
 * In /usr 0.55 % of the blocks of 1 KiB are zeros; runs this long have 0.15 %, and those of 16 to 64 KiB 0.03 % in as
 * many runs: half the length would be twice the reads for a tenth of the gain.
 */
#define ZERO_DETECTION_LONG_BYTES 65536u

/*
 * From this length on a hole is worth an extent, as a rule. A minimal Debian 13 root in blocks of 1 KiB has 1454
 * shorter runs of zeros in its 4383 files, 2 KiB long, mostly between the sections of a program: as holes they would
 * save 2.5 % and cut every program into pieces. /usr/lib in blocks of 4 KiB has 58 runs this long with 148 KiB each,
 * and 682 that are shorter with 7 KiB each: 0.18 and 0.11 % of it.
 */
#define ZERO_DETECTION_LEAST_HOLE_BYTES ZERO_DETECTION_LONG_BYTES
