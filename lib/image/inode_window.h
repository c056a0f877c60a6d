/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads inodes one after the other, most of which lie near the one before: a piece of their table stays in memory. It
 * begins with a block, and becomes longer while inodes are read in order. One thread.
 */
#pragma once

#include "image/inode.h"

struct inode_window {
	const struct volume *volume; /* borrowed */
	uint64_t block;              /* where the piece begins */
	uint32_t blocks;             /* in it; 0: there is none */
	uint8_t *bytes;              /* owned */
};

/* ENOMEM. The window is freed in any case. */
MUST_CHECK errcode_t inode_window_open(struct inode_window *window, const struct volume *volume);
void inode_window_free(struct inode_window *window);

/* As volume_inode_read(). */
MUST_CHECK errcode_t inode_window_read(struct inode_window *window, uint32_t ino, void *raw,
                                       struct volume_inode *inode);
