/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A filesystem's sizes and counts, already checked. A cluster has two addresses: (group, cluster in the group), and its
 * position, which counts clusters from that of first_block through all groups.
 *
 * Within libext2mb, only this header knows bigalloc: callers of ext2mb.h use blocks, the code inside uses clusters, and
 * the functions below convert them. Without bigalloc cluster_bits is 0.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define GEOMETRY_LEAST_FLEX 4 /* the kernel's EXT4_FLEX_SIZE_DIR_ALLOC_SCHEME */

struct geometry {
	uint64_t first_block;
	uint64_t end_block; /* one past the last */
	uint64_t clusters;  /* position 0 is the cluster of first_block */
	uint32_t groups;
	uint32_t clusters_per_group;
	uint32_t inodes_per_group;
	uint32_t first_inode;      /* the first that is not reserved */
	uint32_t flex_groups;      /* groups in a flex group; 1 without flex_bg */
	unsigned int cluster_bits; /* log2 of blocks per cluster */
	unsigned int block_bits;
};

static inline uint32_t geometry_group_clusters(const struct geometry *geometry, uint32_t group)
{
	if (group + 1 < geometry->groups)
		return geometry->clusters_per_group;
	return (uint32_t)(geometry->clusters - (uint64_t)group * geometry->clusters_per_group);
}

/* Contiguous clusters of one group: the part of a range that lies in it. */
struct group_piece {
	uint32_t group;
	uint32_t start;
	uint32_t count;
};

/* Returns the part of the clusters from position on that lies in their first group. */
static inline struct group_piece geometry_piece(const struct geometry *geometry, uint64_t position, uint64_t count)
{
	uint32_t group = (uint32_t)(position / geometry->clusters_per_group);
	uint32_t start = (uint32_t)(position % geometry->clusters_per_group);
	uint32_t room = geometry_group_clusters(geometry, group) - start;

	return (struct group_piece){ group, start, count < room ? (uint32_t)count : room };
}

/* Converts clusters to blocks, and blocks to whole clusters, rounding down. */
static inline uint64_t geometry_to_blocks(const struct geometry *geometry, uint64_t clusters)
{
	return clusters << geometry->cluster_bits;
}

static inline uint64_t geometry_to_clusters(const struct geometry *geometry, uint64_t blocks)
{
	return blocks >> geometry->cluster_bits;
}

static inline uint64_t geometry_cluster_blocks(const struct geometry *geometry)
{
	return geometry_to_blocks(geometry, 1);
}

/* The position of the cluster that contains a block, and the first block of the cluster at a position. */
static inline uint64_t geometry_position(const struct geometry *geometry, uint64_t block)
{
	return geometry_to_clusters(geometry, block - geometry->first_block);
}

static inline uint64_t geometry_block_at(const struct geometry *geometry, uint64_t position)
{
	return geometry->first_block + geometry_to_blocks(geometry, position);
}

/* The first block of a cluster. */
static inline uint64_t geometry_block(const struct geometry *geometry, uint32_t group, uint32_t cluster)
{
	return geometry_block_at(geometry, (uint64_t)group * geometry->clusters_per_group + cluster);
}

static inline uint64_t geometry_block_bytes(const struct geometry *geometry)
{
	return UINT64_C(1) << geometry->block_bits;
}

/*
 * Whether the group is the first of a flex group, and the flex group is large enough to keep its first group for
 * directories.
 */
static inline bool geometry_is_kept_for_directories(const struct geometry *geometry, uint32_t group)
{
	return geometry->flex_groups >= GEOMETRY_LEAST_FLEX && group % geometry->flex_groups == 0;
}

static inline bool geometry_is_whole_clusters(const struct geometry *geometry, uint64_t blocks)
{
	return !(blocks & (geometry_cluster_blocks(geometry) - 1));
}
