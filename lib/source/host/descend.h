/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opens the directories of a tree on the host, however deep they lie, without following any symlink. */
#pragma once

#include "source/host/open_below.h"
#include "source/tree/tree.h"

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

/* A directory for reading; the caller closes it. Errors of open(2), ENOMEM. */
MUST_CHECK errcode_t descender_open(struct descender *descender, uint32_t directory, int *descriptor);

/*
 * A regular file of an open directory, for reading, never blocking; the caller closes it. Like directories it
 * is opened with O_NOATIME where that is allowed, so that building an image does not change its source.
 */
MUST_CHECK errcode_t descender_open_file(struct descender *descender, int directory, const char *name, int *descriptor);
