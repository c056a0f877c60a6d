/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The digests that a manifest has of its files, compared with their contents once the tree is there. */
#pragma once

#include "source/mtree/mtree.h"
#include "support/run/pool.h"

/* The digests of a file in one line. */
struct digest_line {
	const char *path;
	unsigned long line;
	const char *digests[MTREE_DIGEST_KINDS]; /* NULL: not given */
};

/* Zero-initialise. */
struct digests {
	struct digest_line *list; /* in the order of the manifest */
	size_t count, capacity;
	struct arena memory;
};

/* Keeps what a line has of digests, if any. ENOMEM. */
MUST_CHECK errcode_t digests_note(struct digests *digests, const struct mtree_entry *entry);

/*
 * Reads all files in question, in parallel, each once for every line that is for it. Paths at which the tree has no
 * regular file are passed over. EINVAL where a digest is another: the problem names the first such line of the
 * manifest, the file, and both digests. Errors of reading, EINTR, ENOMEM. Main thread, or a task with a serial pool.
 */
MUST_CHECK errcode_t digests_check(const struct digests *digests, const struct tree *tree, const char *manifest,
                                   struct pool *pool, struct problem *problem);

void digests_destroy(struct digests *digests);
