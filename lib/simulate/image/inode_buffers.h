/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The inodes of a file set while a workload runs, as Linux has them: each in memory, and in a buffer of its block of
 * the inode table, where every change is encoded anew, checksum included. What the buffers hold is what the image gets.
 *
 * How often a call changes its inode was counted in fs/ext4 of Linux 6 (inode.c, extents.c, mballoc.c); its journal,
 * its search for the buffer and its locks are not simulated.
 */
#pragma once

#include "ondisk/inode.h"
#include "simulate/image/file_set.h"

/* A line of its own: threads change neighbouring inodes. */
struct buffered_inode {
	_Alignas(64) struct inode_value value; /* in memory */
	uint8_t *bytes;                        /* its place in the buffer, format.inode_bytes */
	uint64_t changes;                      /* how often it was marked dirty */
};

/* An inode's values before it has a size, blocks and a map. All have the same time, so equal runs make equal images. */
struct inode_value simulated_inode_value(const struct image *image, uint16_t mode, uint32_t links);

struct inode_buffers {
	struct buffered_inode *inodes; /* owned; of the set's files, by index */
	uint8_t *blocks;               /* owned */
};

/*
 * Reads the buffers of all files of a set, which have their inode numbers; set->buffers gets them and owns them. The
 * files count as empty until they change. ENOMEM, errors in reading. Main thread.
 */
MUST_CHECK errcode_t inode_buffers_open(struct image *image, struct file_set *set);

/* As current_time() of a call that changes ctime and mtime. Calls are a microsecond apart, so equal runs are equal. */
void inode_buffers_touch(struct buffered_inode *inode);

/* What ext4_mark_inode_dirty() does: the inode in memory goes into its buffer. EFBIG. Each inode by one thread. */
MUST_CHECK errcode_t inode_buffers_mark_dirty(const struct image *image, const struct simulated_file *file,
                                              struct buffered_inode *inode);

/*
 * What ext4_ext_dirty() does after a change of the file's extents, as far as they fit into the inode: its root follows
 * them, and it is marked dirty. Trees of several blocks are made in the end, by file_set_place(). EFBIG.
 */
MUST_CHECK errcode_t inode_buffers_mark_extents(const struct image *image, const struct simulated_file *file,
                                                struct buffered_inode *inode);

/* How often the inodes of a set were marked dirty, all together. */
uint64_t inode_buffers_changes(const struct file_set *set);

/* NULL is allowed. */
void inode_buffers_free(struct inode_buffers *buffers);
