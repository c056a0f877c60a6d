/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ondisk/usage_by_id.h"

#include <errno.h>
#include <stdlib.h>

#include "support/cleanup.h"
#include "support/vector.h"

#define FIRST_SLOTS 64

/* The slot of an id, or the free one where it belongs. (Knuth's multiplicative hashing, linear probing.) */
static uint32_t *find_slot(const struct usage_by_id *usage, uint32_t id)
{
	size_t slot = (id * 2654435761u) & (usage->slot_count - 1);

	while (usage->slots[slot] && usage->entries[usage->slots[slot] - 1].id != id)
		slot = (slot + 1) & (usage->slot_count - 1);
	return &usage->slots[slot];
}

static errcode_t grow_slots(struct usage_by_id *usage)
{
	size_t slot_count = usage->slot_count ? 2 * usage->slot_count : FIRST_SLOTS;
	uint32_t *slots = calloc(slot_count, sizeof(*slots));

	if (!slots)
		return ENOMEM;
	free(usage->slots);
	usage->slots = slots;
	usage->slot_count = slot_count;
	for (size_t number = 0; number < usage->count; number++)
		*find_slot(usage, usage->entries[number].id) = (uint32_t)number + 1;
	return 0;
}

static errcode_t add_owner(struct usage_by_id *usage, uint32_t id)
{
	errcode_t error = 2 * (usage->count + 1) > usage->slot_count ? grow_slots(usage) : 0;

	if (!error)
		error = vector_reserve(&usage->entries, &usage->capacity, usage->count + 1, sizeof(*usage->entries));
	if (error)
		return error;
	uint32_t *slot = find_slot(usage, id);

	if (!*slot) {
		usage->entries[usage->count++] = (struct quota_entry){ .id = id };
		*slot = (uint32_t)usage->count;
	}
	usage->last = *slot - 1;
	return 0;
}

errcode_t usage_by_id_add(struct usage_by_id *usage, uint32_t id, uint64_t inodes, uint64_t space_bytes)
{
	if (!usage->count || usage->entries[usage->last].id != id) {
		errcode_t error = add_owner(usage, id);

		if (error)
			return error;
	}
	usage->entries[usage->last].inodes += inodes;
	usage->entries[usage->last].space_bytes += space_bytes;
	return 0;
}

errcode_t usage_by_id_join(struct usage_by_id *all, const struct usage_by_id *more)
{
	errcode_t error = 0;

	for (size_t number = 0; !error && number < more->count; number++) {
		const struct quota_entry *entry = &more->entries[number];

		error = usage_by_id_add(all, entry->id, entry->inodes, entry->space_bytes);
	}
	return error;
}

static int compare(const void *left, const void *right)
{
	const struct quota_entry *one = left, *other = right;

	return (one->id > other->id) - (one->id < other->id);
}

void usage_by_id_sort(struct usage_by_id *usage)
{
	if (usage->count)
		qsort(usage->entries, usage->count, sizeof(*usage->entries), compare);
}

void usage_by_id_free(struct usage_by_id *usage)
{
	free(TAKE(usage->entries));
	free(TAKE(usage->slots));
	*usage = (struct usage_by_id){ 0 };
}
