/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The plan of the image: the place of every block and inode. The space estimate, inode numbers, xattrs and block
 * placement write the members that are marked as theirs, and sealing only reads it.
 */
#pragma once

#include <ext2fs/ext2fs.h>

#include "contents/block_runs.h"
#include "contents/protection.h"
#include "image/sink.h"
#include "ondisk/directory.h"
#include "ondisk/file_map.h"
#include "ondisk/format.h"
#include "ondisk/inode.h"
#include "ondisk/xattr.h"
#include "populate/build/options.h"
#include "populate/build/pack_range.h"
#include "populate/build/scanned.h"
#include "tree/details.h"
#include "tree/file_flags.h"

/* The map of a file that is not one extent from logical block 0. */
struct extent_map {
	uint32_t extent_count;
	uint32_t map_block_count;
	uint64_t *map_blocks; /* of the map itself, as file_map_build() wants them; within the same memory */
	struct file_extent extents[];
};

/* A copy of the extents with room for map_blocks (zeros). NULL: no memory. The caller frees it with free(). */
struct extent_map *extent_map_create(const struct extent_list *list, uint32_t map_block_count);

/* Where a node is stored in the image: 24 bytes, there are as many as nodes. */
struct placement {
	uint32_t ino;            /* inode numbers: of a hard link, that of the first name */
	uint32_t blocks;         /* space estimate: mapped data blocks */
	bool has_extent_map : 1; /* block placement: which member of the union holds */
	bool is_casefolded : 1;  /* space estimate: a directory whose names are compared without case */
	bool is_inline : 1;      /* space estimate: its content is stored in the inode; it has no blocks */
	bool is_protected : 1;   /* space estimate: by fs-verity; blocks include those of hashes and descriptor */
	bool knows_flags : 1; /* copy, or seal: flags are those of the file that was asked (populate/metadata/flags.h)
	                       */
	uint32_t
		xattr_share : 27; /* space estimate: which of its xattr set's blocks it uses; 2^22 are enough for all */
	uint32_t flags;           /* with knows_flags */
	union {                   /* block placement: of a node with blocks */
		uint64_t start;   /* one extent from logical block 0 */
		struct extent_map *map;
	};
};

/* An xattr set as it is stored: 56 bytes, there may be as many as nodes. */
struct xattr_store {
	struct xattr_layout layout;
	void *inode_area; /* seal: the bytes in each inode, if more than one has them; else they are made where they go
	                   */
	uint32_t inline_room_bytes; /* for content beside them, see ondisk/xattr.h */
	uint32_t users;             /* inodes that have this set */
	uint32_t *values;           /* of each xattr whose value has an inode: which of the plan's; NULL: none has */
	uint64_t *blocks;           /* plan: one for every XATTR_MAX_REFERENCES users, if the layout needs blocks */
};

/* An xattr value that is stored in an inode of its own (feature ea_inode); equal ones share it. */
struct xattr_value {
	void *bytes; /* as on disk; owned */
	uint32_t value_bytes;
	uint32_t hash;
	uint32_t references;    /* entries, in inodes and in blocks, that name it */
	uint64_t clusters;      /* plan: that its inode owns */
	uint32_t next;          /* in its bucket */
	uint32_t ino;           /* inode numbers */
	struct extent_map *map; /* plan; owned */
};

/* A directory, in tree order. */
struct directory_job {
	uint32_t node;
	struct directory_layout *layout; /* NULL: it is inline */
};

/* The blocks that a district needs, and the range that it gets. */
struct district {
	uint64_t clusters; /* an upper bound */
	uint64_t data_bytes;
	bool is_bound; /* less clusters may do, if its files are cut into fewer extents than they could be */
	/* Block placement: */
	uint64_t start, limit; /* where its blocks come from */
	bool has_left_over;    /* nodes that did not fit there */
};

/* The estimated space, see populate/plan/space_estimate.h. */
struct space_estimate {
	bool is_counted; /* for the plan's format and blocks_per_group */
	uint32_t blocks_per_group;
	struct district *districts;
	uint64_t clusters;     /* all together, with those of the xattr sets, which districts share */
	uint64_t quota_blocks; /* that the quota files may take beyond mke2fs's own */
};

/* All nodes' xattrs. populate/metadata/xattrs.h writes them, but for the inode numbers of values. */
struct xattr_plan {
	struct xattr_store *stores; /* one for each of the tree's sets */
	struct xattr_value *values;
	size_t value_count, value_capacity;
	uint32_t *buckets;         /* of values, by their hash; NULL: none has been made yet */
	uint32_t lost_found_share; /* as placement.xattr_share, of mke2fs's lost+found */
};

struct plan {
	const struct populate_options *options;
	const struct scanned *source;

	/* Space estimate (the format is that of the filesystem that was counted last): */
	struct ondisk_format format;
	struct space_estimate space;
	uint64_t data_bytes;          /* of regular files, holes left out */
	struct placement *placements; /* one for each node */
	struct directory_job *directories;
	uint32_t directory_count;
	struct xattr_plan xattrs;
	struct protection protection;
	uint32_t *content_order; /* files in the order in which contents are placed; NULL: that of the nodes */
	uint32_t content_count;  /* of these */

	/* Inode numbers: */
	uint32_t *items_by_inode; /* plan_items() of them, ascending by inode number: nodes, and after the last node's
	                             number xattr values */
	ext2_ino_t lost_found;    /* mke2fs's own, which the root has besides its nodes; 0: none */

	/* base_image_reserve(): */
	struct extent_map **reused; /* of each node, the blocks that it keeps, reserved already; both may be NULL */
};

static inline const struct tree_node *plan_node(const struct plan *plan, uint32_t node)
{
	return &plan->source->tree->nodes[node];
}

/* The project of a node, and whether new files in that directory inherit it. */
static inline uint32_t plan_project(const struct plan *plan, uint32_t node)
{
	return plan->format.project ? tree_detail(plan->source->tree, plan_node(plan, node))->project : 0;
}

static inline bool plan_project_is_inherited(const struct plan *plan, uint32_t node)
{
	const struct tree_node *source = plan_node(plan, node);

	return plan->format.project && S_ISDIR(source->mode) && (source->flags & FILE_FLAGS_OF_PROJECT);
}

static inline const struct tree_unwritten *plan_unwritten(const struct plan *plan, uint32_t node)
{
	return block_runs_unwritten(&plan->format, plan->source->tree, node);
}

/* The number of inodes that the plan needs, without the filesystem's own. */
static inline uint64_t plan_items(const struct plan *plan)
{
	return plan->source->inode_count + plan->xattrs.value_count;
}

/* The inode number of one of items_by_inode. */
static inline uint32_t plan_item_ino(const struct plan *plan, uint32_t item)
{
	if (item < plan->source->tree->node_count)
		return plan->placements[item].ino;
	return plan->xattrs.values[item - plan->source->tree->node_count].ino;
}

/* Clusters that hold this many blocks. */
static inline uint64_t plan_clusters(const struct plan *plan, uint64_t blocks)
{
	return (blocks + (1u << plan->format.cluster_bits) - 1) >> plan->format.cluster_bits;
}

/* The extents of a placed node: *single is used where it has only one. */
static inline const struct file_extent *placement_extents(const struct placement *placement, struct file_extent *single,
                                                          uint32_t *count)
{
	if (placement->has_extent_map) {
		*count = placement->map->extent_count;
		return placement->map->extents;
	}
	*single = (struct file_extent){ .logical = 0, .count = placement->blocks, .physical = placement->start };
	*count = placement->blocks > 0;
	return single;
}

/* Allocates `count` clusters and returns the first block of each. */
MUST_CHECK errcode_t plan_alloc_clusters(const struct plan *plan, struct pack_range *range, uint64_t *blocks,
                                         uint64_t count);

/* Adds blocks to the extents of a file, from a logical block on, in as few extents as possible. */
MUST_CHECK errcode_t plan_alloc_blocks(const struct plan *plan, struct pack_range *range, struct extent_list *list,
                                       uint32_t logical, uint64_t blocks);

/*
 * Builds the map of a file into the value's root, and writes the map's own blocks. map: where these are, NULL: there
 * are none.
 */
MUST_CHECK errcode_t plan_write_map(const struct plan *plan, struct sink *sink, uint32_t ino,
                                    const struct file_extent *extents, uint32_t count, const struct extent_map *map,
                                    struct inode_value *value);

/* A walk over the blocks of any node, once they have been counted: those of a directory or symlink are one run. */
void plan_start_runs(const struct plan *plan, uint32_t node, struct block_runs *runs);

/* Fills in the protected files once all files have been counted. ENOMEM. */
MUST_CHECK errcode_t plan_list_protected(struct plan *plan);

/* The index of the first directory of plan->directories at or after a node. */
uint32_t plan_first_directory(const struct plan *plan, uint32_t node);

/* Records a problem of node, named by its whole path. */
errcode_t plan_node_problem(const struct plan *plan, struct problem *problem, uint32_t node, errcode_t error,
                            const char *action);
