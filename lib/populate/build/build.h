/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the stages of one build share. Each member says who writes it, and so do the members of what it leads to;
 * everybody else only reads it. What an attempt (lib/populate/populate.c) makes is released before the next one.
 */
#pragma once

#include <ext2fs/ext2fs.h>

#include "ext2fs/ext2mb.h"
#include "ondisk/directory.h"
#include "ondisk/file_map.h"
#include "ondisk/format.h"
#include "ondisk/inode.h"
#include "ondisk/quota_file.h"
#include "ondisk/xattr.h"
#include "populate/build/identity.h"
#include "populate/build/options.h"
#include "populate/build/image_sink.h"
#include "tree/details.h"
#include "tree/file_flags.h"
#include "tree/tree.h"
#include "support/run/pool.h"

struct base_image;

/* Of a file that is not one extent from logical block 0. */
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
	bool knows_flags : 1; /* copy, or seal: flags are those of the file that was asked (populate/metadata/flags.h)
	                       */
	uint32_t
		xattr_share : 28; /* space estimate: which of its xattr set's blocks it uses; 2^22 are enough for all */
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
	uint32_t *values; /* of each xattr whose value has an inode: which of build->xattr_values; NULL: none has */
	uint64_t *blocks; /* plan: one for every XATTR_MAX_REFERENCES users, if the layout needs blocks */
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

/* What a district needs, and what it gets. */
struct district {
	uint64_t clusters; /* an upper bound */
	uint64_t data_bytes;
	bool is_bound; /* less clusters may do, if its files are cut into fewer extents than they could be */
	/* Block placement: */
	uint64_t start, limit; /* where its blocks come from */
	bool has_left_over;    /* nodes that did not fit there */
};

/* How much room everything takes, see populate/plan/space_estimate.h. */
struct space_estimate {
	bool is_counted; /* for build->format and blocks_per_group */
	uint32_t blocks_per_group;
	struct district *districts;
	uint64_t clusters;     /* all together, with those of the xattr sets, which districts share */
	uint64_t quota_blocks; /* that the quota files may take beyond mke2fs's own */
};

/* Facts of the empty filesystem that the workers need, copied out of libext2fs's state. */
struct image_geometry {
	uint32_t group_count;
	uint32_t inodes_per_group;
	uint64_t blocks;
	uint64_t *inode_tables; /* first block of each group's */
	bool *inodes_uninit;    /* the group's inode table holds nothing yet */
};

/* A directory of mke2fs's own that stays. */
struct kept_directory {
	ext2_ino_t ino; /* 0: there is none */
	uint64_t blocks;
	uint32_t owners[QUOTA_TYPES];
};

struct build {
	const struct populate_options *options;
	struct problem *problem;
	struct pool *pool;
	struct pool *readers; /* what reads the source has one of its own: readers wait, they do not work */

	/* Written before the first attempt. */
	struct tree *tree;    /* scan; zero detection: holes; format: the owner of its root, where options give it */
	uint32_t inode_count; /* scan: nodes that are not further names of a file */
	bool tree_has_lost_found;     /* scan: the source brings a lost+found of its own */
	struct base_image *base;      /* scan: the image whose layout is to be kept; may be NULL */
	struct identity identity;     /* scan */
	struct image image;           /* opening the output: the file, for what is written without libext2fs: */
	struct image_sink image_sink; /* format: to it */
	struct sink *sink;            /* format: where blocks are written to */
	const char *image_path;       /* likewise: the temporary name, or that of what is written in place */
	const char *filesystem_path;  /* likewise: the same as e2fsprogs are told of an offset */
	bool in_place;                /* looking at the output, see populate/output/output.h */
	bool lacks_projects;          /* scan: the host has not been asked for those of its files */
	uint64_t known_zero_bytes;    /* zero detection: those that are holes of the tree now */
	uint64_t least_hole_bytes;    /* the first size: of zeros between data of a file; 0: all that are a cluster */

	/* space estimate: */
	struct ondisk_format format; /* format: again, the same */
	struct space_estimate space;
	uint64_t data_bytes;          /* of regular files, holes left out */
	uint64_t shared_bytes;        /* copy: of these, in blocks that the image shares with its source */
	struct placement *placements; /* one for each node */
	struct directory_job *directories;
	uint32_t directory_count;
	struct xattr_store *xattrs; /* one for each of the tree's sets */
	struct xattr_value *xattr_values;
	size_t xattr_value_count, xattr_value_capacity;
	uint32_t *xattr_value_buckets;

	/* format: */
	ext2_filsys fs;
	struct ext2mb *mb;
	struct ext2mb_worker **workers; /* one for each of the pool's */
	struct image_geometry geometry;
	uint32_t quota_inodes[QUOTA_TYPES]; /* 0: there is none */
	bool has_mmp;                       /* the feature is on */
	struct kept_directory lost_found;   /* that of mke2fs, if it is kept; filesystem_empty() too */

	/* plan: */
	uint32_t *items_by_inode; /* build_items() of them, ascending by inode number: nodes, and after the last node's
	                             number xattr values */
	struct extent_map **reused; /* of each node, the blocks that it keeps, reserved already; both may be NULL */
};

static inline const struct tree_node *build_node(const struct build *build, uint32_t node)
{
	return &build->tree->nodes[node];
}

/* The project that a node belongs to, and whether what will be made in that directory does, too. */
static inline uint32_t build_project(const struct build *build, uint32_t node)
{
	return build->format.project ? tree_detail(build->tree, build_node(build, node))->project : 0;
}

static inline bool build_project_is_inherited(const struct build *build, uint32_t node)
{
	const struct tree_node *source = build_node(build, node);

	return build->format.project && S_ISDIR(source->mode) && (source->flags & FILE_FLAGS_OF_PROJECT);
}

/* How many inodes all this needs; more are the filesystem's own. */
static inline uint64_t build_items(const struct build *build)
{
	return build->inode_count + build->xattr_value_count;
}

/* The inode number of one of items_by_inode. */
static inline uint32_t build_item_ino(const struct build *build, uint32_t item)
{
	if (item < build->tree->node_count)
		return build->placements[item].ino;
	return build->xattr_values[item - build->tree->node_count].ino;
}

/* Clusters that hold this many blocks. */
static inline uint64_t build_clusters(const struct build *build, uint64_t blocks)
{
	return (blocks + (1u << build->format.cluster_bits) - 1) >> build->format.cluster_bits;
}

/* Nodes first .. end-1. */
struct node_range {
	uint32_t first, end;
};

/* The part with a number, where the nodes are cut into parts of nodes_each. */
static inline struct node_range build_nodes(const struct build *build, uint32_t nodes_each, size_t number)
{
	uint32_t first = (uint32_t)number * nodes_each, left = build->tree->node_count - first;

	return (struct node_range){ first, first + (left < nodes_each ? left : nodes_each) };
}

/* How many such parts there are. */
static inline size_t build_part_count(const struct build *build, uint32_t nodes_each)
{
	return ((size_t)build->tree->node_count + nodes_each - 1) / nodes_each;
}

/* Workers share out the nodes in tasks of this many. */
#define NODES_PER_TASK 4096u

static inline size_t build_task_count(const struct build *build)
{
	return build_part_count(build, NODES_PER_TASK);
}

static inline struct node_range build_task_nodes(const struct build *build, size_t task)
{
	return build_nodes(build, NODES_PER_TASK, task);
}

/* The source is slow: there are more readers than threads, for which small tasks are better. */
static inline bool build_reads_slowly(const struct build *build)
{
	return pool_active(build->readers) > pool_workers(build->pool);
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

/* A range of blocks from which free ones are taken in ascending order, packed. */
struct pack_range {
	struct ext2mb_worker *worker; /* NULL: nothing is taken, what is free is passed by, to see where that leads */
	uint64_t next;
	uint64_t limit;    /* the first block after the range; 0: it ends with the filesystem */
	struct ext2mb *mb; /* where nothing is taken */
	struct ext2mb_extent
		free; /* the rest of the free extent at next, which a worker has taken; 0 blocks: there is none */
};

/* Takes up to so many blocks, whole clusters, that are free in one piece. EXT2MB_ET_NO_SPACE: there are none left. */
MUST_CHECK errcode_t pack_range_alloc(struct pack_range *range, uint64_t blocks, struct ext2mb_extent *extent);

/* Gives back what is left of a range with a limit; it is free after the next commit. */
MUST_CHECK errcode_t pack_range_end(struct pack_range *range);

/* Takes `count` clusters and says with which block each begins. */
MUST_CHECK errcode_t build_alloc_clusters(const struct build *build, struct pack_range *range, uint64_t *blocks,
                                          uint64_t count);

/* Adds so many blocks to the extents of a file, from the logical one on, in as few pieces as there are. */
MUST_CHECK errcode_t build_alloc_blocks(const struct build *build, struct pack_range *range, struct extent_list *list,
                                        uint32_t logical, uint64_t blocks);

/*
 * Builds the map of a file into the value's root, and writes the map's own blocks. map: where these are, NULL: there
 * are none.
 */
MUST_CHECK errcode_t build_write_map(const struct build *build, uint32_t ino, const struct file_extent *extents,
                                     uint32_t count, const struct extent_map *map, struct inode_value *value);

/* The index of the first directory of build->directories at or after a node. */
uint32_t build_first_directory(const struct build *build, uint32_t node);

/* Records a problem of the image, unless error is 0, which it returns then. */
static inline errcode_t build_result(const struct build *build, errcode_t error, const char *action)
{
	return error ? problem_set(build->problem, error, build->options->image, action) : 0;
}

/* Records a problem of node, named by its whole path. */
errcode_t build_node_problem(const struct build *build, struct problem *problem, uint32_t node, errcode_t error,
                             const char *action);
