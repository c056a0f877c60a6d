/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The inside of compare/: what the steps of a comparison share. */
#pragma once

#include "image/directory_walk.h"
#include "image/inode_window.h"
#include "support/run/pool.h"
#include "update/build/actions.h"
#include "update/build/options.h"
#include "update/build/report.h"
#include "update/compare/inode_map.h"

/* How a directory of the image has been met; each may be met once. */
enum directory_fate {
	DIRECTORY_KEPT = 1,  /* other names in it stay */
	DIRECTORY_COMPLETED, /* names that the tree lacks are removed */
	DIRECTORY_REMOVED,   /* with all that is in it */
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
	bool is_open; /* the walker */
	struct inode_window window;
	uint8_t *raw;       /* of the inode that is looked at */
	const char *damage; /* the first one that has been met; NULL: none */

	uint32_t *found;              /* by node: what has its name in the image now; 0: nothing has */
	uint64_t *has_same_bytes;     /* by node, a bit each; NULL: nothing has been compared */
	uint64_t *linked;             /* by inode, a bit each: files that hard links of sources lead to; NULL: none */
	uint64_t *claimed;            /* by inode, a bit each: the image's file of a node */
	struct inode_map directories; /* an enum directory_fate each */

	struct update_action *removals;
	size_t removal_count, removal_capacity;
};

/* Reads an inode into comparison->raw. EUCLEAN, with a problem that names the node: it is damaged. */
MUST_CHECK errcode_t comparison_read_inode(struct comparison *comparison, uint32_t node, uint32_t ino,
                                           struct volume_inode *inode);

/* Records that a part of the image's file of this node is damaged, and returns EUCLEAN. Any thread. */
errcode_t comparison_tell(const struct comparison *comparison, uint32_t node, const char *what,
                          struct problem *problem);

/* EUCLEAN if anything that was read since the last call is damaged; the problem names the node. */
MUST_CHECK errcode_t comparison_check(struct comparison *comparison, uint32_t node);

/* Finds what has the names of nodes now, and lists what whiteouts, opaque directories and --mirror remove. */
MUST_CHECK errcode_t comparison_find(struct comparison *comparison);

/* Removes a name of a directory, which is a node, with all below it. node: for messages. */
MUST_CHECK errcode_t comparison_remove(struct comparison *comparison, uint32_t node, uint32_t directory,
                                       const char *name, uint8_t name_bytes, uint32_t ino);

/* Removes all names in what has the node's name, a directory, which itself stays. */
MUST_CHECK errcode_t comparison_remove_below(struct comparison *comparison, uint32_t node);

/* Directories that the user wants removed, but the tree has, lose all else that is in them; before comparison_find().
 */
MUST_CHECK errcode_t comparison_mark_paths(struct comparison *comparison);

/* Removes the paths that the user named, unless they are gone. */
MUST_CHECK errcode_t comparison_remove_paths(struct comparison *comparison);

/* Finds out, by all workers, which files that sameness_needs_bytes() names have the contents of what has their names.
 */
MUST_CHECK errcode_t comparison_compare_bytes(struct comparison *comparison);

/* Refuses what this filesystem cannot hold: too large files, too long targets, too many xattrs or links. */
MUST_CHECK errcode_t comparison_check_storable(struct comparison *comparison);

/* Says for each node what is to be done; comparison_find() has been called. */
MUST_CHECK errcode_t comparison_decide(struct comparison *comparison);
