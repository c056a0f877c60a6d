/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files of an image, each with a digest of its contents and metadata; ctime
 * and the number of links are left out, which names elsewhere change. Whatever fails ends the program. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tree/details.h"

struct file_digest {
	char *path;
	uint64_t digest;
	struct tree_time accessed, created; /* atime and crtime, which the digest leaves out */
};

struct file_digests {
	struct file_digest *list; /* sorted by path */
	size_t count;
};

void file_digests_read(const char *image, struct file_digests *digests);
void file_digests_free(struct file_digests *digests);

/* The states in which files may be. */
enum digest_states {
	STATE_OLD_OR_NEW, /* each by itself */
	STATE_ALL_OLD_OR_ALL_NEW,
	STATE_NEW,
};

/* Are the files in such a state, and no other file there? NULL, or what is wrong, valid until the next call. */
const char *file_digests_judge(const struct file_digests *found, const struct file_digests *old,
                               const struct file_digests *new, enum digest_states states);
