/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How the blocks of one file lie, taken in one record at a time, so that a file's number of extents costs time but no
 * memory. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "image/map_record.h"
#include "support/histogram.h"

/* What reading blocks one after the other has to skip. */
struct seek_counts {
	uint64_t jumps;    /* to anywhere but the next block */
	uint64_t far;      /* of those: by more than a block group's length */
	uint64_t backward; /* of those: to a lower block */
};

/* Zero-initialise. Counts are in blocks unless named otherwise. */
struct file_layout {
	uint64_t blocks;
	uint64_t unwritten_blocks;
	uint64_t records;
	uint64_t unwritten_records;
	uint64_t extents; /* as filefrag counts: a hole ends none if what follows it lies where it would without it, or
	                     next */
	uint64_t runs; /* as e4defrag counts: joined are records that follow each other in the file, on the disk and in
	                  kind */
	uint64_t holes;
	uint64_t cuts;       /* where neighbours in the file are none on the disk: with joined files, there are none */
	uint64_t short_cuts; /* of those: forward past as few blocks as a map may have put there */
	struct seek_counts seeks;
	struct map_record last; /* valid if records */
	uint64_t first_physical;
	uint64_t run_blocks; /* of the extent that is being added to */
};

/*
 * Takes the next record; they come in logical order. far_blocks: the distance above which a jump is a far one. sizes
 * (NULL: not wanted) gets the blocks of every extent (as filefrag counts them) that this record shows to be over.
 */
void layout_add(struct file_layout *layout, const struct map_record *record, uint64_t far_blocks,
                struct histogram *sizes);

/* After the last record: adds the last extent to sizes. */
void layout_end(struct file_layout *layout, struct histogram *sizes);

/* Counts a step from the block before `from` to `to`. */
void seek_count(struct seek_counts *seeks, uint64_t from, uint64_t to, uint64_t far_blocks);
void seek_merge(struct seek_counts *to, const struct seek_counts *from);
