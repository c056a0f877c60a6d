/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The data segments of a host's file. */
#pragma once

#include <sys/stat.h>

#include "source/kind/source_kind.h"

/*
 * To ask, the file must be opened. One that has as many blocks as its size needs rarely has holes; but some of the
 * blocks may be preallocated ones, within it, which are holes, or after its end (XFS), in the place of those that holes
 * lack.
 */
#define DATA_SEGMENTS_SMALL_BYTES 4096u

/* Is a regular file of the host to be asked? With asks_for_holes, each that is larger than the usual block. */
static inline bool data_segments_may_have_holes(const struct scan_options *options, const struct stat *status)
{
	uint64_t size_bytes = (uint64_t)status->st_size;

	return (uint64_t)status->st_blocks * 512 < size_bytes ||
	       (options->asks_for_holes && size_bytes > DATA_SEGMENTS_SMALL_BYTES);
}

/* Zero-initialise; one serves file after file, and its list is the caller's to free. */
struct data_segments {
	struct tree_segment *list; /* ascending, not touching */
	size_t count, capacity;
};

/*
 * Finds the data within the first size_bytes of an open file, which is all of it where the host cannot tell. ENOMEM,
 * EFBIG (2^32 segments), errors of lseek(2).
 *
 * With asks_for_holes, whatever has been read of the file before: on XFS and ext4, SEEK_DATA takes preallocated blocks
 * that were never written for data while their pages are cached. There the extents are asked for (FIEMAP), once what is
 * still to be written has been.
 */
MUST_CHECK errcode_t data_segments_find(struct data_segments *segments, const struct scan_options *options,
                                        int descriptor, uint64_t size_bytes);

/* All of a file of this size is data. ENOMEM. */
MUST_CHECK errcode_t data_segments_set_whole(struct data_segments *segments, uint64_t size_bytes);

/* Adds data after all that is there; it becomes one segment with the last one if they touch. ENOMEM. */
MUST_CHECK errcode_t data_segments_add(struct data_segments *segments, uint64_t start, uint64_t end);

/* The same as a tree's map, in memory. ENOMEM. */
MUST_CHECK errcode_t data_segments_map(const struct data_segments *segments, struct arena *memory,
                                       struct tree_data_map **ret);
