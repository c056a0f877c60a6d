/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The inodes of a file set while a workload runs, as in Linux: each is in memory, and in a buffer of its block of the
 * inode table, into which every change is encoded, with its checksum. The buffers are written to the image.
 *
 * The number of changes per call was counted in fs/ext4 of Linux 6 (inode.c, extents.c, mballoc.c). The journal, the
 * lookup of buffers and their locks are not simulated.
 */
#pragma once

#include "ondisk/inode.h"
#include "simulate/image/file_set.h"

/* Has a cache line of its own, because threads change neighbouring inodes. */
struct buffered_inode {
	_Alignas(64) struct inode_value value; /* in memory */
	uint8_t *bytes;                        /* its place in the buffer, format.inode_bytes */
	uint64_t changes;                      /* how often it was marked dirty */
};

/* A new inode's values, without size, blocks and map. All inodes have the same time, so equal runs make equal images.
 */
struct inode_value simulated_inode_value(const struct image *image, uint16_t mode, uint32_t links);

struct inode_buffers {
	struct buffered_inode *inodes; /* owned; of the set's files, by index */
	uint8_t *blocks;               /* owned */
};

/*
 * Reads the buffers of all files of a set, which have inode numbers, into set->buffers, which owns them. The files
 * count as empty until they change. ENOMEM, errors in reading. Main thread.
 */
MUST_CHECK errcode_t inode_buffers_open(struct image *image, struct file_set *set);

/* Sets ctime and mtime as a call with current_time() does. Calls are a microsecond apart, so equal runs are equal. */
void inode_buffers_touch(struct buffered_inode *inode);

/* Copies the inode into its buffer, as ext4_mark_inode_dirty() does. EFBIG. Each inode by one thread. */
MUST_CHECK errcode_t inode_buffers_mark_dirty(const struct image *image, const struct simulated_file *file,
                                              struct buffered_inode *inode);

/*
 * Updates the root after a change of extents that fit into the inode, and marks the inode dirty, as ext4_ext_dirty()
 * does. file_set_place() makes deeper trees at the end. EFBIG.
 */
MUST_CHECK errcode_t inode_buffers_mark_extents(const struct image *image, const struct simulated_file *file,
                                                struct buffered_inode *inode);

/* How often all inodes of a set were marked dirty. */
uint64_t inode_buffers_changes(const struct file_set *set);

/* NULL is allowed. */
void inode_buffers_free(struct inode_buffers *buffers);
