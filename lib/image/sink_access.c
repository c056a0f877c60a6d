/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image/sink_access.h"

#include <errno.h>

static struct sink_access *access_of(struct block_access *access)
{
	return (struct sink_access *)access;
}

static errcode_t read_block(struct block_access *access, uint64_t block, void *bytes)
{
	return sink_read(access_of(access)->sink, block, 1, bytes);
}

static errcode_t write_block(struct block_access *access, uint64_t block, const void *bytes)
{
	return sink_write(access_of(access)->sink, block, 1, bytes);
}

static uint64_t inode_table(struct block_access *access, uint32_t group)
{
	return access_of(access)->volume->group[group].inode_table;
}

static uint32_t *written_inodes(struct block_access *access, uint32_t group)
{
	return &access_of(access)->written[group];
}

static bool is_metadata(struct block_access *access, uint64_t block, uint64_t count)
{
	const struct fs_zones *zones = &access_of(access)->volume->zones;
	size_t index = fs_zones_search(zones, block);

	return index < zones->count && zones->items[index].start < block + count;
}

static errcode_t alloc_cluster(struct block_access *access, uint64_t goal, uint64_t *block)
{
	struct sink_access *ours = access_of(access);
	uint64_t count = UINT64_C(1) << access->format->cluster_bits;
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

errcode_t sink_access_open(struct sink_access *access, struct sink *sink, const struct volume *volume,
                           struct ext2mb_worker *worker)
{
	const struct geometry *geometry = &volume->geometry;

	*access = (struct sink_access){
		.access = {
			.format = &volume->format,
			.first_block = geometry->first_block,
			.end_block = geometry->end_block,
			.inodes = volume->inodes,
			.inodes_per_group = geometry->inodes_per_group,
			.read = read_block,
			.write = write_block,
			.inode_table = inode_table,
			.written_inodes = written_inodes,
			.is_metadata = is_metadata,
			.alloc = worker ? alloc_cluster : NULL,
			.free = worker ? free_clusters : NULL,
		},
		.sink = sink,
		.volume = volume,
		.worker = worker,
		.written = calloc(geometry->groups, sizeof(*access->written)),
	};
	if (!access->written)
		return ENOMEM;
	for (uint32_t group = 0; group < geometry->groups; group++)
		access->written[group] = volume->group[group].inodes_used;
	return 0;
}

void sink_access_close(struct sink_access *access)
{
	free(TAKE(access->written));
}

void sink_access_quota_inodes(const struct volume *volume, uint32_t quota_inodes[QUOTA_TYPES])
{
	const struct ext2_super_block *super = &volume->superblock;
	bool has_quota = volume->format.quota;

	quota_inodes[QUOTA_OF_USERS] = has_quota ? super->s_usr_quota_inum : 0;
	quota_inodes[QUOTA_OF_GROUPS] = has_quota ? super->s_grp_quota_inum : 0;
	quota_inodes[QUOTA_OF_PROJECTS] = has_quota ? super->s_prj_quota_inum : 0;
}
