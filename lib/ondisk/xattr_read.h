/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reading xattrs from untrusted bytes: those in an inode, and those in a block. Pure. Validity follows the kernel
 * (fs/ext4/xattr.c, check_xattrs()), except that a wrong entry does not hide the others.
 */
#pragma once

#include <stddef.h>

#include "ondisk/xattr.h"

/* A position in a list of entries. */
struct xattr_cursor {
	const uint8_t *base; /* within the given bytes: origin of value offsets */
	size_t byte_count;   /* from base on */
	size_t offset, end;  /* of the entries */
	bool is_damaged;     /* something was invalid, and was left out */
};

struct xattr_entry {
	const char *name; /* within the bytes: the name after the prefix, without a terminating 0 */
	uint8_t name_bytes;
	uint8_t name_index;   /* the prefix */
	const uint8_t *value; /* within the bytes, as on disk; NULL: in the inode value_ino */
	uint32_t value_bytes;
	uint32_t value_ino; /* 0: none */
	uint32_t hash;      /* as on disk; 0: none */
};

/* Starts at an inode's xattrs (bytes has format->inode_bytes); the cursor has no entries if the inode has none. */
struct xattr_cursor xattr_start_inode(const struct ondisk_format *format, const void *inode);

/* Starts at an xattr block. Returns NULL, or a literal that says why the bytes of block number `block` are not one. */
MUST_CHECK const char *xattr_start_block(const struct ondisk_format *format, uint64_t block, const void *bytes,
                                         struct xattr_cursor *cursor);

/* Reads the next entry; false after the last. Inline data's system.data is included. */
MUST_CHECK bool xattr_entries_next(struct xattr_cursor *cursor, struct xattr_entry *entry);

/* True for inline data, which is not an xattr of the file. */
bool xattr_entry_is_inline_data(const struct xattr_entry *entry);

/* Is the value an ACL, which posix_acl_decode() turns into what getxattr(2) returns? */
bool xattr_entry_is_acl(const struct xattr_entry *entry);

/*
 * Is the entry's hash wrong? False if it has none. value_hash: for a value in an inode of its own, that inode's.
 * Kernels of some architectures take the bytes of names as signed numbers; both hashes are valid.
 */
bool xattr_entry_differs(const struct xattr_entry *entry, uint32_t value_hash);

/* The hash of a value in an inode of its own, which stores it in its atime. */
uint32_t xattr_value_hash(const struct ondisk_format *format, const void *value, uint32_t value_bytes);

#define XATTR_WHOLE_NAME_BYTES 280 /* the longest prefix, 255 bytes, and the 0 */

/*
 * Writes the whole name, with a terminating 0. False if it is invalid: an unknown prefix, no name after a prefix that
 * needs one, a name after a prefix that is a whole name, or a 0 in it.
 */
MUST_CHECK bool xattr_entry_name(const struct xattr_entry *entry, char name[XATTR_WHOLE_NAME_BYTES]);

/*
 * Writes the xattrs that are in an inode, all but inline data, as inode_xattr_area_bytes() bytes for
 * inline_data_room(), inline_data_encode() and inode_encode(), or inode_change_area() if format->extra_isize is the
 * inode's own. ENOSPC: the inode has fewer extra fields than the format says, and so more room; EUCLEAN: an entry is
 * damaged.
 */
MUST_CHECK errcode_t inline_data_area(const struct ondisk_format *format, const void *inode, void *area);
