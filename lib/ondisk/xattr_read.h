/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reading xattrs from untrusted bytes: those in an inode, and those in a block. Pure. What is right is the kernel's
 * rule (fs/ext4/xattr.c, check_xattrs()), but that an entry which is wrong does not hide the others.
 */
#pragma once

#include <stddef.h>

#include "ondisk/xattr.h"

/* A list of entries, while one goes from one to the next. */
struct xattr_cursor {
	const uint8_t *base; /* within the bytes that were given: what the offsets of values count from */
	size_t byte_count;   /* from there on */
	size_t offset, end;  /* of the entries */
	bool is_damaged;     /* something did not make sense, and was left out */
};

struct xattr_entry {
	const char *name; /* within the bytes: what follows the prefix; no 0 follows it */
	uint8_t name_bytes;
	uint8_t name_index;   /* the prefix */
	const uint8_t *value; /* within the bytes, as on disk; NULL: it has an inode of its own, value_ino */
	uint32_t value_bytes;
	uint32_t value_ino; /* 0: none */
	uint32_t hash;      /* as on disk; 0: none */
};

/* Of an inode (format->inode_bytes of them); a cursor without entries if it has none. */
struct xattr_cursor xattr_start_inode(const struct ondisk_format *format, const void *inode);

/* NULL, or why these bytes of block number `block` are none of xattrs: a literal. */
MUST_CHECK const char *xattr_start_block(const struct ondisk_format *format, uint64_t block, const void *bytes,
                                         struct xattr_cursor *cursor);

/* The next entry; false after the last. Inline data's system.data is among them. */
MUST_CHECK bool xattr_entries_next(struct xattr_cursor *cursor, struct xattr_entry *entry);

/* True for inline data, which is no xattr of the file. */
bool xattr_entry_is_inline_data(const struct xattr_entry *entry);

/* Is the value an ACL, which posix_acl_decode() turns into what getxattr(2) returns? */
bool xattr_entry_is_acl(const struct xattr_entry *entry);

/*
 * Does the entry differ from its hash? Not if it has none. value_hash: of a value that has an inode, that inode's.
 * Kernels of some architectures take the bytes of names for signed numbers; both hashes are right.
 */
bool xattr_entry_differs(const struct xattr_entry *entry, uint32_t value_hash);

/* The hash of a value that has an inode; that inode holds it in its atime. */
uint32_t xattr_value_hash(const struct ondisk_format *format, const void *value, uint32_t value_bytes);

#define XATTR_WHOLE_NAME_BYTES 280 /* the longest prefix, 255 bytes, and the 0 */

/*
 * The whole name, with a 0 after it. False if there is none: a prefix that is not known (the context of encryption has
 * 9), nothing after a prefix that needs a name, something after one that is a whole name, a 0 in it.
 */
MUST_CHECK bool xattr_entry_name(const struct xattr_entry *entry, char name[XATTR_WHOLE_NAME_BYTES]);
