/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "image/mounts.h"
#include "image/volume_channel.h"
#include "support/bits.h"

static errcode_t read_geometry(ext2_filsys fs, struct volume *volume)
{
	const struct ext2_super_block *super = fs->super;
	struct geometry *geometry = &volume->geometry;
	uint32_t old_block_bytes = volume->overlay ? volume->format.block_bytes : 0;
	errcode_t error = ondisk_format_read(super, &volume->format);

	if (error || (old_block_bytes && volume->format.block_bytes != old_block_bytes))
		return EXT2_ET_CORRUPT_SUPERBLOCK;
	uint64_t bits_per_block = UINT64_C(8) << volume->format.block_bits;

	*geometry = (struct geometry){
		.first_block = super->s_first_data_block,
		.end_block = ext2fs_blocks_count(fs->super),
		.groups = fs->group_desc_count,
		.clusters_per_group = super->s_clusters_per_group,
		.inodes_per_group = super->s_inodes_per_group,
		.first_inode = EXT2_FIRST_INODE(super),
		.flex_groups = 1,
		.cluster_bits = volume->format.cluster_bits,
		.block_bits = volume->format.block_bits,
	};
	if (geometry->first_block > 1 || geometry->first_block >= geometry->end_block ||
	    geometry->end_block > ((uint64_t)INT64_MAX - volume->offset_bytes) >> geometry->block_bits)
		return EXT2_ET_CORRUPT_SUPERBLOCK;
	geometry->clusters = (geometry->end_block - geometry->first_block) >> geometry->cluster_bits;

	uint64_t per_group = geometry->clusters_per_group;
	uint64_t groups = per_group ? (geometry->clusters + per_group - 1) / per_group : 0;

	/*
	 * A last cluster that is cut off may be all that its group has. Then the group does not count, nor do its
	 * blocks.
	 */
	if (!per_group || per_group % 8 || per_group > bits_per_block || geometry->groups < groups ||
	    geometry->groups > groups + 1 || per_group << geometry->cluster_bits != super->s_blocks_per_group)
		return EXT2_ET_CORRUPT_SUPERBLOCK;
	if (geometry->groups > groups)
		geometry->end_block = geometry->first_block + (geometry->clusters << geometry->cluster_bits);
	geometry->groups = (uint32_t)groups;
	if (!geometry->inodes_per_group || geometry->inodes_per_group > bits_per_block ||
	    (uint64_t)geometry->inodes_per_group * fs->group_desc_count != super->s_inodes_count)
		return EXT2_ET_CORRUPT_SUPERBLOCK;
	return groups ? 0 : EXT2_ET_CORRUPT_SUPERBLOCK;
}

static void read_group(ext2_filsys fs, const struct volume *volume, uint32_t number, struct volume_group *group)
{
	uint64_t bitmap = ext2fs_block_bitmap_loc(fs, number);
	uint64_t table = ext2fs_inode_table_loc(fs, number);
	uint32_t inodes = volume->geometry.inodes_per_group;

	*group = (struct volume_group){
		.block_bitmap = volume_has_blocks(volume, bitmap, 1) && bitmap < volume->readable_end ? bitmap : 0,
		.inode_table =
			volume_has_blocks(volume, table, volume->inode_table_blocks) && table < volume->readable_end ?
				table :
				0,
		.inodes_used = inodes,
		.free_clusters = ext2fs_bg_free_blocks_count(fs, number),
		.free_inodes = ext2fs_bg_free_inodes_count(fs, number),
		.bitmap_checksum = ext2fs_block_bitmap_checksum(fs, number) & volume->checksum_mask,
	};
	if (!ext2fs_has_group_desc_csum(fs))
		return;
	/* On a filesystem in use checksums are wrong now and then; the other fields are as good as usual. */
	group->is_doubtful = volume->is_at_rest && !ext2fs_group_desc_csum_verify(fs, number);
	if (group->is_doubtful)
		return;
	uint32_t unused = ext2fs_bg_itable_unused(fs, number);

	group->is_uninitialised = ext2fs_bg_flags_test(fs, number, EXT2_BG_BLOCK_UNINIT);
	if (ext2fs_bg_flags_test(fs, number, EXT2_BG_INODE_UNINIT))
		group->inodes_used = 0;
	else if (unused <= inodes)
		group->inodes_used = inodes - unused;
}

static errcode_t read_groups(ext2_filsys fs, struct volume *volume)
{
	uint32_t groups = volume->geometry.groups;

	volume->suspect = calloc(bits_words(groups), sizeof(*volume->suspect));
	volume->group = calloc(groups, sizeof(*volume->group));
	if (!volume->group || !volume->suspect)
		return ENOMEM;
	for (uint32_t number = 0; number < groups; number++)
		read_group(fs, volume, number, &volume->group[number]);
	return fs_zones_find(fs, &volume->geometry, &volume->zones, volume->suspect);
}

/* Finds the device's end, so that blocks beyond it, which a hostile superblock may claim, cost no time. */
static void find_end(struct volume *volume)
{
	off_t end = lseek(volume->descriptor, 0, SEEK_END);
	uint64_t bytes = end > 0 && (uint64_t)end > volume->offset_bytes ? (uint64_t)end - volume->offset_bytes : 0;
	uint64_t blocks = bytes >> volume->format.block_bits;

	volume->device_blocks = blocks;
	volume->readable_end = blocks < volume->geometry.end_block ? blocks : volume->geometry.end_block;
}

static errcode_t read_all(ext2_filsys fs, struct volume *volume)
{
	const struct ext2_super_block *super = fs->super;
	int mounted = 0;
	errcode_t error = read_geometry(fs, volume);

	if (error)
		return error;
	find_end(volume);
	volume->inode_table_blocks = fs->inode_blocks_per_group;
	volume->inodes = super->s_inodes_count;
	volume->free_blocks = ext2fs_free_blocks_count(fs->super);
	volume->reserved_blocks = ext2fs_r_blocks_count(fs->super);
	volume->own_inodes[0] = super->s_journal_inum;
	volume->own_inodes[1] = ext2fs_has_feature_quota(fs->super) ? super->s_prj_quota_inum : 0;
	volume->own_inodes[2] = ext2fs_has_feature_orphan_file(fs->super) ? super->s_orphan_file_inum : 0;
	volume->checksum_mask = !volume->format.checksums                             ? 0 :
	                        EXT2_DESC_SIZE(fs->super) >= EXT2_MIN_DESC_SIZE_64BIT ? UINT32_MAX :
	                                                                                UINT16_MAX;
	volume->has_orphans = super->s_last_orphan || ext2fs_has_feature_orphan_present(fs->super);
	volume->superblock = *super;
	/* The log's copy of the superblock may be from before the flag was set. */
	volume->needs_recovery = volume->needs_recovery || ext2fs_has_feature_journal_needs_recovery(fs->super);
	if (!ext2fs_check_if_mounted(volume->path, &mounted))
		volume->is_mounted = mounted & EXT2_MF_MOUNTED;
	volume->is_read_only = volume->is_mounted && mounts_of(volume->path) == MOUNTS_READ_ONLY;
	volume->is_at_rest = !volume->is_mounted && !volume->needs_recovery;
	error = read_groups(fs, volume);
	if (error) {
		free(TAKE(volume->group));
		free(TAKE(volume->suspect));
	}
	return error;
}

static errcode_t read_filesystem(struct volume *volume, struct problem *problem)
{
	ext2_filsys fs;
	errcode_t error = volume_channel_open(
		volume, EXT2_FLAG_SKIP_MMP | EXT2_FLAG_IGNORE_CSUM_ERRORS | EXT2_FLAG_SOFTSUPP_FEATURES, &fs);

	if (error)
		return problem_set(problem, error, volume->path, "cannot open the filesystem");
	error = read_all(fs, volume);
	ext2fs_free(fs);
	return error ? problem_set(problem, error, volume->path, "cannot read the filesystem") : 0;
}

errcode_t volume_open(const char *path, uint64_t offset_bytes, struct volume *volume, struct problem *problem)
{
	*volume = (struct volume){ .descriptor = -1, .path = path, .offset_bytes = offset_bytes };
	SCOPE_CLOSE int descriptor = open(path, O_RDONLY | O_CLOEXEC);
	if (descriptor < 0)
		return problem_set(problem, errno, path, "cannot open");
	volume->descriptor = descriptor;
	errcode_t error = read_filesystem(volume, problem);

	if (error) {
		volume->descriptor = -1;
		return error;
	}
	descriptor = -1;
	return 0;
}

errcode_t volume_overlay(struct volume *volume, struct journal_overlay *overlay, struct problem *problem)
{
	volume->overlay = overlay;
	volume->is_replayed = true;
	free(TAKE(volume->group));
	free(TAKE(volume->suspect));
	fs_zones_free(&volume->zones);
	return read_filesystem(volume, problem);
}
