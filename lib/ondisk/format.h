/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The geometry and features of a filesystem that the builders in this folder need. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <ext2fs/ext2_fs.h>

#include "support/problem.h"

struct ext2fs_nls_table;

struct ondisk_format {
	uint32_t block_bytes;      /* 1024 to 65536 */
	unsigned int block_bits;   /* log2(block_bytes) */
	unsigned int cluster_bits; /* log2(blocks per cluster); 0 without bigalloc */
	uint16_t inode_bytes;      /* 128 and up, a power of two */
	uint16_t extra_isize;      /* of new inodes; 0 for 128-byte inodes */
	uint8_t hash_version;      /* of new indexed directories, with the signedness of the superblock's flags */
	uint32_t hash_seed[4];     /* as for ext2fs_dirhash2() */
	uint32_t checksum_seed;    /* of metadata_csum and of the hashes of ea_inode */
	uint32_t creator_os; /* EXT2_OS_LINUX, EXT2_OS_HURD ...: what operating systems of their own keep in inodes */
	bool checksums;      /* metadata_csum */
	bool is_64bit;       /* block numbers have more than 32 bits */
	bool extents;
	bool dir_index;
	bool filetype;
	bool large_dir;
	bool dir_nlink;
	bool huge_file;
	bool project; /* inodes have project ids */
	bool inline_data;
	bool ea_inode;
	bool quota;
	bool verity;
	const struct ext2fs_nls_table *encoding; /* of casefold; NULL: without the feature */
};

/* Reads them from a superblock in host order, as in libext2fs. EINVAL if its sizes are not ext4's, or its encoding is
 * unknown. */
MUST_CHECK errcode_t ondisk_format_read(const struct ext2_super_block *super, struct ondisk_format *format);

/* The seed of the checksums of one inode's own blocks: crc32c over the inode number and its generation. */
uint32_t ondisk_inode_seed(const struct ondisk_format *format, uint32_t ino, uint32_t generation);

/*
 * The number of an inode's block of xattrs, from its two fields. As for the kernel and e2fsck(8) the higher one counts
 * with 64bit alone: GNU/Hurd has the upper half of the mode there.
 */
static inline uint64_t ondisk_xattr_block(const struct ondisk_format *format, uint32_t low, uint16_t high)
{
	return low | (format->is_64bit ? (uint64_t)high << 32 : 0);
}
