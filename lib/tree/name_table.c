/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/name_table.h"

#include <errno.h>
#include <string.h>

#define FIRST_SLOTS 4u
/* Numbers of entries have 32 bits, so that no table needs more slots. */
#define MOST_SLOTS (1u << 31)

/* Combines both halves of the product. */
static uint64_t mix(uint64_t one, uint64_t other)
{
#ifdef __SIZEOF_INT128__
	unsigned __int128 product = (unsigned __int128)one * other;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
#else /* for machines with 32 bits */
	uint64_t low = (one & UINT32_MAX) * (other & UINT32_MAX), high = (one >> 32) * (other >> 32);
	uint64_t left = (one >> 32) * (other & UINT32_MAX), right = (one & UINT32_MAX) * (other >> 32);
	uint64_t carried = ((low >> 32) + (left & UINT32_MAX) + (right & UINT32_MAX)) >> 32;

	return (one * other) ^ (high + (left >> 32) + (right >> 32) + carried);
#endif
}

uint64_t name_hash_wide(uint64_t key, const char *name, size_t bytes)
{
	uint64_t hash = key, word;

	for (; bytes >= sizeof(word); name += sizeof(word), bytes -= sizeof(word)) {
		memcpy(&word, name, sizeof(word));
		hash = mix(hash ^ word, 0x9e3779b97f4a7c15u);
	}
	word = bytes;
	memcpy(&word, name, bytes);
	return mix(hash ^ word ^ (uint64_t)bytes << 56, 0xd1342543de82ef95u ^ key);
}

uint32_t name_hash(uint64_t key, const char *name, size_t bytes)
{
	return (uint32_t)name_hash_wide(key, name, bytes);
}

uint32_t name_table_find(const struct name_table *table, const struct tree_node *entries, uint32_t hash,
                         const char *name, size_t bytes)
{
	for (uint32_t at = hash; table->slot_count; at++) {
		const struct name_slot *slot = &table->slots[at & (table->slot_count - 1)];

		if (!slot->entry)
			break;
		/* Nearly always the hash alone tells that it is another name, without a look at the entry. */
		if (slot->hash == hash && entries[slot->entry].name_bytes == bytes &&
		    !memcmp(entries[slot->entry].name, name, bytes))
			return slot->entry;
	}
	return 0;
}

/* Returns the slot of an entry that the table has, or the next free slot. */
static struct name_slot *find_slot(const struct name_table *table, uint32_t hash, uint32_t entry)
{
	uint32_t at = hash;

	while (table->slots[at & (table->slot_count - 1)].entry != entry)
		at++;
	return &table->slots[at & (table->slot_count - 1)];
}

static errcode_t grow(struct name_table *table)
{
	const struct name_table old = *table;

	if (old.slot_count == MOST_SLOTS)
		return EOVERFLOW;
	table->slot_count = old.slot_count ? 2 * old.slot_count : FIRST_SLOTS;
	table->slots = calloc(table->slot_count, sizeof(*table->slots));
	if (!table->slots) {
		*table = old;
		return ENOMEM;
	}
	for (uint32_t i = 0; i < old.slot_count; i++)
		if (old.slots[i].entry)
			*find_slot(table, old.slots[i].hash, 0) = old.slots[i];
	free(old.slots);
	return 0;
}

errcode_t name_table_put(struct name_table *table, uint32_t hash, uint32_t replaced, uint32_t entry)
{
	errcode_t error = replaced || table->count < table->slot_count / 4 * 3 ? 0 : grow(table);

	if (error)
		return error;
	*find_slot(table, hash, replaced) = (struct name_slot){ hash, entry };
	table->count += !replaced;
	return 0;
}
