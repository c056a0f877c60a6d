/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Places for a directory's new blocks. */
#pragma once

#include "update/directory/editor_blocks.h"

/* The fields are those of directory_editor_options. */
struct editor_allocation {
	errcode_t (*allocate)(void *context, uint32_t logical, uint64_t goal, uint32_t count, uint64_t *start,
	                      uint32_t *got);
	void *context;
	uint64_t goal;
};

/*
 * Gives each new block a place; after an error the map is unchanged. EINVAL: allocate() returned blocks that it was not
 * asked for.
 */
MUST_CHECK errcode_t editor_map_new_blocks(struct editor_blocks *blocks, const struct editor_allocation *allocation);
