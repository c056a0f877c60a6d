/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads everything of an image through lib/image: whatever its bytes are, that ends and stays within bounds. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define IMAGE_STRICT 1u   /* what differs from its checksum is damage, too, and so is what the kernel refuses */
#define IMAGE_REPLAYED 2u /* as a replay of its journal would leave it */

#define IMAGE_MOST_DAMAGE 64

struct image_all {
	uint64_t sum;            /* of all that was read */
	uint64_t damage, errors; /* how often */
	uint64_t blocks, names, xattrs, orphans;
	uint64_t unusual_names; /* with a 0 or a slash in them */
	unsigned int what_count;
	const char *whats[IMAGE_MOST_DAMAGE]; /* the damage, each kind once */
};

/* False if it cannot be opened. */
bool image_read_all(const char *path, unsigned int flags, struct image_all *all);

/* Was this told? */
bool image_all_has(const struct image_all *all, const char *what);
