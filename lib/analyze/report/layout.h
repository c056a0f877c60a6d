/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The layout of one file's blocks, computed from one record at a time, so that many extents take time but no memory.
 * Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "image/map_record.h"
#include "support/histogram.h"

/* Seeks of reading blocks one after the other. */
struct seek_counts {
	uint64_t jumps;    /* to any but the next block */
	uint64_t far;      /* of these: by more than a block group's length */
	uint64_t backward; /* of these: to a lower block */
};

/* The numbers that one file has, and that add up to those of several. */
struct layout_counts {
	uint64_t blocks, unwritten_blocks;
	uint64_t records, unwritten_records; /* of the map */
	uint64_t extents; /* as filefrag counts: a hole ends no extent if the next record lies next on the disk, or as
	                   * far on as in the file */
	uint64_t runs;    /* as e4defrag counts: joins records that are adjacent in the file and on the disk, and of one
	                   * kind */
	uint64_t holes;
	struct seek_counts seeks; /* when each file is read from start to end */
};

/* Zero-initialise. */
struct file_layout {
	struct layout_counts counts;
	uint64_t cuts;       /* neighbours in the file that are not neighbours on the disk; 0 after defragmentation */
	uint64_t short_cuts; /* of these: forward past as few blocks as a map may have there */
	struct map_record last; /* valid if records */
	uint64_t first_physical;
	uint64_t run_blocks; /* of the last extent so far */
};

/*
 * Takes the next record; they come in logical order. far_blocks: the distance above which a jump is a far one. sizes
 * (NULL: not wanted) gets the blocks of every extent (as filefrag counts them) that this record shows to be over.
 */
void layout_add(struct file_layout *layout, const struct map_record *record, uint64_t far_blocks,
                struct histogram *sizes);

/* Called after the last record: adds the last extent to sizes. */
void layout_end(struct file_layout *layout, struct histogram *sizes);

/* Counts a step from the block before `from` to `to`. */
void seek_count(struct seek_counts *seeks, uint64_t from, uint64_t to, uint64_t far_blocks);

/* Adds the first `bytes` of a struct that has only counts there to another one. */
void counts_add(void *to, const void *from, size_t bytes);
