/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The image of a simulation: the only file of this folder that accesses libext2fs's state. Main thread only, while no
 * thread allocates.
 */
#pragma once

#include <stdbool.h>

#include "compare/policies.h"
#include "image/map_walk.h"
#include "ondisk/geometry.h"
#include "ondisk/format.h"
#include "output/output.h"
#include "simulate/image/file_set.h"

struct image {
	const char *path;
	const char *policy_path;  /* of the library with its policy; NULL: a built-in policy */
	const char *directory;    /* the name of the directory in the root; NULL: none */
	uint32_t directory_ino;   /* it is there already, empty; 0: it is made */
	uint64_t directory_block; /* its only block */
	ext2_filsys fs;
	struct ext2mb *mb;
	struct ext2mb_worker *worker;   /* of the main thread */
	struct ext2mb_orphans *orphans; /* NULL, or the workload's; image_finish() syncs it */
	struct volume volume;           /* the image as on disk; valid if has_volume */
	bool has_volume;                /* set when files have been read */
	struct map_walker walker;
	uint64_t map_blocks_read;
	struct ondisk_format format;
	struct geometry geometry;
	uint32_t descriptors_per_block, table_blocks_per_group; /* blocks of an inode table */
	uint32_t *table_blocks;                                 /* by group: initialised blocks of the inode table */
	struct file_set *files; /* the directory that is linked into the root; NULL: none. See simulate() */
};

/*
 * Makes a sparse file of the given size, which is read as mke2fs(8) does, and runs mke2fs with the options
 * (NULL-terminated) on it. It has a temporary name, output->work_path, until output_finish(); the caller calls
 * output_close() in any case. An existing file is replaced if `force`, unless it is mounted (EBUSY), else EEXIST.
 */
MUST_CHECK errcode_t image_make(const char *path, const char *size, char *const *options, bool force,
                                struct output *output, struct problem *problem);

/*
 * Opens the image and an allocator. Fills *image, which image_close() clears, also after a failure. Refuses
 * filesystems that are not clean, whose group descriptors are invalid, that have features which the simulator does
 * not maintain (quota, unless no `directory` is made), whose root has the name `directory` already, and, if writable,
 * those that are mounted. The image is in file; messages call it path.
 */
MUST_CHECK errcode_t image_open(const char *path, const char *file, const char *directory,
                                const struct policy_options *options, bool writable, struct image *image,
                                struct problem *problem);

/*
 * Called after file_set_write(): writes bitmaps and descriptors, the directory's entry in the root, and the
 * superblock. After an error the filesystem has its old files, or is not clean.
 */
MUST_CHECK errcode_t image_finish(struct image *image, struct problem *problem);

/* Closes without writing. The caller frees image->files. */
void image_close(struct image *image);

/* The number of blocks for this many bytes. */
static inline uint64_t image_blocks_of(const struct image *image, uint64_t bytes)
{
	return (bytes + image->format.block_bytes - 1) >> image->format.block_bits;
}

/* The blocks that its inode counts; each block of its map has a cluster of its own. */
static inline uint64_t image_charged_blocks(const struct image *image, const struct simulated_file *file)
{
	uint64_t most = geometry_cluster_blocks(&image->geometry) - 1;

	return ((file->blocks + most) & ~most) + geometry_to_blocks(&image->geometry, file->map_count);
}

/* The group of a block, and the first block of an inode's group. */
static inline uint32_t image_block_group(const struct image *image, uint64_t block)
{
	return (uint32_t)(geometry_position(&image->geometry, block) / image->geometry.clusters_per_group);
}

static inline uint64_t image_inode_group_start(const struct image *image, uint32_t ino)
{
	return geometry_block(&image->geometry, (ino - 1) / image->geometry.inodes_per_group, 0);
}

/*
 * Called for each run of an inode: blocks of the file, in its order, or (logical 0) of its map or xattrs.
 */
typedef errcode_t (*image_run_visitor)(void *context, uint32_t logical, uint64_t block, uint32_t count, bool is_data);

/*
 * Visits all blocks of an inode as on disk. *mode becomes 0, without visits, if the inode is not in use. Errors of
 * reading it, EUCLEAN (its map is damaged), and the visitor's.
 */
MUST_CHECK errcode_t image_read_file(struct image *image, uint32_t ino, uint32_t *mode, image_run_visitor visit,
                                     void *context);

/* Has the image a journal? Without one, freed blocks can be allocated again at once. */
bool image_has_journal(const struct image *image);

/* Writes whole blocks of the filesystem. */
MUST_CHECK errcode_t image_write_blocks(struct image *image, uint64_t block, uint32_t count, const void *bytes);

/* The block of the inode table that has an inode, and its offset there in bytes. */
uint64_t image_inode_block(const struct image *image, uint32_t ino);
uint32_t image_inode_offset(const struct image *image, uint32_t ino);

/* Reads that block; zeros if the inode table is not initialised up to it. */
MUST_CHECK errcode_t image_read_inode_block(struct image *image, uint32_t ino, void *bytes);

/* Writes one inode's bytes (format.inode_bytes), initialising the inode table up to it. */
MUST_CHECK errcode_t image_write_inode(struct image *image, uint32_t ino, const void *bytes);
