/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the stages of one build share. Each member says which stage fills it; later stages only read it. */
#ifndef POPULATE_BUILD_H
#define POPULATE_BUILD_H

#include <time.h>

#include <ext2fs/ext2fs.h>

#include "ext2fs/ext2mb.h"
#include "ondisk/directory.h"
#include "ondisk/file_map.h"
#include "ondisk/format.h"
#include "ondisk/xattr.h"
#include "populate/plan/long_map.h"
#include "populate/options.h"
#include "populate/report.h"
#include "populate/data/run_writer.h"
#include "populate/data/zeros.h"
#include "source/host/projects.h"
#include "source/tree/tree.h"
#include "support/work/pool.h"

struct earlier;

/* Where a node stands in the image: 24 bytes, there are as many as nodes. */
struct placement {
	uint32_t ino;      /* number: of a hard link, that of the first name */
	uint32_t blocks;   /* needs: mapped data blocks */
	bool is_long : 1;  /* place: which member of the union holds */
	bool is_casefolded : 1; /* needs: a directory whose names are compared without case */
	bool is_inline : 1;     /* needs: its content stands in the inode; it has no blocks */
	bool knows_flags : 1;   /* copy, or seal: flags are those of the file that was asked (populate/metadata/flags.h) */
	uint32_t xattr_share : 28; /* needs: which of its xattr set's blocks it uses; 2^22 are enough for all inodes */
	uint32_t flags;
	union { /* of a node with blocks */
		uint64_t start; /* one extent from logical block 0 */
		struct long_map *map;
	};
};

/* An xattr set as it is stored. */
struct xattr_store {
	struct xattr *list; /* the set's xattrs in the form of lib/ondisk */
	struct xattr_layout layout;
	void *inode_area; /* the bytes in each inode, NULL: none */
	uint32_t inline_room_bytes; /* for content beside them, see ondisk/inline_data.h */
	uint32_t users; /* inodes that have this set */
	uint32_t *values; /* of each xattr whose value has an inode: which of build->xattr_values; NULL: none has */
	uint64_t value_clusters; /* of these values: each inode is charged for them as if they were its own */
	uint64_t *blocks; /* place: one for every XATTR_MAX_REFERENCES users, if the layout needs blocks */
};

/* An xattr value that stands in an inode of its own (feature ea_inode); equal ones share it. */
struct xattr_value {
	void *bytes; /* as on disk; owned */
	uint32_t value_bytes;
	uint32_t hash;
	uint32_t references; /* entries, in inodes and in blocks, that name it */
	uint64_t clusters; /* place: that its inode owns */
	uint32_t next; /* in its bucket, see populate/metadata/xattr_values.h */
	uint32_t ino; /* number */
	struct long_map *map; /* place; owned */
};

/* A directory, in tree order. */
struct directory_job {
	uint32_t node;
	uint32_t blocks;
	struct directory_layout *layout;
};

/* Facts of the empty filesystem that the workers need, copied out of libext2fs's state. */
struct image_geometry {
	uint32_t group_count;
	uint32_t inodes_per_group;
	uint64_t blocks;
	uint64_t *inode_tables; /* first block of each group's */
	bool *inodes_uninit; /* the group's inode table holds nothing yet */
};

struct build {
	const struct populate_options *options;
	struct problem *problem;
	struct pool *pool;

	struct tree *tree; /* scan; format: the owner and mode of its root, where options give them */
	uint32_t inode_count; /* scan: nodes that are not further names of a file */

	struct image image; /* format: for what is written without libext2fs */
	const char *image_path; /* the temporary name, or that of what is written in place */
	bool in_place; /* see populate/output/output.h */
	ext2_filsys fs;
	struct ext2mb *mb;
	struct ext2mb_worker **workers; /* one for each of the pool's */
	struct ondisk_format format;
	struct image_geometry geometry;
	unsigned int quota_types; /* see populate/metadata/quota.h */
	bool has_mmp; /* the feature is on */
	bool tree_has_lost_found; /* scan: the source brings a lost+found of its own */
	ext2_ino_t lost_found; /* format: that of mke2fs, if it is kept; else 0 */

	struct earlier *earlier; /* scan: the image whose layout is to be kept; may be NULL */
	bool keeps_nothing; /* plan: of its blocks, after all */
	struct long_map **kept; /* plan: of each node, the blocks that it keeps, reserved already; both may be NULL */

	struct placement *placements; /* one for each node */
	struct directory_job *directories; /* needs */
	uint32_t directory_count;
	uint32_t *items_by_inode; /* number: build_items() of them, ascending by inode number: nodes, and behind the
	                             last node's number xattr values */
	struct project *projects; /* needs: one for each node, if the image has the feature; NULL: all are 0 */
	struct xattr_store *xattrs; /* needs: one for each of the tree's sets */
	struct xattr_value *xattr_values; /* needs */
	size_t xattr_value_count, xattr_value_capacity;
	uint32_t *xattr_value_buckets;

	enum populate_stage stage; /* the one that is running */
	struct timespec stage_begin;
	unsigned int enlargements; /* how often the size that was chosen did not do */
	uint64_t extra_blocks; /* for that reason: beyond those that were counted */
	uint64_t data_bytes; /* needs: of regular files, holes left out */
	uint64_t known_zero_bytes; /* see populate/data/known_holes.h */
	struct zero_list zeros; /* copy: beside those, in order */
	uint64_t zero_blocks; /* of these */
};

static inline const struct tree_node *build_node(const struct build *build, uint32_t node)
{
	return &build->tree->nodes[node];
}

static inline struct project build_project(const struct build *build, uint32_t node)
{
	return build->projects ? build->projects[node] : (struct project){ 0 };
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

/* The extents of a placed node: *single is used where it has only one. */
static inline const struct file_extent *placement_extents(const struct placement *placement,
                                                          struct file_extent *single, uint32_t *count)
{
	if (placement->is_long) {
		*count = placement->map->extent_count;
		return placement->map->extents;
	}
	*single = (struct file_extent){ .logical = 0, .count = placement->blocks, .physical = placement->start };
	*count = placement->blocks > 0;
	return single;
}

/* The index of the first directory of build->directories at or after a node. */
uint32_t build_first_directory(const struct build *build, uint32_t node);

/* Records a problem of node, named by its whole path. */
errcode_t build_node_problem(const struct build *build, struct problem *problem, uint32_t node, errcode_t error,
                             const char *action);

#endif
