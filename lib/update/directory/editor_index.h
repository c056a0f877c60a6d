/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of an indexed directory. All functions return the errors of editor_blocks_get(), and ENOMEM. */
#pragma once

#include "update/directory/editor_blocks.h"
#include "update/directory/editor_names.h"

/* The place of a name: its block, and its record there. */
struct editor_place {
	struct editor_block *block; /* NULL: inline data */
	struct entry_block entries;
	struct directory_record record;
};

/* ENOENT. */
MUST_CHECK errcode_t editor_index_find(struct editor_blocks *blocks, const struct editor_names *names,
                                       const struct editor_name *name, struct editor_place *place);

/* Adds a name that is not there. EFBIG (nothing has changed). */
MUST_CHECK errcode_t editor_index_add(struct editor_blocks *blocks, const struct editor_names *names,
                                      const struct editor_name *name, struct directory_target target);

/* Makes an index of a linear directory with one block: its entries move to a leaf. EFBIG (nothing has changed). */
MUST_CHECK errcode_t editor_index_begin(struct editor_blocks *blocks);
