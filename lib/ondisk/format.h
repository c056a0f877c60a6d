/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the builders in this folder need to know of a filesystem: its superblock's geometry and features. */
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
	uint16_t extra_isize;      /* what new inodes get; 0 for 128-byte inodes */
	uint8_t hash_version;      /* of new indexed directories, the signedness of the superblock's flags included */
	uint32_t hash_seed[4];     /* as ext2fs_dirhash2() wants it */
	uint32_t checksum_seed;    /* of metadata_csum and of the hashes of ea_inode */
	bool checksums;            /* metadata_csum */
	bool extents;
	bool dir_index;
	bool filetype;
	bool large_dir;
	bool dir_nlink;
	bool huge_file;
	bool project; /* inodes say which project they belong to */
	bool inline_data;
	bool ea_inode;
	bool quota;
	const struct ext2fs_nls_table *encoding; /* of casefold; NULL: without the feature */
};

/* Reads them out of a superblock in host order, as libext2fs holds it. EINVAL if its sizes are not ext4's, or
 * its encoding is not known. */
MUST_CHECK errcode_t ondisk_format_read(const struct ext2_super_block *super, struct ondisk_format *format);

/* The seed of the checksums of one inode's own blocks: crc32c over the inode number and its generation. */
uint32_t ondisk_inode_seed(const struct ondisk_format *format, uint32_t ino, uint32_t generation);
