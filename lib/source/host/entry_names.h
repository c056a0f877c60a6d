/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The names in a directory, as getdents64() gives them, the entries that are made of them, and memory for these. */
#pragma once

#include "source/host/directory_scan.h"

/*
 * Adds the names in what getdents64() gave to a worker's `names`, of which there are `count` that take up `used` bytes
 * of its listing. ENAMETOOLONG, EOVERFLOW, ENOMEM.
 */
MUST_CHECK errcode_t scan_add_names(struct scan_worker *worker, const char *entries, size_t bytes, size_t *count,
                                    size_t *used);

/* Sorts a worker's names and makes entries of them; a name that the host gives twice is one entry. ENOMEM. */
MUST_CHECK errcode_t scan_make_entries(struct scan_worker *worker, size_t count, struct scan_entry *entries,
                                       uint32_t *made);

/* The first eight bytes of a name as a big-endian number. */
uint64_t scan_prefix(const char *name, size_t bytes);

/* Zeros out of a worker's chunk, or, if they are many, out of one of their own. NULL: no memory. */
void *children_chunk_next(struct scan_worker *worker, size_t bytes, struct children_chunk **chunk);

/* Gives up one use of it; NULL is allowed. */
void children_chunk_release(struct children_chunk *chunk);
