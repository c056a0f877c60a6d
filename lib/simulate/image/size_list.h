/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The file sizes of a tree, real or generated, directory by directory. One thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "support/problem.h"

/* Zero-initialise, then fill. */
struct size_list {
	uint64_t *bytes; /* owned; sizes of files, those of a directory adjacent */
	size_t *ends;    /* owned; by directory: the index after its last file */
	size_t count, capacity;
	size_t directories, directories_capacity;
};

/*
 * Reads the sizes of all regular files below the directory, by name, without following symbolic links; directories
 * without files are left out. The problem names a path that could not be read. EINTR when a signal arrived; EINVAL:
 * there are no files.
 */
MUST_CHECK errcode_t size_list_read(struct size_list *list, const char *directory, struct problem *problem);

/*
 * Makes `count` files (at least 1), 16 to a directory, with the distribution of the Linux 6.1 source: half have up to
 * 3873 bytes, 1 % have more than 124603. Equal seeds make equal lists. ENOMEM.
 */
MUST_CHECK errcode_t size_list_make(struct size_list *list, size_t count, uint64_t seed);

void size_list_close(struct size_list *list);
