/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files of an image, each with a digest of its contents and metadata; ctime
 * and the number of links are left out, which names elsewhere change. Whatever fails ends the program. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct file_digest {
	char *path;
	uint64_t digest;
	uint64_t created; /* crtime's, which is not in the other one */
};

struct file_digests {
	struct file_digest *list; /* sorted by path */
	size_t count;
};

void file_digests_read(const char *image, struct file_digests *digests);
void file_digests_free(struct file_digests *digests);

/*
 * Is each file that of one state or of the other, and no other file there? is_all: all of them are of one state. NULL,
 * or what is wrong, valid until the next call.
 */
const char *file_digests_judge(const struct file_digests *found, const struct file_digests *old,
                               const struct file_digests *new, bool is_all);
