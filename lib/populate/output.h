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
	char *work_path;      /* where it is built: the temporary name, or path for a device; owned */
	int descriptor;       /* open for reading and writing */
	bool is_device;       /* a block device: written in place */
	uint64_t existing_bytes; /* size of what was there; 0: nothing was */
	bool existed;         /* a regular file was there, whose owner the finished file gets: */
	uid_t uid;
	gid_t gid;
	mode_t mode;          /* what the finished file gets */
};

/* Looks at what is there, without opening it for writing or making anything. Errors name path. */
MUST_CHECK errcode_t output_examine(const char *path, struct output *output, struct problem *problem);

/* Then makes the temporary file (or opens the device). */
MUST_CHECK errcode_t output_open(struct output *output, struct problem *problem);

/*
 * Removes the superblock that mke2fs wrote first, so that a device on which something fails holds no filesystem that
 * could be taken for a whole one. Main thread only; does nothing to a file, which has no name yet.
 */
MUST_CHECK errcode_t output_hide_superblock(const struct output *output, struct problem *problem);

/* Waits for the data to be on disk and gives the file its final name. */
MUST_CHECK errcode_t output_finish(struct output *output, struct problem *problem);

/* Removes the temporary file if output_finish() has not been reached, and frees. */
void output_discard(struct output *output);

#endif
