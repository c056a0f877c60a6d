/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * All inodes in use, in parallel: big reads of the inode tables, and for those whose maps are not in the inode, of the
 * maps. Memory: 4 bytes an inode for the directory that it is in, 4 a directory, a few blocks a worker.
 */
#pragma once

#include "image/directory_walk.h"
#include "analyze/read/inode_counts.h"
#include "analyze/report/report.h"
#include "support/run/pool.h"
#include "support/run/progress.h"

#define INODE_SCAN_DIRECTORIES 0x1u /* read directories: who is whose parent */
#define INODE_SCAN_FILES 0x2u       /* add up all else; with visitors, after the directories are known */

/*
 * Called for every regular file with blocks, in several threads, each worker number in one at a time. record is called
 * before it for each record of the file's map (NULL: not wanted); all calls for a file come together. directory: the
 * one that names it, of several that with the lowest inode number; 0: none does.
 */
struct inode_visitor {
	void (*record)(void *context, unsigned int worker, uint32_t ino, const struct map_record *record);
	void (*file)(void *context, unsigned int worker, uint32_t ino, uint32_t directory,
	             const struct file_layout *layout);
	errcode_t (*finish)(void *context); /* after the scan: what was seen goes into the report */
	void (*close)(void *context);
	void *context;
};

struct inode_scan {
	const struct volume *volume;
	struct pool *pool;
	struct progress *progress; /* NULL: not shown */
	struct report *report;     /* gets its files, directories and worst files, these without paths */
	uint64_t far_blocks;

	/* Found by INODE_SCAN_DIRECTORIES. */
	uint32_t *parents;     /* by inode number: the directory that names it, 0: none */
	uint32_t *directories; /* inode numbers, ascending */
	size_t directory_count;

	struct inode_counts counts; /* by INODE_SCAN_FILES */
	struct damage_list damage;
	uint64_t map_blocks_read, directory_blocks_read;
};

/* The report has what report_filesystem_describe() says and the limit of its worst files. ENOMEM. */
MUST_CHECK errcode_t inode_scan_open(const struct volume *volume, struct pool *pool, struct progress *progress,
                                     struct report *report, struct inode_scan *scan);
void inode_scan_close(struct inode_scan *scan);

/* parts: one or both of the flags, each once. ENOMEM; what cannot be read is damage. */
MUST_CHECK errcode_t inode_scan_run(struct inode_scan *scan, unsigned int parts, const struct inode_visitor *visitors,
                                    size_t visitor_count);

/* A directory's place in the list of them; SIZE_MAX if it is none. */
size_t inode_scan_place(const struct inode_scan *scan, uint32_t ino);
