/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The superblock's list of orphans in memory: s_last_orphan is the newest one, and each inode's i_dtime is the number
 * of the next older one. Each node remembers its i_dtime on disk, so that only inodes whose i_dtime changes are
 * written. There is no I/O and no lock here: the owner has a lock.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/problem.h"

#define ORPHAN_LIST_NONE UINT32_MAX

enum orphan_node_state {
	ORPHAN_NODE_UNUSED,
	ORPHAN_NODE_LISTED,
	ORPHAN_NODE_LEAVING, /* deleted here, but the inode's i_dtime on disk still belongs to the list */
};

struct orphan_node {
	uint32_t ino;
	uint32_t newer;   /* nodes, or ORPHAN_LIST_NONE */
	uint32_t older;   /* of unused and leaving nodes: the next one of their kind */
	uint32_t written; /* the i_dtime on disk; valid if is_written */
	bool is_written;
	uint8_t state;
};

struct orphan_list {
	struct orphan_node *nodes; /* a node never moves: its number is the caller's index */
	size_t count;
	size_t capacity;
	uint32_t newest;
	uint32_t oldest;
	uint32_t unused;
	uint32_t leaving;
};

void orphan_list_init(struct orphan_list *list);
void orphan_list_destroy(struct orphan_list *list);

/* Puts an inode before all others. ENOMEM. */
MUST_CHECK errcode_t orphan_list_add(struct orphan_list *list, uint32_t ino, uint32_t *node);

/* Used while the list is read from disk: puts an inode after all others; next is its i_dtime. ENOMEM. */
MUST_CHECK errcode_t orphan_list_load(struct orphan_list *list, uint32_t ino, uint32_t next);

/* EXT2MB_ET_ORPHAN_ABSENT when the node does not hold ino. Needs no memory. */
MUST_CHECK errcode_t orphan_list_remove(struct orphan_list *list, uint32_t node, uint32_t ino);

/* Returns the inode of the first node at or after *node that is on the list, and sets *node to it; 0 at the end. */
uint32_t orphan_list_next(const struct orphan_list *list, uint32_t *node);

/* The value that i_dtime of a node's inode must have on disk: the next older inode number or 0. */
uint32_t orphan_list_link(const struct orphan_list *list, const struct orphan_node *node);

/* Marks all leaving nodes as unused, once their inodes have been written. */
void orphan_list_forget_leaving(struct orphan_list *list);
