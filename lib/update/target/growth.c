/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "update/target/growth.h"

/* Beside its metadata; resize2fs (1.47) leaves a last group out that has less than 50. */
#define LEAST_GROUP_BLOCKS 128u

/* The number of a group without a backup of the superblock, if there is such a group. */
#define NO_BACKUP 2u

static uint64_t whole_blocks(const struct volume *volume, uint64_t bytes)
{
	return (bytes + volume->format.block_bytes - 1) >> volume->format.block_bits;
}

uint64_t growth_kept_blocks(const struct update_options *options, const struct volume *volume)
{
	uint64_t blocks = whole_blocks(volume, options->free_bytes);
	uint64_t of_all = (volume->geometry.end_block * options->free_percent + 99) / 100;
	uint64_t kept = blocks > of_all ? blocks : of_all;

	return kept ? kept + volume->reserved_blocks : 0;
}

static bool is_power_of(uint32_t number, uint32_t base)
{
	while (number > 1 && number % base == 0)
		number /= base;
	return number == 1;
}

static bool may_have_backup(const struct volume *volume, uint32_t group)
{
	return !(volume->superblock.s_feature_ro_compat & EXT2_FEATURE_RO_COMPAT_SPARSE_SUPER) || group <= 1 ||
	       is_power_of(group, 3) || is_power_of(group, 5) || is_power_of(group, 7);
}

/* The metadata of a group when there are `groups`. */
static uint64_t metadata_blocks(const struct volume *volume, uint32_t group, uint64_t groups)
{
	const struct ext2_super_block *super = &volume->superblock;
	uint64_t descriptor_bytes =
		super->s_feature_incompat & EXT4_FEATURE_INCOMPAT_64BIT ? super->s_desc_size : EXT2_MIN_DESC_SIZE;
	uint64_t backup = 1 + whole_blocks(volume, groups * descriptor_bytes) + super->s_reserved_gdt_blocks;

	return volume->inode_table_blocks + 2 + (may_have_backup(volume, group) ? backup : 0);
}

/*
 * Returns the blocks of a new group that an update can take: the rest is metadata, or has to stay free if that is a
 * part of all. 0: none.
 */
static uint64_t gained_blocks(const struct update_options *options, const struct volume *volume, uint64_t each)
{
	uint64_t kept = options->free_percent ? metadata_blocks(volume, NO_BACKUP, volume->geometry.groups) : 0;

	kept += (each * options->free_percent + 99) / 100;
	if (growth_kept_blocks(options, volume))
		kept += each * volume->reserved_blocks / volume->geometry.end_block;
	return kept < each ? each - kept : 0;
}

uint64_t growth_size(const struct update_options *options, const struct volume *volume, struct update_lack lack)
{
	const struct geometry *geometry = &volume->geometry;
	const uint64_t each = (uint64_t)geometry->clusters_per_group << geometry->cluster_bits;
	const uint64_t gained = gained_blocks(options, volume, each);
	uint64_t more = lack.blocks && gained ? lack.blocks / gained * each + lack.blocks % gained * each / gained : 0;
	uint64_t blocks = geometry->end_block + more + (more >> 6) + 16;
	uint64_t groups = (blocks - geometry->first_block + each - 1) / each;
	uint64_t wanted =
		geometry->groups + (lack.inodes + geometry->inodes_per_group - 1) / geometry->inodes_per_group;

	if (wanted > groups) {
		groups = wanted;
		blocks = geometry->first_block + (groups - 1) * each + 1;
	}
	for (uint32_t group = geometry->groups; group < groups; group++)
		blocks += metadata_blocks(volume, group, groups);
	uint64_t last_group = (blocks - 1 - geometry->first_block) / each;
	uint64_t last_begin = geometry->first_block + last_group * each;
	uint64_t least = metadata_blocks(volume, (uint32_t)last_group, last_group + 1) + LEAST_GROUP_BLOCKS;

	if (last_group >= geometry->groups && blocks - last_begin < least)
		blocks = last_begin + (least < each ? least : each);
	const uint64_t cluster = UINT64_C(1) << geometry->cluster_bits;

	return !lack.blocks || gained ? (blocks + cluster - 1) & ~(cluster - 1) : 0;
}
