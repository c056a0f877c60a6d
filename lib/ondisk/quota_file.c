/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ondisk/quota_file.h"

#include <assert.h>
#include <endian.h>
#include <string.h>

#include "ondisk/quota_parts.h"

#define GRACE_SECONDS (7 * 24 * 60 * 60)

/* Returns how many blocks of the tree, from the root on, two ids have in common. */
static unsigned int common_levels(uint32_t one, uint32_t other)
{
	return 1 + (unsigned int)__builtin_clz(one ^ other) / 8;
}

/* Returns how many levels have the same blocks as for the previous entry. */
static unsigned int levels_there(const struct quota_entry *entries, size_t number)
{
	return number ? common_levels(entries[number - 1].id, entries[number].id) : 1;
}

uint64_t quota_file_bytes(const struct quota_entry *entries, size_t count)
{
	uint64_t blocks = QUOTA_ROOT_BLOCK + 1 + (count + QUOTA_ENTRIES_PER_BLOCK - 1) / QUOTA_ENTRIES_PER_BLOCK;

	for (size_t number = 0; number < count; number++)
		blocks += QUOTA_TREE_LEVELS - levels_there(entries, number);
	return blocks * QUOTA_BLOCK_BYTES;
}

static void put_reference(uint8_t *bytes, uint32_t block, uint32_t id, unsigned int level, uint32_t reference)
{
	uint32_t reference_le = htole32(reference);

	memcpy(bytes + (size_t)block * QUOTA_BLOCK_BYTES + quota_reference_offset(id, level), &reference_le,
	       sizeof(reference_le));
}

static void put_entry(uint8_t *block, size_t slot, const struct quota_entry *entry)
{
	const struct quota_raw_block head = { .entries = htole16((uint16_t)(slot + 1)) };
	const struct quota_raw_entry raw = {
		.id = htole32(entry->id),
		.inodes = htole64(entry->inodes),
		.space_bytes = htole64(entry->space_bytes),
	};

	/* An entry of zeros is unused. */
	assert(entry->inodes || entry->space_bytes);
	memcpy(block, &head, sizeof(head));
	memcpy(block + sizeof(head) + slot * sizeof(raw), &raw, sizeof(raw));
}

void quota_file_encode(enum quota_type type, const struct quota_entry *entries, size_t count, void *bytes)
{
	uint32_t path[QUOTA_TREE_LEVELS] = { QUOTA_ROOT_BLOCK }, next = QUOTA_ROOT_BLOCK + 1, entry_block = 0;

	memset(bytes, 0, quota_file_bytes(entries, count));
	for (size_t number = 0; number < count; number++) {
		const uint32_t id = entries[number].id;
		size_t slot = number % QUOTA_ENTRIES_PER_BLOCK;

		assert(!number || entries[number - 1].id < id);
		for (unsigned int level = levels_there(entries, number); level < QUOTA_TREE_LEVELS; level++) {
			path[level] = next++;
			put_reference(bytes, path[level - 1], id, level - 1, path[level]);
		}
		if (slot == 0)
			entry_block = next++;
		put_reference(bytes, path[QUOTA_TREE_LEVELS - 1], id, QUOTA_TREE_LEVELS - 1, entry_block);
		put_entry((uint8_t *)bytes + (size_t)entry_block * QUOTA_BLOCK_BYTES, slot, &entries[number]);
	}
	const struct quota_raw_header header = {
		.magic = htole32(quota_magic_numbers[type]),
		.version = htole32(QUOTA_VERSION),
		.space_grace_seconds = htole32(GRACE_SECONDS),
		.inode_grace_seconds = htole32(GRACE_SECONDS),
		.blocks = htole32(next),
		.entry_block = htole32(count % QUOTA_ENTRIES_PER_BLOCK ? entry_block : 0),
	};

	memcpy(bytes, &header, sizeof(header));
}
