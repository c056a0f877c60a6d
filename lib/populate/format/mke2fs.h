/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mke2fs(8) makes the empty filesystem, with all its options and mke2fs.conf. */
#pragma once

#include "populate/build/identity.h"
#include "populate/build/options.h"

/* Options for mke2fs besides the user's. */
struct mke2fs_words {
	char features[512]; /* of an -O, which the user's list follows; empty: the user's options decide */
	char extended[256]; /* of an -E: each option with a comma before it */
	char options[4][32];
	size_t option_count;
};

struct mke2fs_run {
	const struct populate_options *options;
	const struct identity *identity; /* for what the options do not say */
	struct mke2fs_words words;
	const char *path;      /* of the image being made */
	uint64_t offset_bytes; /* where in it the filesystem begins */
	bool is_device;        /* and so can have bad blocks */
	const char *size;      /* NULL: the size of the file or device */
	uint64_t inodes;       /* -N of ours, 0: mke2fs decides */
	uint32_t block_bytes;  /* -b of ours, 0: mke2fs decides */
	bool wants_verity;     /* the feature is added unless the options exclude it */
};

/* Runs it to its end. Its own words become the problem's reason. */
MUST_CHECK errcode_t mke2fs_run(const struct mke2fs_run *run, struct problem *problem);

/* Does the last -O that names the feature say that it is not to be set? */
bool mke2fs_is_told_not(const struct populate_options *options, const char *feature);

/* The last argument of an option that is given to mke2fs ("-J"); NULL: it is not given. */
const char *mke2fs_argument(const struct populate_options *options, const char *word);

/* Does the last -O begin anew, with no features at all? */
bool mke2fs_is_told_none(const struct populate_options *options);

/*
 * The -E list: some of its options say what is put into the filesystem, and so concern us too. Is one of this name in a
 * list ("stride=16,root_owner"), with a value or without? list may be NULL.
 */
bool extended_has(const char *list, const char *name);

/* Returns the text after the = of the last option of this name, "" without one. The caller frees it. ENOMEM. */
MUST_CHECK errcode_t extended_value(const char *list, const char *name, char **ret);

/* The list without the options of this name. The caller frees it. ENOMEM. */
MUST_CHECK errcode_t extended_without(const char *list, const char *name, char **ret);
