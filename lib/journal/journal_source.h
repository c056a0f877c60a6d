/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The source of a journal's blocks. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "support/problem.h"

/* Blocks of the journal's inode that follow one another in the image. */
struct journal_range {
	uint64_t logical;
	uint64_t physical;
	uint64_t count;
};

struct journal_source {
	/* Reads all of bytes, or fails: an errno value, or any other error. Reads only what lies within blocks. */
	errcode_t (*read)(void *context, uint64_t offset_bytes, void *buffer, size_t bytes);
	void *context;
	const char *path;     /* for messages; NULL: they name none */
	uint32_t block_bytes; /* of the filesystem, 1024 to 65536 */
	uint64_t blocks;      /* of the filesystem */
	/* s_journal_dev of ext4's superblock is set, and s_journal_inum is not. Then there are no ranges. */
	bool is_external;
	const struct journal_range *ranges; /* by logical block, from 0 on, without holes */
	size_t range_count;
};
