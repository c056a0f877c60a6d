/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads a finished image back through libext2fs, which knows nothing of how it was made. A reader belongs to one
 * thread at a time; each has a filesystem of its own, so any number may read side by side.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "ondisk/file_map.h"
#include "support/problem.h"

struct image_reader;

/* What an inode says. */
struct image_inode {
	uint16_t mode;
	uint32_t uid, gid, links;
	uint64_t size_bytes;
	int64_t mtime_seconds;
	uint32_t mtime_nanoseconds;
	uint32_t major, minor; /* of devices */
	uint32_t project;      /* 0 where the image has no projects */
	uint32_t flags;        /* as on disk */
};

/* Any error of libext2fs; nothing is to be closed then. */
MUST_CHECK errcode_t image_reader_open(const char *path, struct image_reader **ret);
void image_reader_close(struct image_reader *reader); /* NULL is allowed */

MUST_CHECK errcode_t image_reader_inode(struct image_reader *reader, uint32_t ino, struct image_inode *inode);

/* All names of a directory, . and .. among them, in any order, until visit returns an error. */
MUST_CHECK errcode_t image_reader_names(struct image_reader *reader, uint32_t ino,
                                        errcode_t (*visit)(void *context, const char *name, uint32_t name_bytes,
                                                           uint32_t child),
                                        void *context);

/* All xattrs with their whole names, in any order, until visit returns an error; not what inline_data keeps there. */
MUST_CHECK errcode_t image_reader_xattrs(struct image_reader *reader, uint32_t ino,
                                         errcode_t (*visit)(void *context, const char *name, const void *value,
                                                            size_t value_bytes),
                                         void *context);

/* The first `count` bytes of a small file or of a symlink's target. EIO if there are fewer. */
MUST_CHECK errcode_t image_reader_small(struct image_reader *reader, uint32_t ino, void *bytes, uint32_t count);

/* The runs of blocks with content, ascending; valid until the next call. */
MUST_CHECK errcode_t image_reader_map(struct image_reader *reader, uint32_t ino, const struct file_extent **runs,
                                      size_t *count);
