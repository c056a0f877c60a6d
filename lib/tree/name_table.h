/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A hash table that finds a directory's entry by name, while a tree is built. Each directory has its own table, which
 * stays in the processor's cache while the names of that directory arrive, usually one after the other. With one table
 * for ten million entries, each name waited 0.7 us for memory. A zeroed table is empty; the caller frees slots.
 */
#pragma once

#include <stddef.h>

#include "tree/tree.h"

struct name_slot {
	uint32_t hash;
	uint32_t entry; /* 0: none */
};

struct name_table {
	struct name_slot *slots; /* open addressing, at most three quarters full */
	uint32_t slot_count;     /* a power of two, or 0 */
	uint32_t count;
};

/* With a secret key, nobody can choose names that all collide. */
uint32_t name_hash(uint64_t key, const char *name, size_t bytes);

/* The same with 64 bits, of any bytes. */
uint64_t name_hash_wide(uint64_t key, const char *bytes, size_t count);

/* The entry that has a name; 0: none. */
uint32_t name_table_find(const struct name_table *table, const struct tree_node *entries, uint32_t hash,
                         const char *name, size_t bytes);

/* Prefetches the slot for this hash. */
static inline void name_table_expect(const struct name_table *table, uint32_t hash)
{
	__builtin_prefetch(&table->slots[hash & (table->slot_count - 1)], 1);
}

/*
 * Maps a name to an entry: the name of `replaced`, which has the same hash, or (0) a name that is not in the table yet.
 * ENOMEM.
 */
MUST_CHECK errcode_t name_table_put(struct name_table *table, uint32_t hash, uint32_t replaced, uint32_t entry);
