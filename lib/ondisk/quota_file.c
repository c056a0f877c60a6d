/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ondisk/quota_file.h"

#include <assert.h>
#include <endian.h>
#include <string.h>

#define VERSION 1 /* of entries with 64 bits */
#define GRACE_SECONDS (7 * 24 * 60 * 60)
#define TREE_LEVELS 4
#define ROOT_BLOCK 1

static const uint32_t magic_numbers[QUOTA_TYPES] = {
	[QUOTA_OF_USERS] = 0xd9c01f11,
	[QUOTA_OF_GROUPS] = 0xd9c01927,
	[QUOTA_OF_PROJECTS] = 0xd9c03f14,
};

/* All fields are little-endian. */
struct raw_header {
	uint32_t magic, version;
	uint32_t space_grace_seconds, inode_grace_seconds;
	uint32_t flags;
	uint32_t blocks;
	uint32_t free_block;  /* 0: all blocks are in use */
	uint32_t entry_block; /* a block with room for an entry; 0: none */
};

struct raw_entry_block {
	uint32_t next, previous; /* of the blocks with room */
	uint16_t entries, unused;
	uint32_t unused_too;
};

struct raw_entry {
	uint32_t id, unused;
	uint64_t inode_hard, inode_soft, inodes;
	uint64_t space_hard, space_soft, space_bytes; /* limits in KiB */
	uint64_t space_time, inode_time;
};

_Static_assert(sizeof(struct raw_header) == 32, "as on disk");
_Static_assert(sizeof(struct raw_entry_block) == 16, "as on disk");
_Static_assert(sizeof(struct raw_entry) == 72, "as on disk");

#define ENTRIES_PER_BLOCK ((QUOTA_BLOCK_BYTES - sizeof(struct raw_entry_block)) / sizeof(struct raw_entry))

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
	uint64_t blocks = ROOT_BLOCK + 1 + (count + ENTRIES_PER_BLOCK - 1) / ENTRIES_PER_BLOCK;

	for (size_t number = 0; number < count; number++)
		blocks += TREE_LEVELS - levels_there(entries, number);
	return blocks * QUOTA_BLOCK_BYTES;
}

static void put_reference(uint8_t *bytes, uint32_t block, uint32_t id, unsigned int level, uint32_t reference)
{
	uint8_t index = (uint8_t)(id >> (8 * (TREE_LEVELS - 1 - level)));
	uint32_t reference_le = htole32(reference);

	memcpy(bytes + (size_t)block * QUOTA_BLOCK_BYTES + index * sizeof(reference_le), &reference_le,
	       sizeof(reference_le));
}

static void put_entry(uint8_t *block, size_t slot, const struct quota_entry *entry)
{
	const struct raw_entry_block head = { .entries = htole16((uint16_t)(slot + 1)) };
	const struct raw_entry raw = {
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
	uint32_t path[TREE_LEVELS] = { ROOT_BLOCK }, next = ROOT_BLOCK + 1, entry_block = 0;

	memset(bytes, 0, quota_file_bytes(entries, count));
	for (size_t number = 0; number < count; number++) {
		const uint32_t id = entries[number].id;
		size_t slot = number % ENTRIES_PER_BLOCK;

		assert(!number || entries[number - 1].id < id);
		for (unsigned int level = levels_there(entries, number); level < TREE_LEVELS; level++) {
			path[level] = next++;
			put_reference(bytes, path[level - 1], id, level - 1, path[level]);
		}
		if (slot == 0)
			entry_block = next++;
		put_reference(bytes, path[TREE_LEVELS - 1], id, TREE_LEVELS - 1, entry_block);
		put_entry((uint8_t *)bytes + (size_t)entry_block * QUOTA_BLOCK_BYTES, slot, &entries[number]);
	}
	const struct raw_header header = {
		.magic = htole32(magic_numbers[type]),
		.version = htole32(VERSION),
		.space_grace_seconds = htole32(GRACE_SECONDS),
		.inode_grace_seconds = htole32(GRACE_SECONDS),
		.blocks = htole32(next),
		.entry_block = htole32(count % ENTRIES_PER_BLOCK ? entry_block : 0),
	};

	memcpy(bytes, &header, sizeof(header));
}
