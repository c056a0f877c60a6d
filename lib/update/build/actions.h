/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An update of an image is a list of actions, in the order in which they are carried out. After each action the
 * filesystem is whole, so a transaction may end after any of them.
 *
 * Removals come first, each directory after its contents. The nodes of the tree follow, in the tree's order. A file
 * that has several names in the tree is one file of the image, which its first name represents.
 */
#pragma once

#include "support/arena.h"
#include "tree/tree.h"
#include "update/build/protected.h"

enum update_verb {
	UPDATE_REMOVE,  /* removes the name, and its inode if that was the last name; a directory is empty by then */
	UPDATE_CREATE,  /* makes the node's inode, and gives it its name; another file that had the name loses it */
	UPDATE_REPLACE, /* gives the node's inode the node's contents and metadata; it keeps its number and its names */
	UPDATE_METADATA, /* gives the inode the node's metadata; it keeps its contents */
	UPDATE_LINK,     /* gives the name to the inode of the node's file; another file that had it loses it */
};

struct update_action {
	enum update_verb verb;
	bool changes_xattrs;   /* UPDATE_METADATA: xattrs change, too */
	bool was_directory;    /* the name belongs to a directory now, which is empty by then */
	uint8_t name_bytes;    /* UPDATE_REMOVE: */
	uint32_t node;         /* a node of the tree; not for UPDATE_REMOVE */
	uint32_t parent;       /* UPDATE_REMOVE: the directory's inode */
	uint32_t moved_blocks; /* at most this many are taken or freed; UINT32_MAX: as many or more (target/need.h) */
	uint32_t ino;          /* the inode that has the name now; 0: there is none */
	const char *path;      /* UPDATE_REMOVE: the path in the image; in update_plan.memory */
	const char *name;      /* UPDATE_REMOVE: the end of path */
};

struct update_plan {
	struct tree *tree; /* the tree that is laid over the image; owned */
	char *base;        /* the path of its root in the image, "" for the root; owned */
	uint32_t *inos;    /* by node: its inode in the image, also one that UPDATE_CREATE has made; 0: none yet */
	struct update_action *actions;
	size_t count, capacity;
	struct protection protection; /* owned */
	struct arena memory;
	uint64_t unchanged; /* names of the tree that need no action */
};

void update_plan_free(struct update_plan *plan);

/* ENOMEM. */
MUST_CHECK errcode_t update_plan_add(struct update_plan *plan, const struct update_action *action);

/*
 * Return the path of a node, or of an action, in the image, for messages and lists. The caller frees it; NULL: no
 * memory.
 */
char *update_node_path(const struct update_plan *plan, uint32_t node);
char *update_action_path(const struct update_plan *plan, const struct update_action *action);
