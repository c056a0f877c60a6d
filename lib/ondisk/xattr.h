/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Extended attributes: in the inode after its extra fields, and in a block of their own. Values in, bytes
 * out. POSIX ACLs are converted from the form of getxattr(2) to the one on disk.
 */
#pragma once

#include <stddef.h>

#include "ondisk/inode.h"

/* The names of one file's xattrs are distinct. */
struct xattr {
	const char *name;  /* whole: "user.comment", "system.posix_acl_access" */
	const void *value; /* as getxattr(2) returns it */
	uint32_t value_bytes;
	uint32_t value_ino;  /* for a value in an inode of its own: that inode's number, */
	uint32_t value_hash; /* and the hash of its content */
};

/* The places of a file's xattrs. */
struct xattr_layout {
	uint64_t in_inode;       /* bit n: list[n] is in the inode */
	uint64_t in_value_inode; /* bit n: the value of list[n] has an inode of its own, wherever its entry is */
	bool needs_block;        /* the other entries are in a block */
};

/* The context of an encrypted inode (name index 9): its policy and a nonce. */
#define XATTR_ENCRYPTION_CONTEXT "encryption.c"

#define XATTR_MAX_COUNT 64 /* per file; more is E2BIG */

/*
 * Decides where xattrs go: all into the inode if they fit; else as many as fit, in the order of the list, and the
 * rest into one block. If that rest is too large, those that fill the inode best go there; with ea_inode, as few
 * values as possible, the largest, then get inodes of their own. So E2BIG means that they cannot be stored (with
 * ea_inode also: a value above 64 KiB, which no system call could read). Errors: ENOTSUP (a name prefix that ext4
 * does not know, or inline data's system.data), EINVAL (no name after the prefix, a malformed ACL), ERANGE (over 255
 * bytes after the prefix), E2BIG, ENOMEM. The functions below take xattrs that this one has accepted, and return the
 * same errors for others.
 */
MUST_CHECK errcode_t xattr_place(const struct ondisk_format *format, const struct xattr *list, size_t count,
                                 struct xattr_layout *layout);

/*
 * Returns the content of a value's own inode: its bytes on disk, which the caller frees, their number, and the hash
 * of the content.
 */
MUST_CHECK errcode_t xattr_value_encode(const struct ondisk_format *format, const struct xattr *xattr, void **disk,
                                        uint32_t *disk_bytes, uint32_t *hash);

/* Writes inode_xattr_area_bytes() bytes for inode_encode(): all zero if no xattr is in the inode. */
MUST_CHECK errcode_t xattr_encode_inode(const struct ondisk_format *format, const struct xattr *list, size_t count,
                                        const struct xattr_layout *layout, void *area);

/*
 * Writes the block for block number `block`, shared by `references` inodes (1 to XATTR_MAX_REFERENCES),
 * hashes and checksum included.
 */
#define XATTR_MAX_REFERENCES 1024
MUST_CHECK errcode_t xattr_encode_block(const struct ondisk_format *format, const struct xattr *list, size_t count,
                                        const struct xattr_layout *layout, uint64_t block, uint32_t references,
                                        void *bytes);

/*
 * Inline data: the content of a small file, directory or symlink is in its inode, the first 60 bytes in i_block and
 * the rest in the value of the internal xattr system.data, after the file's xattrs.
 */

/*
 * Returns how many bytes fit an inode with this xattr area (xattr_encode_inode()'s; NULL: without xattrs): 60 or
 * more; 0 if not even an empty value fits, or without the feature.
 */
uint32_t inline_data_room(const struct ondisk_format *format, const void *xattr_area);

/*
 * Writes `bytes` bytes of data, at most inline_data_room(), into root and into area, which holds the file's xattrs or
 * zeros: inode_xattr_area_bytes() bytes. The inode is to carry EXT4_INLINE_DATA_FL.
 */
void inline_data_encode(const struct ondisk_format *format, const void *data, uint32_t bytes,
                        uint8_t root[INODE_ROOT_BYTES], void *area);
