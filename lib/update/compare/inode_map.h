/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Maps inode numbers to numbers of the caller's. It holds few of an image's inodes, so it is a hash table.
 * Zero-initialise.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "support/problem.h"

struct inode_map_slot {
	uint32_t ino; /* 0: the slot is free */
	uint32_t value;
};

struct inode_map {
	struct inode_map_slot *slots; /* owned */
	size_t count, capacity;       /* a power of two */
};

/* Returns a pointer to the inode's number; NULL if the map does not have the inode. */
uint32_t *inode_map_find(const struct inode_map *map, uint32_t ino);

/* Finds the inode, or adds it with the number 0. *value is valid until the next call. ino is not 0. ENOMEM. */
MUST_CHECK errcode_t inode_map_enter(struct inode_map *map, uint32_t ino, uint32_t **value);

void inode_map_free(struct inode_map *map);
