/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mke2fs(8) makes the empty filesystem, with all its options and mke2fs.conf. */
#pragma once

#include "populate/build/identity.h"
#include "populate/build/options.h"

struct mke2fs_run {
	const struct populate_options *options;
	const struct identity *identity; /* for what the options do not say */
	const char *path;                /* of the image being made */
	uint64_t offset_bytes;           /* where in it the filesystem begins */
	bool is_device;                  /* and so can have bad blocks */
	const char *size;                /* NULL: the size of the file or device */
	uint64_t inodes;                 /* -N of ours, 0: mke2fs decides */
	uint32_t block_bytes;            /* -b of ours, 0: mke2fs decides */
	bool wants_verity;               /* the feature is added unless the options exclude it */
};

/* Runs it to its end. Its own words become the problem's reason. */
MUST_CHECK errcode_t mke2fs_run(const struct mke2fs_run *run, struct problem *problem);

/* Does the last -O that names the feature say that it is not to be set? */
bool mke2fs_is_told_not(const struct populate_options *options, const char *feature);

/*
 * The -E list: some of its options say what is put into the filesystem, and so concern us too. Is one of this name in a
 * list ("stride=16,root_owner"), with a value or without? list may be NULL.
 */
bool extended_has(const char *list, const char *name);

/* Returns the text after the = of the last option of this name, "" without one. The caller frees it. ENOMEM. */
MUST_CHECK errcode_t extended_value(const char *list, const char *name, char **ret);

/* The list without the options of this name. The caller frees it. ENOMEM. */
MUST_CHECK errcode_t extended_without(const char *list, const char *name, char **ret);
