/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Usage by owner: a map from ids to inodes and bytes. Each worker has its own, and they are joined. One thread at a
 * time.
 */
#pragma once

#include "ondisk/quota_file.h"
#include "support/problem.h"

/* Zero-initialise. */
struct usage_by_id {
	struct quota_entry *entries; /* owned; in the order of the first charges, until they are sorted */
	size_t count, capacity;
	uint32_t *slots;   /* owned; a hash table with at least two slots for each entry: its number + 1, 0: free */
	size_t slot_count; /* a power of two, or 0 */
	size_t last;       /* the entry that was charged last, which is usually the next one, too */
};

/* Adds to what an owner uses, modulo 2^64. ENOMEM. */
MUST_CHECK errcode_t usage_by_id_add(struct usage_by_id *usage, uint32_t id, uint64_t inodes, uint64_t space_bytes);

/* Adds all of `more` to `all`. ENOMEM. */
MUST_CHECK errcode_t usage_by_id_join(struct usage_by_id *all, const struct usage_by_id *more);

/* Puts the entries in the order of their ids. Nothing may be added after that. */
void usage_by_id_sort(struct usage_by_id *usage);

void usage_by_id_free(struct usage_by_id *usage);
