/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The image file: built under a temporary name beside its final one, renamed when whole, removed on failure. */
#ifndef POPULATE_OUTPUT_H
#define POPULATE_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "support/problem.h"

struct output {
	const char *path;     /* the final name, behind any symlink */
	char *resolved_path;  /* owned; NULL where path is as it was given */
	char *work_path;      /* where it is built: the temporary name, or path where in_place; owned */
	char *offset_path;    /* the same as e2fsprogs are told of an offset; owned; NULL without one */
	int descriptor;       /* open for reading and writing */
	bool is_device;       /* a block device */
	bool in_place;        /* a device, or an existing file that has more in it than the filesystem */
	uint64_t offset_bytes; /* where in the file the filesystem begins */
	uint64_t existing_bytes; /* size of what was there from the offset on; 0: nothing was */
	bool existed;         /* a regular file was there, whose owner the finished file gets: */
	uid_t uid;
	gid_t gid;
	mode_t mode;          /* what the finished file gets */
};

/* Looks at what is there, without opening it for writing or making anything. Errors name path. */
MUST_CHECK errcode_t output_examine(const char *path, uint64_t offset_bytes, struct output *output,
                                    struct problem *problem);

/* Then makes the temporary file (or opens what is written in place). */
MUST_CHECK errcode_t output_open(struct output *output, struct problem *problem);

/*
 * Removes the superblock that mke2fs wrote first, so that a device on which something fails holds no filesystem that
 * could be taken for a whole one. Main thread only; does nothing to a file, which has no name yet.
 */
MUST_CHECK errcode_t output_hide_superblock(const struct output *output, struct problem *problem);

/* Makes a file that mke2fs left shorter than the filesystem as long as that. */
MUST_CHECK errcode_t output_extend(const struct output *output, uint64_t filesystem_bytes, struct problem *problem);

/*
 * Makes another temporary file for what the first is to be turned into. The first one is removed; its descriptor
 * becomes the caller's. Not for what is written in place.
 */
MUST_CHECK errcode_t output_renew(struct output *output, int *previous, struct problem *problem);

/* Waits for the data to be on disk and gives the file its final name. */
MUST_CHECK errcode_t output_finish(struct output *output, struct problem *problem);

/* Removes the temporary file if output_finish() has not been reached, and frees. */
void output_discard(struct output *output);

/* How e2fsprogs and libext2fs find the filesystem in it. */
static inline const char *output_filesystem(const struct output *output)
{
	return output->offset_path ? output->offset_path : output->work_path;
}

#endif
