/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opens files below a directory, following no symlink in any component of their paths, and the directories of a tree on
 * the host, however deep they lie.
 */
#pragma once

#include "tree/tree.h"

/* The known abilities of this host. Zero-initialise; belongs to one worker. */
struct opener {
	bool has_looked;     /* at the environment, for pseudo(1) */
	bool lacks_openat2;  /* Linux before 5.6, a filter of system calls that does not know it, or pseudo(1) */
	bool keeps_no_atime; /* O_NOATIME was refused once: do without */
};

/*
 * path is relative, of any length, without ".."; flags are those of open(2), for reading or O_PATH. With O_NOATIME
 * where that is allowed, so that building an image does not change its source. ELOOP or ENOTDIR where a component is a
 * symlink (the last one, with O_PATH, is opened itself); errors of open(2). The caller closes *descriptor.
 */
MUST_CHECK errcode_t open_below(struct opener *opener, int directory, const char *path, int flags, int *descriptor);

/* Belongs to one worker. Holds at most one descriptor between calls. */
struct descender {
	const void *tree;
	ascend_step step;
	int root;   /* borrowed */
	int anchor; /* somewhere down a deep path; -1: none */
	uint32_t anchor_directory;
	uint32_t *pieces; /* scratch: where such a path is cut */
	size_t pieces_capacity;
	struct opener opener;
};

/* root: the open root directory, borrowed. */
void descender_init(struct descender *descender, int root, ascend_step step, const void *tree);
void descender_destroy(struct descender *descender);

/* The caller gives the number of this directory to another one. */
void descender_forget(struct descender *descender, uint32_t directory);

/* A directory for reading; the caller closes it. Errors of open(2), ENOMEM. */
MUST_CHECK errcode_t descender_open(struct descender *descender, uint32_t directory, int *descriptor);
