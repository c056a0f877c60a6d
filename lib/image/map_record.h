/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A record of a file's block map. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* A record of a file's map: an extent of a tree, or a run of pointers of an indirect map. */
struct map_record {
	uint64_t logical;
	uint64_t physical;
	uint32_t count; /* blocks */
	bool is_unwritten;
};
