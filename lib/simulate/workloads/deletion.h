/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Directories of small files are deleted one after the other, and what of the metadata is written meanwhile: all that
 * changed since the last commit goes out with the next one, to the journal. Its home places are written later and so
 * no more often. What changes in the directories themselves is left out. Main thread.
 */
#pragma once

#include "simulate/image/dirty_blocks.h"
#include "simulate/image/image.h"
#include "simulate/run/result.h"

/* In which order the directories are deleted. */
enum deletion_order {
	DELETION_BY_INODE,   /* as rm(1) does it where there are more than 10 000 */
	DELETION_BY_READDIR, /* as readdir(3) gives them: by the hashes of their names */
	DELETION_BY_NAME,
};

#define DELETION_ORDERS "inode|readdir|name" /* as texts */

struct deletion {
	struct image *image;
	struct file_set **directories; /* the caller's; names ascending */
	uint32_t directory_count;
	uint32_t batch_files; /* deletions between two commits */
	enum deletion_order order;

	/* By group, by block of all inode tables, and by block of descriptors: */
	struct dirty_blocks bitmaps, inode_bitmaps, tables, descriptors;
};

/* Sorts the directories, deletes all files in them, and counts. Its first five members are set. ENOMEM, EINTR. */
MUST_CHECK errcode_t deletion_run(struct deletion *deletion);

void deletion_add_values(const struct deletion *deletion, struct result *result);
void deletion_close(struct deletion *deletion);
