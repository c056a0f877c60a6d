/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads a directory as the kernel does, written without a look at the builder. */
#pragma once

#include "directory_names.h"

struct directory_bytes {
	const struct ondisk_format *format;
	const uint8_t *bytes;
	uint32_t blocks;
	bool is_indexed;
	uint32_t ino, parent_ino, generation;
};

/*
 * Reads every block and then looks every name up through the index. The set's entries must each have an inode of
 * their own. Returns NULL when all is well, else what is wrong.
 */
const char *directory_check(const struct directory_bytes *directory, const struct name_set *set);

/* How many levels of nodes are below the root. */
uint32_t directory_indirect_levels(const struct directory_bytes *directory);
