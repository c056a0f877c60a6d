/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An inode: values in, bytes out. Pure: no I/O, no locks. */
#pragma once

#include "ondisk/format.h"

#define INODE_ROOT_BYTES 60 /* i_block: an extent tree's root, a block map's, a fast symlink's target, a device */

struct inode_time {
	/* Since 1970; clamped to what the inode can hold: 1901 to 2446 without 2310 to 2378 (128-byte inodes: to 2038).
	 */
	int64_t seconds;
	uint32_t nanoseconds; /* below 10^9; lost in 128-byte inodes and when the seconds are clamped */
};

struct inode_value {
	uint16_t mode; /* type and permissions */
	uint32_t uid, gid;
	uint32_t project; /* written if the format has projects */
	uint64_t size_bytes;
	struct inode_time atime, ctime, mtime, crtime;
	uint32_t links;  /* a directory's above 65000 are written as 1 with dir_nlink */
	uint64_t blocks; /* filesystem blocks of data, map and xattr block */
	uint32_t flags;  /* EXT4_EXTENTS_FL, EXT2_INDEX_FL ...; huge_file's is added when blocks need it */
	uint32_t generation;
	uint32_t version;     /* the lower half of an xattr value's reference count; else 0 */
	uint64_t xattr_block; /* 0: none */
	uint8_t root[INODE_ROOT_BYTES];
};

/*
 * Writes inode number ino as inode_bytes bytes, checksum included. xattr_area (NULL: none) holds
 * inode_xattr_area_bytes() bytes as xattr_encode_inode() made them. Errors: EMLINK (too many links),
 * EFBIG (more blocks, or a larger size, than the filesystem's features and the file's type can record).
 *
 * The caller has to see to two things: a regular file of 2 GiB or more needs the large_file feature in the
 * superblock, and e2fsck 1.47.0 takes times from 2310-04-04 to 2378-04-22 for wrong ones of before 1970 (until 2242),
 * so such times should not be invented.
 */
MUST_CHECK errcode_t inode_encode(const struct ondisk_format *format, uint32_t ino, const struct inode_value *value,
                                  const void *xattr_area, void *bytes);

/* A decoded inode. */
struct inode_decoded {
	struct inode_value value; /* fields for which the inode has no room are 0 */
	uint16_t extra_isize;
	bool has_crtime;
	uint32_t deletion_time; /* for an inode on the superblock's list of orphans, the next one's number */
};

/*
 * Reads inode_bytes untrusted bytes: every value is one that its type can hold, and nanoseconds are below 10^9
 * (larger ones are read as 0). The size is as the kernel reads it, and may be above INT64_MAX.
 */
void inode_decode(const struct ondisk_format *format, const void *bytes, struct inode_decoded *inode);

/* As for the kernel and e2fsck(8): other operating systems than Linux keep something else in the checksum's place. */
static inline bool inode_has_checksum(const struct ondisk_format *format)
{
	return format->checksums && format->creator_os == EXT2_OS_LINUX;
}

/* Does the inode's checksum fit? True if there is none, and for bytes that are all 0. */
bool inode_checksum_fits(const struct ondisk_format *format, uint32_t ino, const void *bytes);

/* Reads what inode_root_device() has written. */
void inode_root_read_device(const uint8_t root[INODE_ROOT_BYTES], uint32_t *major, uint32_t *minor);

/* Bytes after i_extra_isize that xattrs can use, their magic included; 0 with 128-byte inodes. */
uint32_t inode_xattr_area_bytes(const struct ondisk_format *format);

/*
 * Writes i_block of a character or block device: the old form if both numbers are below 256, else the new one. The
 * caller has refused numbers above these limits, which no Linux device has but an archive may.
 */
#define INODE_MAX_MAJOR 0xfffu
#define INODE_MAX_MINOR 0xfffffu
void inode_root_device(uint32_t major, uint32_t minor, uint8_t root[INODE_ROOT_BYTES]);

/*
 * The longest symlink target in i_block, where a 0 byte follows it; a longer one has its own block. Such an inode has
 * no EXT4_EXTENTS_FL, because i_block is not a tree.
 */
#define INODE_FAST_SYMLINK_BYTES 59

/* Returns the time as an inode stores it: clamped, and without nanoseconds if there is no room. */
struct inode_time inode_stored_time(const struct ondisk_format *format, struct inode_time time);
