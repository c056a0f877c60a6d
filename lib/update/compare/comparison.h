/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The inside of compare/: the state that the steps of a comparison share. */
#pragma once

#include "image/directory_walk.h"
#include "image/inode.h"
#include "support/run/pool.h"
#include "update/build/actions.h"
#include "update/build/options.h"
#include "update/build/report.h"
#include "update/compare/inode_map.h"

/* The way in which the comparison has met a directory of the image; it may meet each once. */
enum directory_fate {
	DIRECTORY_KEPT = 1,  /* its other names stay */
	DIRECTORY_COMPLETED, /* names that the tree lacks are removed */
	DIRECTORY_REMOVED,   /* with everything in it */
};

struct comparison {
	const struct update_options *options;
	const struct volume *volume;
	struct pool *pool;
	struct update_plan *plan;
	struct update_report *report;
	struct problem *problem;

	struct directory_walker walker;
	uint64_t map_blocks_read, directory_blocks_read;
	bool is_open;       /* the walker */
	uint8_t *raw;       /* the inode that is being looked at */
	const char *damage; /* the first damage that was found; NULL: none */

	/* The place where the tree's root is to be made, if it is not there: */
	uint32_t base_parent;
	const char *base_name; /* in options->into */
	uint8_t base_name_bytes;

	uint32_t *found;              /* by node: the inode that has its name in the image now; 0: there is none */
	uint64_t *has_same_bytes;     /* by node, a bit each; NULL: no contents have been compared */
	uint64_t *linked;             /* by inode, a bit each: the targets of the sources' hard links; NULL: none */
	uint64_t *claimed;            /* by inode, a bit each: inodes of the image that belong to a node */
	struct inode_map directories; /* each is an enum directory_fate */

	struct update_action *removals;
	size_t removal_count, removal_capacity;
};

/* Reads an inode into comparison->raw. EUCLEAN if it is damaged; the problem names the node. */
MUST_CHECK errcode_t comparison_read_inode(struct comparison *comparison, uint32_t node, uint32_t ino,
                                           struct volume_inode *inode);

/* EUCLEAN if any of the data read since the last call are damaged; the problem names the node. */
MUST_CHECK errcode_t comparison_check(struct comparison *comparison, uint32_t node);

/*
 * Finds the inodes that have the nodes' names now, and lists the names that whiteouts, opaque directories and --mirror
 * remove.
 */
MUST_CHECK errcode_t comparison_find(struct comparison *comparison);

/* Removes a name, with everything below it, from a directory. node is the directory's, for messages. */
MUST_CHECK errcode_t comparison_remove(struct comparison *comparison, uint32_t node, uint32_t directory,
                                       const char *name, uint8_t name_bytes, uint32_t ino);

/* Removes everything in the directory that has the node's name; the directory stays. */
MUST_CHECK errcode_t comparison_remove_below(struct comparison *comparison, uint32_t node);

/*
 * Marks directories that the user wants removed but that the tree has: they lose all other names. The caller calls this
 * before comparison_find().
 */
MUST_CHECK errcode_t comparison_mark_paths(struct comparison *comparison);

/* Removes the paths that the user named. A path that is already gone is no error. */
MUST_CHECK errcode_t comparison_remove_paths(struct comparison *comparison);

/*
 * With options->compares_bytes: compares the contents of files with those of the inodes that have their names, with all
 * workers.
 */
MUST_CHECK errcode_t comparison_compare_bytes(struct comparison *comparison);

/* Refuses nodes that this filesystem cannot hold: too large files, too long targets, too many xattrs. */
MUST_CHECK errcode_t comparison_check_storable(const struct comparison *comparison);

/* Decides on each node's action. comparison_find() has been called. */
MUST_CHECK errcode_t comparison_decide(struct comparison *comparison);
