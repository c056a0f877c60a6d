/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which blocks were free at the last commit. A bitmap is read when somebody first asks for its group: the one on disk
 * is that of the last commit, because nothing that is in use is written before the next one.
 */
#pragma once

#include "transaction/held_blocks.h"
#include "transaction/layout.h"

struct committed_bitmap {
	const struct layout *layout;
	uint8_t **groups; /* owned, bits of clusters in use; NULL: not read yet */
	uint32_t *read;   /* owned, the groups that have been */
	size_t read_count, read_capacity;
};

MUST_CHECK errcode_t committed_bitmap_init(struct committed_bitmap *bitmap, const struct layout *layout);
void committed_bitmap_destroy(struct committed_bitmap *bitmap);

/* What has a fixed place is never free, and neither is what lies outside of the groups. backing: in whole blocks. */
MUST_CHECK errcode_t committed_bitmap_is_free(struct committed_bitmap *bitmap, io_channel backing, uint64_t block,
                                              bool *is_free);

/*
 * Reads what the groups of these blocks, which lie in groups, lack; then those below need no I/O and may be called by
 * any number of threads. Errors in reading, ENOMEM.
 */
MUST_CHECK errcode_t committed_bitmap_read(struct committed_bitmap *bitmap, io_channel backing, uint64_t start,
                                           uint64_t count);
bool committed_bitmap_has_read(const struct committed_bitmap *bitmap, uint64_t start, uint64_t count);
bool committed_bitmap_are_free(const struct committed_bitmap *bitmap, uint64_t start, uint64_t count);

/* The held blocks are on disk: what they changed is read again when somebody asks for it. */
void committed_bitmap_refresh(struct committed_bitmap *bitmap, struct layout *layout, const struct held_blocks *held);
