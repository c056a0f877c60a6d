/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An update of an image is a list of actions, in the order in which they take place. After each one the
 * filesystem is whole, so a transaction may end after any of them.
 *
 * Removals come first, each directory after what lies in it; then the nodes of the tree, in its order. A file that has
 * several names in the tree is one file of the image: its first name stands for it.
 */
#pragma once

#include "support/arena.h"
#include "tree/tree.h"

enum update_verb {
	UPDATE_REMOVE,   /* the name goes, and with the last name its inode; a directory is empty by then */
	UPDATE_CREATE,   /* the node's inode is made, and gets its name; another file that had the name loses it */
	UPDATE_REPLACE,  /* the inode of the node keeps its number and names, and gets the node's contents and metadata
	                  */
	UPDATE_METADATA, /* the inode gets the node's metadata, and keeps its contents */
	UPDATE_LINK,     /* the name leads to the inode of the node's file; another file that had it loses it */
};

struct update_action {
	enum update_verb verb;
	bool changes_xattrs;   /* UPDATE_METADATA: xattrs are a part of it */
	bool was_directory;    /* what has the name now is one, empty by then */
	uint8_t name_bytes;    /* UPDATE_REMOVE: */
	uint32_t node;         /* of the tree; not for UPDATE_REMOVE */
	uint32_t parent;       /* UPDATE_REMOVE: the directory's inode */
	uint32_t moved_blocks; /* that are taken or freed, at most; UINT32_MAX: as many or more (target/need.h) */
	uint32_t ino;          /* what has the name now; 0: nothing has */
	const char *path;      /* UPDATE_REMOVE: in the image; in update_plan.memory */
	const char *name;      /* UPDATE_REMOVE: the end of path; UPDATE_CREATE of the root: its name there */
};

struct update_plan {
	struct tree *tree; /* what is laid over the image; owned */
	char *base;        /* the path of its root in the image, "" for the root; owned */
	uint32_t *inos;    /* by node: the inode of the image, also one that UPDATE_CREATE has made; 0: none yet */
	struct update_action *actions;
	size_t count, capacity;
	struct arena memory;
	uint64_t unchanged; /* names of the tree that need no action */
};

void update_plan_free(struct update_plan *plan);

/* ENOMEM. */
MUST_CHECK errcode_t update_plan_add(struct update_plan *plan, const struct update_action *action);

/* The path of a node, or of an action, in the image, for messages and lists. The caller frees it; NULL: no memory. */
char *update_node_path(const struct update_plan *plan, uint32_t node);
char *update_action_path(const struct update_plan *plan, const struct update_action *action);
