/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Maps of files that are not one extent from logical block 0. Pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "ondisk/file_map.h"
#include "support/problem.h"

/* The extents of a file, ascending, while they are collected. */
struct extent_list {
	struct file_extent *extents; /* owned; freed with free() */
	size_t count, capacity;
};

/* Adds blocks after all others, joined to the last extent where they continue it; no extent exceeds what maps hold. */
MUST_CHECK errcode_t extent_list_add(struct extent_list *list, uint32_t logical, uint64_t physical, uint64_t blocks);

struct extent_map {
	uint32_t extent_count;
	uint32_t map_block_count;
	uint64_t *map_blocks; /* of the map itself, as file_map_build() wants them; within the same memory */
	struct file_extent extents[];
};

/* A copy of the extents with room for map_blocks (zeros). NULL: no memory. The caller frees it with free(). */
struct extent_map *extent_map_create(const struct extent_list *list, uint32_t map_block_count);
