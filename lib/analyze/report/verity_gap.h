/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The hashes of a file that fs-verity protects begin at the next multiple of 64 KiB after its data (ondisk/verity.h).
 * No data can be in between, so this gap cuts no file in two: the counts see the file as if the gap were not there.
 * Pure.
 */
#pragma once

#include "image/map_record.h"
#include "ondisk/verity.h"
#include "ondisk/views.h"

struct verity_gap {
	uint64_t end;    /* the first logical block after it */
	uint64_t blocks; /* 0: there is none */
};

static inline struct verity_gap verity_gap_of(const struct inode_view *inode, unsigned int block_bits)
{
	uint64_t mask = (UINT64_C(1) << block_bits) - 1;
	uint64_t data_blocks = (inode->size_bytes >> block_bits) + !!(inode->size_bytes & mask);
	struct verity_place place;

	if (!(inode->flags & EXT4_VERITY_FL) ||
	    !verity_place(block_bits, inode->size_bytes, 0, VERITY_DESCRIPTOR_BYTES, &place) ||
	    place.first_block < data_blocks)
		return (struct verity_gap){ 0 };
	return (struct verity_gap){ place.first_block, place.first_block - data_blocks };
}

/* The record as if the file had no gap. */
static inline struct map_record verity_gap_close(const struct verity_gap *gap, const struct map_record *record)
{
	struct map_record closed = *record;

	if (record->logical >= gap->end)
		closed.logical -= gap->blocks;
	return closed;
}
