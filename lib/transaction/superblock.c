/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "transaction/superblock.h"

#include <endian.h>
#include <stddef.h>
#include <string.h>

#include <ext2fs/ext2_fs.h>

#include "ext2fs/ext2mb_err.h"
#include "support/crc32c.h"

#define OFFSET(member) offsetof(struct ext2_super_block, member)

static uint32_t get32(const uint8_t *super, size_t offset)
{
	uint32_t value;

	memcpy(&value, super + offset, sizeof(value));
	return le32toh(value);
}

static void put32(uint8_t *super, size_t offset, uint32_t value)
{
	value = htole32(value);
	memcpy(super + offset, &value, sizeof(value));
}

bool superblock_has_magic(const uint8_t *super)
{
	uint16_t magic;

	memcpy(&magic, super + OFFSET(s_magic), sizeof(magic));
	return le16toh(magic) == EXT2_SUPER_MAGIC;
}

uint32_t superblock_block_bytes(const uint8_t *super)
{
	uint32_t bits = get32(super, OFFSET(s_log_block_size));

	return bits > EXT2_MAX_BLOCK_LOG_SIZE - EXT2_MIN_BLOCK_LOG_SIZE ? 0 : EXT2_MIN_BLOCK_SIZE << bits;
}

bool superblock_needs_recovery(const uint8_t *super)
{
	return get32(super, OFFSET(s_feature_incompat)) & EXT3_FEATURE_INCOMPAT_RECOVER;
}

static bool has_checksum(const uint8_t *super)
{
	return get32(super, OFFSET(s_feature_ro_compat)) & EXT4_FEATURE_RO_COMPAT_METADATA_CSUM;
}

static uint32_t checksum_of(const uint8_t *super)
{
	return crc32c(UINT32_MAX, super, OFFSET(s_checksum));
}

static void toggle_needs_recovery(uint8_t *super)
{
	put32(super, OFFSET(s_feature_incompat),
	      get32(super, OFFSET(s_feature_incompat)) ^ EXT3_FEATURE_INCOMPAT_RECOVER);
}

static void update_checksum(uint8_t *super)
{
	if (has_checksum(super))
		put32(super, OFFSET(s_checksum), checksum_of(super));
}

void superblock_set_needs_recovery(uint8_t *super, bool is_needed)
{
	if (superblock_needs_recovery(super) == is_needed)
		return;
	toggle_needs_recovery(super);
	update_checksum(super);
}

void superblock_mark_damaged(uint8_t *super)
{
	uint16_t state;

	memcpy(&state, super + OFFSET(s_state), sizeof(state));
	state |= htole16(EXT2_ERROR_FS);
	memcpy(super + OFFSET(s_state), &state, sizeof(state));
	update_checksum(super);
}

bool superblock_checksum_is_good(const uint8_t *super)
{
	return !has_checksum(super) || get32(super, OFFSET(s_checksum)) == checksum_of(super);
}

bool superblock_needs_replay(const uint8_t *super)
{
	return superblock_needs_recovery(super) || !superblock_checksum_is_good(super);
}

void superblock_mend(uint8_t *super)
{
	if (superblock_checksum_is_good(super))
		return;
	toggle_needs_recovery(super);
	if (!superblock_checksum_is_good(super))
		toggle_needs_recovery(super);
}

uint64_t superblock_blocks(const uint8_t *super)
{
	bool is_64bit = get32(super, OFFSET(s_feature_incompat)) & EXT4_FEATURE_INCOMPAT_64BIT;

	return get32(super, OFFSET(s_blocks_count)) |
	       (is_64bit ? (uint64_t)get32(super, OFFSET(s_blocks_count_hi)) << 32 : 0);
}

/* Fields that describe the layout. */
static const struct kept_field {
	uint16_t offset, bytes;
} kept[] = {
#define KEPT(member)                                                                                                   \
	{                                                                                                              \
		OFFSET(member), sizeof(((struct ext2_super_block *)0)->member)                                         \
	}
	KEPT(s_inodes_count),     KEPT(s_blocks_count),     KEPT(s_first_data_block),   KEPT(s_log_block_size),
	KEPT(s_log_cluster_size), KEPT(s_blocks_per_group), KEPT(s_clusters_per_group), KEPT(s_inodes_per_group),
	KEPT(s_inode_size),       KEPT(s_desc_size),        KEPT(s_first_meta_bg),      KEPT(s_reserved_gdt_blocks),
	KEPT(s_blocks_count_hi),  KEPT(s_journal_inum),     KEPT(s_journal_dev),        KEPT(s_journal_uuid),
	KEPT(s_mmp_block),
#undef KEPT
};

#define KEPT_COMPAT (EXT3_FEATURE_COMPAT_HAS_JOURNAL | EXT4_FEATURE_COMPAT_SPARSE_SUPER2)
#define KEPT_INCOMPAT                                                                                                  \
	(EXT3_FEATURE_INCOMPAT_JOURNAL_DEV | EXT2_FEATURE_INCOMPAT_META_BG | EXT4_FEATURE_INCOMPAT_64BIT |             \
	 EXT4_FEATURE_INCOMPAT_MMP)
#define KEPT_RO_COMPAT (EXT2_FEATURE_RO_COMPAT_SPARSE_SUPER | EXT4_FEATURE_RO_COMPAT_BIGALLOC)

static bool differ(const uint8_t *one, const uint8_t *other, size_t offset, uint32_t mask)
{
	return (get32(one, offset) ^ get32(other, offset)) & mask;
}

errcode_t superblock_may_become(const uint8_t *committed, const uint8_t *written)
{
	if (!superblock_has_magic(written) || differ(committed, written, OFFSET(s_feature_compat), KEPT_COMPAT) ||
	    differ(committed, written, OFFSET(s_feature_incompat), KEPT_INCOMPAT) ||
	    differ(committed, written, OFFSET(s_feature_ro_compat), KEPT_RO_COMPAT))
		return EXT2MB_ET_LAYOUT_CHANGE;
	for (size_t index = 0; index < sizeof(kept) / sizeof(*kept); index++)
		if (memcmp(committed + kept[index].offset, written + kept[index].offset, kept[index].bytes))
			return EXT2MB_ET_LAYOUT_CHANGE;
	return 0;
}
