/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An inode with all that it owns, read and checked before any of it is released. Reads only. */
#pragma once

#include "ondisk/block_access.h"
#include "ondisk/file_map.h"
#include "ondisk/map_cut.h"
#include "ondisk/map_scan.h"
#include "ondisk/xattr_share.h"

/* An xattr whose value has an inode of its own. */
struct owned_value {
	uint32_t ino;
	bool is_in_block; /* the xattr is in the xattr block, else in the inode */
	bool is_of_lustre;
};

struct owned_inode {
	uint32_t ino;
	struct inode_decoded inode;
	struct block_list blocks;   /* that go free with it; the xattr block if it has no other references */
	uint8_t *xattr_bytes;       /* owned: the xattr block; NULL: there is none */
	uint32_t xattr_references;  /* to it */
	struct owned_value *values; /* owned */
	size_t value_count, value_capacity;
};

/* EXT2MB_ET_ORPHAN_INODE: damaged; ENOMEM, errors in reading. It is to be freed also after an error. */
MUST_CHECK errcode_t owned_inode_read(struct block_access *access, uint32_t ino, struct owned_inode *owned);

/* The same for the inode of an xattr's value, which has neither xattrs nor values. */
MUST_CHECK errcode_t owned_inode_read_value(struct block_access *access, uint32_t ino, struct owned_inode *owned);

/*
 * Finds where the map may be cut so that what follows lies in at most so many groups (at least one): *first is a
 * logical block; 0: all of it does.
 */
MUST_CHECK errcode_t owned_inode_tail(struct block_access *access, const struct owned_inode *owned,
                                      uint64_t most_groups, uint64_t *first);

void owned_inode_free(struct owned_inode *owned);

#define SCOPE_OWNED __attribute__((cleanup(owned_inode_free)))
