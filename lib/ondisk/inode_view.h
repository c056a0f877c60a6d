/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reading an inode from untrusted bytes: what says where its content lies. Pure. */
#pragma once

#include <stddef.h>

#include "ondisk/format.h"

struct inode_view {
	uint16_t mode;
	uint16_t links;
	uint32_t flags;
	uint64_t size_bytes;
	uint64_t xattr_block; /* 0: none */
	const uint8_t *root;  /* i_block, INODE_ROOT_BYTES of it, within the bytes that were given */
};

/* bytes: format->inode_bytes of them. */
void inode_view_read(const struct ondisk_format *format, const void *bytes, struct inode_view *view);

/*
 * Where content that lies in the inode itself (EXT4_INLINE_DATA_FL) continues after i_block: the value of the xattr
 * "system.data" in the inode. NULL, and 0 bytes, if there is none or its place is out of bounds.
 */
const uint8_t *inode_view_inline_rest(const struct ondisk_format *format, const void *bytes, size_t *count);
