/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Shared by writing and reading of xattrs, private to this folder; callers use xattr.h and xattr_read.h. */
#pragma once

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <ext2fs/ext2_fs.h>
/* Needs the types of the one above. */
#include <ext2fs/ext2_ext_attr.h>

#define XATTR_UNIT_BYTES EXT2_EXT_ATTR_PAD /* entries and values are padded to this */
#define XATTR_TERMINATOR_BYTES 4
#define XATTR_INODE_HEADER_BYTES 4 /* the magic number */
#define XATTR_INDEX_ACL_ACCESS 2
#define XATTR_INDEX_ACL_DEFAULT 3
#define XATTR_INDEX_SYSTEM 7

/* Prefixes that are numbers on disk; an entry without a dot at its end is a whole name. */
struct xattr_prefix {
	const char *text;
	uint8_t index;
};

static const struct xattr_prefix xattr_prefixes[] = {
	{ "user.", 1 },
	{ "system.posix_acl_access", XATTR_INDEX_ACL_ACCESS },
	{ "system.posix_acl_default", XATTR_INDEX_ACL_DEFAULT },
	{ "trusted.", 4 },
	{ "security.", 6 },
	{ "encryption.", 9 }, /* ours: no system call shows these */
	{ "system.richacl", 8 },
	{ "system.", XATTR_INDEX_SYSTEM }, /* after names that begin with it */
};

#define XATTR_PREFIXES (sizeof(xattr_prefixes) / sizeof(xattr_prefixes[0]))

/* ext4's hash of a name, a byte at a time. */
static inline uint32_t xattr_hash_name(const char *name, size_t name_bytes)
{
	uint32_t hash = 0;

	for (size_t n = 0; n < name_bytes; n++)
		hash = (hash << 5 | hash >> 27) ^ (uint8_t)name[n];
	return hash;
}

/* Continues with a value, a padded word at a time. */
static inline uint32_t xattr_hash_value(uint32_t hash, const uint8_t *value, size_t value_bytes)
{
	for (size_t offset = 0; offset < value_bytes; offset += XATTR_UNIT_BYTES) {
		uint32_t word;

		memcpy(&word, value + offset, sizeof(word));
		hash = (hash << 16 | hash >> 16) ^ le32toh(word);
	}
	return hash;
}

/* Continues with the hash of the inode that has the value. */
static inline uint32_t xattr_hash_value_inode(uint32_t hash, uint32_t value_hash)
{
	return (hash << 16 | hash >> 16) ^ value_hash;
}
