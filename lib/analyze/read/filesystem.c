/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyze/read/filesystem.h"

#include <string.h>

#include <uuid/uuid.h>

static uint32_t free_inodes(const struct volume *volume)
{
	uint64_t count = 0;

	for (uint32_t group = 0; group < volume->geometry.groups; group++)
		count += volume->group[group].free_inodes;
	return count < volume->inodes ? (uint32_t)count : volume->inodes;
}

void report_filesystem_describe(const struct volume *volume, struct report_filesystem *filesystem)
{
	const struct ext2_super_block *super = &volume->superblock;
	bool has_flex_groups = super->s_feature_incompat & EXT4_FEATURE_INCOMPAT_FLEX_BG;

	*filesystem = (struct report_filesystem){
		.target = filesystem->target,
		.device = volume->path,
		.offset_bytes = volume->offset_bytes,
		.block_bytes = volume->format.block_bytes,
		.cluster_blocks = UINT32_C(1) << volume->format.cluster_bits,
		.blocks_per_group = super->s_blocks_per_group,
		.groups = volume->geometry.groups,
		.inodes = volume->inodes,
		.free_inodes = free_inodes(volume),
		.stride_blocks = super->s_raid_stride,
		.stripe_blocks = super->s_raid_stripe_width,
		.first_block = volume->geometry.first_block,
		.blocks = volume->geometry.end_block,
		.missing_blocks = volume->geometry.end_block - volume->readable_end,
		.span_blocks =
			score_span(super->s_blocks_per_group, has_flex_groups ? super->s_log_groups_per_flex : 0),
		.has_extents = volume->format.extents,
		.journals_data = (super->s_default_mount_opts & EXT3_DEFM_JMODE) == EXT3_DEFM_JMODE_DATA,
		.needs_recovery = volume->needs_recovery,
		.is_mounted = volume->is_mounted,
	};
	memcpy(filesystem->label, super->s_volume_name, sizeof(super->s_volume_name));
	uuid_unparse(super->s_uuid, filesystem->uuid);
}
