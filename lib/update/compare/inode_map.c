/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "update/compare/inode_map.h"

#include <errno.h>
#include <stdlib.h>

#define LEAST_SLOTS 64u

/* Returns the inode's slot, or the free slot where it would be. */
static struct inode_map_slot *find_slot(const struct inode_map *map, uint32_t ino)
{
	size_t mask = map->capacity - 1, at = ino * UINT64_C(0x9e3779b97f4a7c15) >> 32 & mask;

	while (map->slots[at].ino && map->slots[at].ino != ino)
		at = (at + 1) & mask;
	return &map->slots[at];
}

uint32_t *inode_map_find(const struct inode_map *map, uint32_t ino)
{
	struct inode_map_slot *slot = map->count ? find_slot(map, ino) : NULL;

	return slot && slot->ino ? &slot->value : NULL;
}

static errcode_t grow(struct inode_map *map)
{
	struct inode_map larger = { .count = map->count };

	larger.capacity = map->capacity ? 2 * map->capacity : LEAST_SLOTS;
	larger.slots = calloc(larger.capacity, sizeof(*larger.slots));
	if (!larger.slots)
		return ENOMEM;
	for (size_t at = 0; at < map->capacity; at++)
		if (map->slots[at].ino)
			*find_slot(&larger, map->slots[at].ino) = map->slots[at];
	free(map->slots);
	*map = larger;
	return 0;
}

errcode_t inode_map_enter(struct inode_map *map, uint32_t ino, uint32_t **value)
{
	/* Half of the slots stay free, so that searches are short. */
	errcode_t error = 2 * (map->count + 1) > map->capacity ? grow(map) : 0;

	if (error)
		return error;
	struct inode_map_slot *slot = find_slot(map, ino);

	map->count += !slot->ino;
	slot->ino = ino;
	*value = &slot->value;
	return 0;
}

void inode_map_free(struct inode_map *map)
{
	free(map->slots);
	*map = (struct inode_map){ 0 };
}
