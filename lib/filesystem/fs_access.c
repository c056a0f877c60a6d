/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Uses libext2fs's filesystem; see the header. */
#include "filesystem/fs_access.h"

#include <errno.h>

#include "support/bits.h"

static const struct fs_access_parts *parts_of(struct block_access *access)
{
	return &((struct fs_access *)access)->parts;
}

static errcode_t read_block(struct block_access *access, uint64_t block, void *bytes)
{
	return io_channel_read_blk64(parts_of(access)->fs->io, block, 1, bytes);
}

/* libext2fs keeps inodes, which would be written back as they were. */
static errcode_t write_block(struct block_access *access, uint64_t block, const void *bytes)
{
	ext2_filsys fs = parts_of(access)->fs;
	errcode_t error = io_channel_write_blk64(fs->io, block, 1, bytes);

	return error ? error : ext2fs_flush_icache(fs);
}

static uint64_t inode_table(struct block_access *access, uint32_t group)
{
	const struct fs_access_parts *parts = parts_of(access);

	return bits_test(parts->suspect, group) ? 0 : ext2fs_inode_table_loc(parts->fs, group);
}

static uint32_t *written_inodes(struct block_access *access, uint32_t group)
{
	return &((struct fs_access *)access)->written[group];
}

static bool is_metadata(struct block_access *access, uint64_t block, uint64_t count)
{
	return fs_zones_overlap(parts_of(access)->zones, block, count);
}

static errcode_t alloc_cluster(struct block_access *access, uint64_t goal, uint64_t *block)
{
	uint64_t count = UINT64_C(1) << access->format->cluster_bits;
	const struct ext2mb_request request = {
		.struct_bytes = sizeof(request),
		.goal = goal & ~(count - 1),
		.count = count,
		.flags = EXT2MB_ALLOC_WHOLE,
	};
	struct ext2mb_extent extent;
	errcode_t error = ext2mb_alloc(parts_of(access)->worker, &request, &extent);

	*block = error ? 0 : extent.start;
	return error;
}

static errcode_t free_clusters(struct block_access *access, uint64_t block, uint64_t count)
{
	return ext2mb_free(parts_of(access)->worker, block, count);
}

static errcode_t query_inode(struct block_access *access, uint32_t ino, bool *is_in_use)
{
	int in_use = 0;
	errcode_t error = ext2mb_query_inode(parts_of(access)->mb, ino, &in_use);

	*is_in_use = in_use;
	return error;
}

static errcode_t free_inode(struct block_access *access, uint32_t ino, bool is_directory)
{
	return ext2mb_inode_free(parts_of(access)->worker, ino, is_directory);
}

static uint32_t count_written(const struct fs_access_parts *parts, uint32_t group)
{
	uint32_t inodes = parts->geometry->inodes_per_group;

	if (!ext2fs_has_group_desc_csum(parts->fs))
		return inodes;
	if (ext2fs_bg_flags_test(parts->fs, group, EXT2_BG_INODE_UNINIT))
		return 0;
	uint32_t unused = ext2fs_bg_itable_unused(parts->fs, group);

	return unused <= inodes ? inodes - unused : inodes;
}

errcode_t fs_access_open(struct fs_access *access, const struct fs_access_parts *parts)
{
	const struct geometry *geometry = parts->geometry;

	*access = (struct fs_access){
		.access = {
			.format = parts->format,
			.first_block = geometry->first_block,
			.end_block = geometry->end_block,
			.blocks_per_group = geometry_to_blocks(geometry, geometry->clusters_per_group),
			.inodes = parts->fs->super->s_inodes_count,
			.inodes_per_group = geometry->inodes_per_group,
			.read = read_block,
			.write = write_block,
			.inode_table = inode_table,
			.written_inodes = written_inodes,
			.is_metadata = is_metadata,
			.alloc = alloc_cluster,
			.free = free_clusters,
			.query_inode = query_inode,
			.free_inode = free_inode,
		},
		.parts = *parts,
		.written = calloc(geometry->groups, sizeof(*access->written)),
	};
	if (!access->written)
		return ENOMEM;
	for (uint32_t group = 0; group < geometry->groups; group++)
		access->written[group] = count_written(parts, group);
	return 0;
}

void fs_access_close(struct fs_access *access)
{
	free(TAKE(access->written));
}

void fs_access_quota_inodes(ext2_filsys fs, uint32_t quota_inodes[QUOTA_TYPES])
{
	const struct ext2_super_block *super = fs->super;
	bool has_quota = ext2fs_has_feature_quota(fs->super);

	quota_inodes[QUOTA_OF_USERS] = has_quota ? super->s_usr_quota_inum : 0;
	quota_inodes[QUOTA_OF_GROUPS] = has_quota ? super->s_grp_quota_inum : 0;
	quota_inodes[QUOTA_OF_PROJECTS] = has_quota ? super->s_prj_quota_inum : 0;
}
