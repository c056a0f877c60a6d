/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The open filesystem and its allocator. Only filesystem.c calls libext2fs and reads its structures.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "compare/policies.h"
#include "disk/place.h"
#include "transaction/preview.h"

/* A file of alloc -i. It is kept open, so that its preallocations stay. */
struct open_file {
	struct ext2mb_file *file;
	ext2_ino_t ino;
	uint64_t blocks; /* allocated to it so far */
	struct open_file *next;
};

/* All zeros: no filesystem is open. */
struct filesystem {
	struct place place;
	ext2_filsys fs;
	struct ext2mb *mb;
	struct ext2mb_worker *worker;
	struct ext2mb_orphans *orphans; /* NULL until they are read */
	struct open_file *files;
	bool is_writable;
	bool is_journalled;      /* all changes until a sync are one transaction */
	bool is_changed;         /* since it was opened or synced */
	uint64_t corrupt_groups; /* number of groups reported to the user */
};

static inline bool filesystem_is_open(const struct filesystem *filesystem)
{
	return filesystem->fs;
}

enum filesystem_access { FILESYSTEM_READ, FILESYSTEM_WRITE, FILESYSTEM_JOURNALLED };

/* name: a file, a device, LABEL= or UUID=. After an error no filesystem is open. */
MUST_CHECK errcode_t filesystem_open(struct filesystem *filesystem, const char *name, const struct place_options *where,
                                     enum filesystem_access access, const struct policy_options *policy,
                                     struct problem *problem);

/* Replaces the allocator, if any, by another one. There must be no unwritten changes. */
MUST_CHECK errcode_t filesystem_attach(struct filesystem *filesystem, const struct policy_options *policy);

/* Writes all changes. */
MUST_CHECK errcode_t filesystem_sync(struct filesystem *filesystem, struct problem *problem);

/* For journalled filesystems: shows what a sync would write, and commits nothing. Preallocations are discarded. */
MUST_CHECK errcode_t filesystem_preview(struct filesystem *filesystem, preview_function show, void *context,
                                        struct problem *problem);

/* Writes all changes and closes the filesystem, also after an error. Does nothing if none is open. */
MUST_CHECK errcode_t filesystem_close(struct filesystem *filesystem, struct problem *problem);

/* Reads the orphans, unless they have been read. */
MUST_CHECK errcode_t filesystem_read_orphans(struct filesystem *filesystem, struct problem *problem);

/* Reads the inode's link count, and whether the inode is in use. Errors in reading it. */
MUST_CHECK errcode_t filesystem_inode_links(struct filesystem *filesystem, ext2_ino_t ino, unsigned int *links,
                                            bool *is_in_use);

/* Returns the file of this inode number. If that opens it, parent is its directory. */
MUST_CHECK errcode_t filesystem_file(struct filesystem *filesystem, ext2_ino_t ino, ext2_ino_t parent,
                                     struct open_file **file);
