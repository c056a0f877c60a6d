/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which blocks were free at the last commit. A group's bitmap is read when it is first needed. The bitmap on disk is
 * that of the last commit, because blocks in use are not written before the next commit.
 */
#pragma once

#include "transaction/held_blocks.h"
#include "transaction/layout.h"

struct committed_bitmap {
	const struct layout *layout;
	uint8_t **groups; /* owned, bits of clusters in use; NULL: not read yet */
	uint32_t *read;   /* owned, the groups that have been read */
	size_t read_count, read_capacity;
};

MUST_CHECK errcode_t committed_bitmap_init(struct committed_bitmap *bitmap, const struct layout *layout);
void committed_bitmap_destroy(struct committed_bitmap *bitmap);

/* Metadata with a fixed place is never free, and neither are blocks outside of the groups. backing works in whole
 * blocks. */
MUST_CHECK errcode_t committed_bitmap_is_free(struct committed_bitmap *bitmap, io_channel backing, uint64_t block,
                                              bool *is_free);

/*
 * Reads the missing bitmaps of these blocks' groups; the blocks must lie in groups. Then the functions below need no
 * I/O and may be called by any number of threads. Errors in reading, ENOMEM.
 */
MUST_CHECK errcode_t committed_bitmap_read(struct committed_bitmap *bitmap, io_channel backing, uint64_t start,
                                           uint64_t count);
bool committed_bitmap_has_read(const struct committed_bitmap *bitmap, uint64_t start, uint64_t count);
bool committed_bitmap_are_free(const struct committed_bitmap *bitmap, uint64_t start, uint64_t count);

/* The held blocks are on disk: bitmaps among them are read again when they are needed. */
void committed_bitmap_refresh(struct committed_bitmap *bitmap, struct layout *layout, const struct held_blocks *held);
