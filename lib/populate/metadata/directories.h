/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Directories of the tree as lib/ondisk wants their entries, and writing them. */
#pragma once

#include "populate/build/plan.h"
#include "populate/build/workplace.h"

struct directory_view {
	const struct plan *plan;
	uint32_t node;
	bool has_lost_found; /* the root, when lost+found is mke2fs's: it is entry 0 */
};

/*
 * What it returns is valid as long as the view is, and may be used by one thread at a time; targets need the inode
 * numbers.
 */
struct directory_source directory_view_open(struct directory_view *view, const struct plan *plan, uint32_t node);

/* Writes the blocks of directories and of long symlinks, after inode numbers and block placement. */
MUST_CHECK errcode_t directories_write(const struct plan *plan, struct sink *sink, const struct workplace *work);
