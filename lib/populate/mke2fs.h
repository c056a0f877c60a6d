/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mke2fs(8) as a child process: it makes the empty filesystem, with all its options and mke2fs.conf. */
#ifndef POPULATE_MKE2FS_H
#define POPULATE_MKE2FS_H

#include <stdbool.h>
#include <stdint.h>

#include "support/problem.h"

struct mke2fs_run {
	char *const *options;   /* NULL-terminated, before ours */
	const char *extended;   /* one -E list, NULL: none */
	const char *uuid;       /* -U of ours, NULL: none */
	uint64_t inodes;        /* -N, 0: mke2fs decides */
	const char *path;       /* of the image being made */
	const char *size;       /* NULL: the size of the file or device */
	const char *image_path; /* the name that messages show */
	bool has_epoch;         /* pretend that it is */
	int64_t epoch;          /* this time */
	bool verbose;           /* its standard output goes to ours */
};

/* Runs it to its end. Its own words become the problem's reason. */
MUST_CHECK errcode_t mke2fs_run(const struct mke2fs_run *run, struct problem *problem);

#endif
