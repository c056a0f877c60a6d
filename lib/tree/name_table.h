/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The names of one directory while a tree is built: which of its entries has a name? A table for each directory is at
 * hand while the names of that directory come, one after the other as a rule; with ten million entries in one table for
 * all, each name took 0.7 us of waiting for memory. Zeroed it is empty; the caller frees slots.
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

/* With a key that nobody knows, no names can be chosen that all meet in one slot. */
uint32_t name_hash(uint64_t key, const char *name, size_t bytes);

/* The entry that has a name; 0: none. */
uint32_t name_table_find(const struct name_table *table, const struct tree_node *entries, uint32_t hash,
                         const char *name, size_t bytes);

/* Asks for the memory that a name with this hash will need. */
static inline void name_table_expect(const struct name_table *table, uint32_t hash)
{
	__builtin_prefetch(&table->slots[hash & (table->slot_count - 1)], 1);
}

/* Gives a name to an entry: that of `replaced`, which has the same hash, or one that no entry has (0). ENOMEM. */
MUST_CHECK errcode_t name_table_put(struct name_table *table, uint32_t hash, uint32_t replaced, uint32_t entry);
