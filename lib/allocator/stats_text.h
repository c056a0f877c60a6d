/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Parts of the kernel's text formats, for programs that show only some groups, or show them in another format. */
#pragma once

#include "allocator/core/allocator.h"
#include "allocator/core/buddy.h"

/* A row of mb_groups, in clusters, copied from a buddy under its group's lock. A corrupt group's row is all 0. */
struct group_row {
	bool is_corrupt;
	uint32_t free_clusters;
	uint32_t fragments;
	uint32_t first_free;
	uint32_t counters[BUDDY_MAX_ORDERS];
};

/* Reads the group if it has not been touched yet. ENOMEM. */
MUST_CHECK errcode_t stats_text_read_row(struct ext2mb *mb, uint32_t number, struct group_row *row);

/* Like ext2mb_write_mb_groups(), for the groups in [first, end). */
MUST_CHECK errcode_t stats_text_write_groups(struct ext2mb *mb, uint32_t first, uint32_t end,
                                             ext2mb_write_function write, void *context);
