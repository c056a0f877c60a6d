/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The filesystem that is open and the allocator on it. What calls libext2fs, or looks into its filesystem, is in
 * filesystem.c.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "image/target.h"
#include "compare/policies.h"
#include "transaction/preview.h"

/* A file of alloc -i. It is kept open, so that it has its preallocations. */
struct open_file {
	struct ext2mb_file *file;
	ext2_ino_t ino;
	uint64_t blocks; /* that it has got */
	struct open_file *next;
};

/* All zeros: none is open. */
struct filesystem {
	struct target target;
	ext2_filsys fs;
	struct ext2mb *mb;
	struct ext2mb_worker *worker;
	struct ext2mb_orphans *orphans; /* NULL until they are asked for */
	struct open_file *files;
	bool is_writable;
	bool is_journalled;      /* what is written is one transaction, until it is synced */
	bool is_changed;         /* since it was opened or synced */
	uint64_t corrupt_groups; /* that the user has been told of */
};

static inline bool filesystem_is_open(const struct filesystem *filesystem)
{
	return filesystem->fs;
}

enum filesystem_access { FILESYSTEM_READ, FILESYSTEM_WRITE, FILESYSTEM_JOURNALLED };

/* name: a file, a device, LABEL= or UUID=. After an error none is open. */
MUST_CHECK errcode_t filesystem_open(struct filesystem *filesystem, const char *name, enum filesystem_access access,
                                     const struct policy_options *policy, struct problem *problem);

/* Attaches another allocator instead of the one that it has, or none; nothing may be changed. */
MUST_CHECK errcode_t filesystem_attach(struct filesystem *filesystem, const struct policy_options *policy);

/* Writes what was changed. */
MUST_CHECK errcode_t filesystem_sync(struct filesystem *filesystem, struct problem *problem);

/* Journalled: shows what a sync would write now, and commits nothing; preallocations are given back. */
MUST_CHECK errcode_t filesystem_preview(struct filesystem *filesystem, preview_function show, void *context,
                                        struct problem *problem);

/* Writes what was changed, and closes it; that also after an error. Nothing to do if none is open. */
MUST_CHECK errcode_t filesystem_close(struct filesystem *filesystem, struct problem *problem);

/* Reads the orphans, unless that has been done. */
MUST_CHECK errcode_t filesystem_read_orphans(struct filesystem *filesystem, struct problem *problem);

/* How many links the inode has; *is_in_use: somebody has it. Errors in reading it. */
MUST_CHECK errcode_t filesystem_inode_links(struct filesystem *filesystem, ext2_ino_t ino, unsigned int *links,
                                            bool *is_in_use);

/* The file of this inode number; parent is that of the call that opens it. */
MUST_CHECK errcode_t filesystem_file(struct filesystem *filesystem, ext2_ino_t ino, ext2_ino_t parent,
                                     struct open_file **file);
