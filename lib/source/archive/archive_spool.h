/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A temporary file without a name that keeps contents until they are copied, one after another. */
#pragma once

#include "source/tree/tree.h"

struct archive_spool {
	struct tree *tree;     /* gets the file as an origin, when it is made */
	const char *directory; /* where it is made */
	int descriptor;        /* borrowed from the tree; -1: not made yet */
	uint32_t origin;
	uint64_t end_bytes; /* where the next content begins */
	char *buffer;
	size_t used_bytes; /* of the buffer; they come before end_bytes */
};

void archive_spool_init(struct archive_spool *spool, struct tree *tree, const char *directory);
void archive_spool_destroy(struct archive_spool *spool);

/* Makes the file if there is none yet. The problem names the directory. */
MUST_CHECK errcode_t archive_spool_open(struct archive_spool *spool, struct problem *problem);

/* Appends; the bytes lie at the old end_bytes. Only once it is open. */
MUST_CHECK errcode_t archive_spool_write(struct archive_spool *spool, const void *bytes, size_t count,
                                         struct problem *problem);

/* Writes what is gathered, before anybody reads. */
MUST_CHECK errcode_t archive_spool_flush(struct archive_spool *spool, struct problem *problem);
