/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a worker of the inode scan has for itself, and how it is added up. Of lib/analyze/read/inode_scan.c only. */
#pragma once

#include "analyze/read/inode_scan.h"

/* Files that were seen one after the other, or a large one that is yet to be walked: where they begin and end. */
struct scan_segment {
	uint32_t ino; /* the first file's */
	bool is_large;
	bool has_blocks;
	uint64_t first, end; /* physical blocks; valid if has_blocks */
};

struct scan_worker {
	struct directory_walker walker;
	uint8_t *table; /* a piece of an inode table */
	struct report_files files;
	struct report_directories directories_report;
	struct worst_files worst;
	struct damage_list damage;
	uint32_t *directories;
	size_t directory_count, directory_capacity;
	struct scan_segment *segments;
	size_t segment_count, segment_capacity;
	uint64_t far_blocks;
	bool is_in_segment; /* the next file goes on where the last segment ends; false at a task's start */
};

/* ENOMEM; scan_worker_close() is due in any case. */
MUST_CHECK errcode_t scan_worker_open(struct scan_worker *worker, struct inode_scan *scan, size_t table_bytes);
void scan_worker_close(struct scan_worker *worker);

/* The next file: counts the step to it, or begins a segment with it. ENOMEM. */
MUST_CHECK errcode_t scan_worker_add_segment(struct scan_worker *worker, const struct scan_segment *segment);

/* Adds all results to the scan's. ENOMEM. */
MUST_CHECK errcode_t scan_worker_merge(struct inode_scan *scan, const struct scan_worker *worker);
