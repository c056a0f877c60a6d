/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Uses libext2fs's filesystem; see the header. */
#include "orphan/fs_access.h"

#include <errno.h>

#include "allocator/fs/fs_state.h"
#include "allocator/group/group.h"
#include "support/bits.h"

static struct fs_access *access_of(struct block_access *access)
{
	return (struct fs_access *)access;
}

static errcode_t read_block(struct block_access *access, uint64_t block, void *bytes)
{
	return io_channel_read_blk64(access_of(access)->fs->io, block, 1, bytes);
}

/* libext2fs keeps inodes, which would be written back as they were. */
static errcode_t write_block(struct block_access *access, uint64_t block, const void *bytes)
{
	ext2_filsys fs = access_of(access)->fs;
	errcode_t error = io_channel_write_blk64(fs->io, block, 1, bytes);

	return error ? error : ext2fs_flush_icache(fs);
}

static uint64_t inode_table(struct block_access *access, uint32_t group)
{
	struct fs_access *ours = access_of(access);

	return bits_test(ours->mb->fs_state->suspect, group) ? 0 : ext2fs_inode_table_loc(ours->fs, group);
}

static uint32_t *written_inodes(struct block_access *access, uint32_t group)
{
	return &access_of(access)->written[group];
}

static bool is_metadata(struct block_access *access, uint64_t block, uint64_t count)
{
	return fs_state_is_metadata(access_of(access)->mb->fs_state, block, count);
}

static errcode_t alloc_cluster(struct block_access *access, uint64_t goal, uint64_t *block)
{
	struct fs_access *ours = access_of(access);
	uint64_t count = UINT64_C(1) << ours->format.cluster_bits;
	const struct ext2mb_request request = {
		.struct_bytes = sizeof(request),
		.goal = goal & ~(count - 1),
		.count = count,
		.flags = EXT2MB_ALLOC_WHOLE,
	};
	struct ext2mb_extent extent;
	errcode_t error = ext2mb_alloc(ours->worker, &request, &extent);

	*block = error ? 0 : extent.start;
	return error;
}

static errcode_t free_clusters(struct block_access *access, uint64_t block, uint64_t count)
{
	return ext2mb_free(access_of(access)->worker, block, count);
}

/* As the allocator has it now: an inode that has been allocated since the descriptors were written counts as written.
 */
static uint32_t count_written(const struct fs_access *access, uint32_t group)
{
	const struct ext2mb *mb = access->mb;
	uint32_t inodes = mb->geometry.inodes_per_group, unused = mb->groups[group].inodes.unused_inodes;
	struct group_counts counts;

	if (!fs_state_counts(mb->fs_state, group, &counts) && counts.unused_inodes < unused)
		unused = counts.unused_inodes;
	return unused < inodes ? inodes - unused : 0;
}

errcode_t fs_access_open(struct fs_access *access, struct ext2mb *mb, struct ext2mb_worker *worker)
{
	const struct geometry *geometry = &mb->geometry;
	ext2_filsys fs = mb->fs_state->fs;

	*access = (struct fs_access){
		.access = {
			.format = &access->format,
			.first_block = geometry->first_block,
			.end_block = geometry->end_block,
			.inodes = fs->super->s_inodes_count,
			.inodes_per_group = geometry->inodes_per_group,
			.read = read_block,
			.write = write_block,
			.inode_table = inode_table,
			.written_inodes = written_inodes,
			.is_metadata = is_metadata,
			.alloc = alloc_cluster,
			.free = free_clusters,
		},
		.fs = fs,
		.mb = mb,
		.worker = worker,
	};
	if (ondisk_format_read(fs->super, &access->format))
		return EXT2MB_ET_BAD_GEOMETRY;
	access->written = calloc(geometry->groups, sizeof(*access->written));
	if (!access->written)
		return ENOMEM;
	for (uint32_t group = 0; group < geometry->groups; group++)
		access->written[group] = count_written(access, group);
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
