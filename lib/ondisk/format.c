/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ondisk/format.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include <ext2fs/ext2fs.h>

#include "support/crc32c.h"

/* Bytes of the fields up to and including the project number: nanoseconds, creation time, high version. */
#define FULL_EXTRA_ISIZE (sizeof(struct ext2_inode_large) - EXT2_GOOD_OLD_INODE_SIZE)

static bool inode_size_is_valid(uint32_t inode_bytes, uint32_t block_bytes)
{
	return inode_bytes >= EXT2_GOOD_OLD_INODE_SIZE && inode_bytes <= block_bytes &&
	       (inode_bytes & (inode_bytes - 1)) == 0;
}

/* Ignores the superblock's value if it is less than the full fields, does not fit, or is not aligned. */
static uint16_t extra_isize_of(const struct ext2_super_block *super, uint32_t inode_bytes)
{
	uint32_t room = inode_bytes - EXT2_GOOD_OLD_INODE_SIZE;
	uint32_t wanted = super->s_want_extra_isize;

	if (wanted < super->s_min_extra_isize)
		wanted = super->s_min_extra_isize;
	if (wanted < FULL_EXTRA_ISIZE || wanted > room || wanted % 4 != 0)
		wanted = FULL_EXTRA_ISIZE;
	return wanted < room ? wanted : room;
}

static uint8_t hash_version_of(const struct ext2_super_block *super)
{
	if (super->s_def_hash_version > EXT2_HASH_TEA || !(super->s_flags & EXT2_FLAGS_UNSIGNED_HASH))
		return super->s_def_hash_version;
	return super->s_def_hash_version + (EXT2_HASH_LEGACY_UNSIGNED - EXT2_HASH_LEGACY);
}

static uint32_t checksum_seed_of(const struct ext2_super_block *super)
{
	if (super->s_feature_incompat & EXT4_FEATURE_INCOMPAT_CSUM_SEED)
		return super->s_checksum_seed;
	return crc32c(UINT32_MAX, super->s_uuid, sizeof(super->s_uuid));
}

errcode_t ondisk_format_read(const struct ext2_super_block *super, struct ondisk_format *format)
{
	if (super->s_log_block_size > EXT2_MAX_BLOCK_LOG_SIZE - EXT2_MIN_BLOCK_LOG_SIZE)
		return EINVAL;

	unsigned int block_bits = super->s_log_block_size + EXT2_MIN_BLOCK_LOG_SIZE;
	uint32_t inode_bytes = EXT2_INODE_SIZE(super);
	unsigned int cluster_bits = 0;

	if (!inode_size_is_valid(inode_bytes, UINT32_C(1) << block_bits))
		return EINVAL;
	if (super->s_feature_ro_compat & EXT4_FEATURE_RO_COMPAT_BIGALLOC) {
		if (super->s_log_cluster_size < super->s_log_block_size ||
		    super->s_log_cluster_size > EXT2_MAX_CLUSTER_LOG_SIZE - EXT2_MIN_CLUSTER_LOG_SIZE)
			return EINVAL;
		cluster_bits = super->s_log_cluster_size - super->s_log_block_size;
	}

	*format = (struct ondisk_format){
		.block_bytes = UINT32_C(1) << block_bits,
		.block_bits = block_bits,
		.cluster_bits = cluster_bits,
		.inode_bytes = inode_bytes,
		.extra_isize = extra_isize_of(super, inode_bytes),
		.hash_version = hash_version_of(super),
		.checksum_seed = checksum_seed_of(super),
		.creator_os = super->s_creator_os,
		.checksums = super->s_feature_ro_compat & EXT4_FEATURE_RO_COMPAT_METADATA_CSUM,
		.is_64bit = super->s_feature_incompat & EXT4_FEATURE_INCOMPAT_64BIT,
		.extents = super->s_feature_incompat & EXT3_FEATURE_INCOMPAT_EXTENTS,
		.dir_index = super->s_feature_compat & EXT2_FEATURE_COMPAT_DIR_INDEX,
		.filetype = super->s_feature_incompat & EXT2_FEATURE_INCOMPAT_FILETYPE,
		.large_dir = super->s_feature_incompat & EXT4_FEATURE_INCOMPAT_LARGEDIR,
		.dir_nlink = super->s_feature_ro_compat & EXT4_FEATURE_RO_COMPAT_DIR_NLINK,
		.huge_file = super->s_feature_ro_compat & EXT4_FEATURE_RO_COMPAT_HUGE_FILE,
		.project = super->s_feature_ro_compat & EXT4_FEATURE_RO_COMPAT_PROJECT,
		.quota = super->s_feature_ro_compat & EXT4_FEATURE_RO_COMPAT_QUOTA,
		.verity = super->s_feature_ro_compat & EXT4_FEATURE_RO_COMPAT_VERITY,
		.ea_inode = super->s_feature_incompat & EXT4_FEATURE_INCOMPAT_EA_INODE,
		.inline_data = super->s_feature_incompat & EXT4_FEATURE_INCOMPAT_INLINE_DATA,
	};
	if (super->s_feature_incompat & EXT4_FEATURE_INCOMPAT_CASEFOLD) {
		format->encoding = ext2fs_load_nls_table(super->s_encoding);
		if (!format->encoding)
			return EINVAL;
	}
	/* Four numbers: the superblock's swap on big-endian hosts has put them into the order that hashing uses. */
	memcpy(format->hash_seed, super->s_hash_seed, sizeof(format->hash_seed));
	return 0;
}

uint32_t ondisk_inode_seed(const struct ondisk_format *format, uint32_t ino, uint32_t generation)
{
	uint32_t words[2] = { htole32(ino), htole32(generation) };

	return crc32c(format->checksum_seed, words, sizeof(words));
}
