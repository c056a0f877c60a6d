/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads all inodes in use, in parallel: large reads of the inode tables, and of maps that are not in the inode.
 * Memory: 4 bytes an inode for its directory, 4 a directory, a few blocks a worker.
 */
#pragma once

#include "image/directory_walk.h"
#include "analyze/read/inode_counts.h"
#include "analyze/report/report.h"
#include "support/run/pool.h"
#include "support/run/progress.h"

#define INODE_SCAN_DIRECTORIES 0x1u /* read directories, for each inode's parent */
#define INODE_SCAN_FILES 0x2u       /* count all other inodes; with visitors, after the directories are known */

/*
 * Called for every regular file with blocks, in several threads, one at a time for each worker number. record is
 * called before it for each record of the file's map (NULL: not wanted); the calls for a file come together.
 * directory: the directory that names it, that with the lowest inode number if there are several; 0: none.
 */
struct inode_visitor {
	void (*record)(void *context, unsigned int worker, uint32_t ino, const struct map_record *record);
	void (*file)(void *context, unsigned int worker, uint32_t ino, uint32_t directory,
	             const struct file_layout *layout);
	errcode_t (*finish)(void *context); /* after the scan: stores the results in the report */
	void (*close)(void *context);
	void *context;
};

struct inode_scan {
	const struct volume *volume;
	struct pool *pool;
	struct progress *progress; /* NULL: not shown */
	struct report *report;     /* gets files, directories and worst files, which have no paths yet */
	uint64_t far_blocks;

	/* Found by INODE_SCAN_DIRECTORIES. */
	uint32_t *parents;     /* by inode number: the directory that names it, 0: none */
	uint32_t *directories; /* inode numbers, ascending */
	size_t directory_count;

	struct inode_counts counts; /* by INODE_SCAN_FILES */
	struct damage_list damage;
	uint64_t map_blocks_read, directory_blocks_read;
};

/* The report has report_filesystem_describe()'s values and the limit of its worst files. ENOMEM. */
MUST_CHECK errcode_t inode_scan_open(const struct volume *volume, struct pool *pool, struct progress *progress,
                                     struct report *report, struct inode_scan *scan);
void inode_scan_close(struct inode_scan *scan);

/* parts: one or both of the flags; each flag is passed once. ENOMEM. Parts that cannot be read are damage. */
MUST_CHECK errcode_t inode_scan_run(struct inode_scan *scan, unsigned int parts, const struct inode_visitor *visitors,
                                    size_t visitor_count);

/* A directory's index in the list of directories; SIZE_MAX if the inode is not one. */
size_t inode_scan_place(const struct inode_scan *scan, uint32_t ino);
