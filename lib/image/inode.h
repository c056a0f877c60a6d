/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One inode of an image, with all its fields. */
#pragma once

#include "image/volume.h"
#include "ondisk/inode.h"

struct volume_inode {
	uint32_t ino;
	const void *raw;          /* the caller's bytes */
	struct inode_view view;   /* of raw */
	struct inode_decoded all; /* the same and the rest, with a copy of i_block */
};

/*
 * Reads an inode into raw (format.inode_bytes of them), which must stay as long as *inode. The unwritten part of an
 * inode table reads as zeros: these inodes are not in use. Errors: EXT2_ET_BAD_INODE_NUM (no such inode, or its table
 * is out of bounds), EXT2_ET_INODE_CSUM_INVALID, ENOMEM, errors in reading. Any thread.
 */
MUST_CHECK errcode_t volume_inode_read(const struct volume *volume, uint32_t ino, void *raw,
                                       struct volume_inode *inode);

/* The same for bytes of an inode that exists, which have been read from its table. */
MUST_CHECK errcode_t volume_inode_decode(const struct volume *volume, uint32_t ino, void *raw,
                                         struct volume_inode *inode);

/* True if the inode has links, or is one of the filesystem's own. Others are free, or orphans. */
static inline bool volume_inode_is_in_use(const struct volume *volume, const struct volume_inode *inode)
{
	return inode->view.mode && (inode->view.links || inode->ino < volume->geometry.first_inode);
}

/* True if i_block is a map of the inode's blocks. It is not for devices, short symlinks and inline data. */
bool volume_inode_has_map(const struct volume_inode *inode);
