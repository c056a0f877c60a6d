/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Uses libext2fs's filesystem: opens, commits and closes it. */
#include "update/target/filesystem.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "filesystem/fs_errors.h"
#include "support/bits.h"

#define ACTION "cannot update"
#define MOST_WITHOUT_JOURNAL 65536u

/* No clock: the filesystem's last time of writing goes on, unless the user has set one. */
int64_t update_filesystem_time(const struct update_options *options, const struct ext2_super_block *super)
{
	uint32_t last = super->s_wtime > super->s_mkfs_time ? super->s_wtime : super->s_mkfs_time;

	if (options->has_epoch && options->epoch > 0)
		return options->epoch;
	return last ? last : 1;
}

static errcode_t open_handle(const struct update_options *options, const char *path, int flags,
                             struct update_filesystem *filesystem)
{
	io_manager manager = options->manager ?
	                             options->manager :
	                             ext2mb_transaction_io_manager(options->makes_new_file ? EXT2MB_NO_JOURNAL : 0);
	char offset[32];

	snprintf(offset, sizeof(offset), "offset=%" PRIu64, options->offset_bytes);
	errcode_t error = FS_ERROR_OF(ext2fs_open2(path, options->offset_bytes ? offset : NULL,
	                                           flags | EXT2_FLAG_RW | EXT2_FLAG_64BITS | EXT2_FLAG_THREADS, 0, 0,
	                                           manager, &filesystem->fs));

	if (error)
		return error;
	filesystem->fs->now = (time_t)update_filesystem_time(options, filesystem->fs->super);
	return 0;
}

uint32_t update_filesystem_deletion_time(ext2_filsys fs)
{
	uint32_t now = (uint32_t)fs->now;

	return now > fs->super->s_inodes_count ? now : fs->super->s_inodes_count;
}

/* They take place after the commit's checkpoint. What cannot be discarded stays as it is. */
static errcode_t discard(void *context, uint64_t start, uint64_t count)
{
	ext2_filsys fs = context;
	errcode_t error = io_channel_discard(fs->io, start, count);

	(void)error;
	return 0;
}

static errcode_t open_allocator(struct update_filesystem *filesystem)
{
	const struct ext2mb_options options = {
		.struct_bytes = sizeof(options),
		.discard = discard,
		.discard_context = filesystem->fs,
	};
	errcode_t error = ext2mb_open(filesystem->fs, &options, &filesystem->mb);

	if (!error)
		error = ext2mb_worker_open(filesystem->mb, &filesystem->worker);
	return error ? error :
	               free_extents_open(&filesystem->free, filesystem->mb, filesystem->worker,
	                                 &filesystem->volume.geometry);
}

static void touch_group(struct update_filesystem *filesystem, uint32_t group)
{
	if (group < filesystem->volume.geometry.groups && !bits_test(filesystem->touched, group)) {
		bits_set(filesystem->touched, group);
		filesystem->touched_groups++;
	}
}

void update_filesystem_touch_blocks(struct update_filesystem *filesystem, uint64_t block, uint64_t count)
{
	const struct geometry *geometry = &filesystem->volume.geometry;
	uint64_t each = (uint64_t)geometry->clusters_per_group << geometry->cluster_bits;
	uint64_t first = (block - geometry->first_block) / each,
		 last = (block + count - 1 - geometry->first_block) / each;

	for (uint64_t group = first; group <= last; group++)
		touch_group(filesystem, (uint32_t)group);
}

void update_filesystem_touch_inode(struct update_filesystem *filesystem, uint32_t ino)
{
	touch_group(filesystem, (ino - 1) / filesystem->volume.geometry.inodes_per_group);
}

static struct update_filesystem *filesystem_of(struct block_access *access)
{
	return (struct update_filesystem *)((char *)access - offsetof(struct update_filesystem, access.access));
}

static errcode_t free_blocks(struct block_access *access, uint64_t block, uint64_t count)
{
	struct update_filesystem *filesystem = filesystem_of(access);

	update_filesystem_touch_blocks(filesystem, block, count);
	return filesystem->free_blocks(access, block, count);
}

/* A block of a quota file, which may be anywhere. */
static errcode_t alloc_cluster(struct block_access *access, uint64_t goal, uint64_t *block)
{
	struct update_filesystem *filesystem = filesystem_of(access);
	struct ext2mb_extent extent;
	errcode_t error =
		update_filesystem_take(filesystem, 0, goal, UINT64_C(1) << access->format->cluster_bits, &extent);

	*block = error ? 0 : extent.start;
	return error;
}

static errcode_t open_access(struct update_filesystem *filesystem)
{
	transaction_sink_init(&filesystem->sink, filesystem->fs);
	const struct fs_access_parts parts = {
		.fs = filesystem->fs,
		.mb = filesystem->mb,
		.worker = filesystem->worker,
		.format = &filesystem->volume.format,
		.geometry = &filesystem->volume.geometry,
		.zones = &filesystem->volume.zones,
		.suspect = filesystem->volume.suspect,
	};
	errcode_t error = fs_access_open(&filesystem->access, &parts);

	if (error)
		return error;
	filesystem->has_access = true;
	filesystem->free_blocks = filesystem->access.access.free;
	filesystem->access.access.free = free_blocks;
	filesystem->access.access.alloc = alloc_cluster;
	fs_access_quota_inodes(filesystem->fs, filesystem->quota_inodes);
	filesystem->release = (struct inode_release){
		.access = &filesystem->access.access,
		.changes = filesystem->volume.format.quota ? &filesystem->quota : NULL,
		.now = update_filesystem_deletion_time(filesystem->fs),
	};
	filesystem->touched = calloc(bits_words(filesystem->volume.geometry.groups), sizeof(*filesystem->touched));
	return filesystem->touched ? 0 : ENOMEM;
}

errcode_t update_filesystem_open(const struct update_options *options, const char *path, int flags,
                                 struct update_filesystem *filesystem, struct problem *problem)
{
	*filesystem = (struct update_filesystem){ .most_logged_blocks = options->most_logged_blocks };
	errcode_t error = open_handle(options, path, flags, filesystem);

	if (!error)
		error = volume_open(path, options->offset_bytes, &filesystem->volume, problem);
	filesystem->is_open = !error;
	if (!error)
		error = open_allocator(filesystem);
	if (!error)
		error = open_access(filesystem);
	return error ? problem_set(problem, error, options->image, ACTION) : 0;
}

static struct ext2mb_transaction_info info_of(const struct update_filesystem *filesystem)
{
	struct ext2mb_transaction_info info = { .struct_bytes = sizeof(info) };

	if (ext2mb_transaction_read_info(filesystem->fs, &info))
		info = (struct ext2mb_transaction_info){ 0 };
	return info;
}

/*
 * Descriptors and the log's own blocks come with bitmaps: one of 64 bytes for each group, so a few blocks. The
 * superblock is one, and orphans take one or two.
 */
uint64_t update_filesystem_log_blocks(const struct update_filesystem *filesystem)
{
	uint64_t bitmaps = 3 * (uint64_t)filesystem->touched_groups;
	uint64_t quota = quota_changes_most_blocks(&filesystem->quota);

	return info_of(filesystem).log_blocks + bitmaps + quota + 6;
}

uint64_t update_filesystem_log_room(const struct update_filesystem *filesystem)
{
	uint64_t room = info_of(filesystem).journal_blocks;

	/* Without a journal any number of blocks may wait; they are in memory. */
	room = room ? room : MOST_WITHOUT_JOURNAL;
	return filesystem->most_logged_blocks && filesystem->most_logged_blocks < room ?
	               filesystem->most_logged_blocks :
	               room;
}

static errcode_t take_at(struct update_filesystem *filesystem, uint64_t goal, uint64_t count,
                         struct ext2mb_extent *extent)
{
	const struct ext2mb_request request = {
		.struct_bytes = sizeof(request),
		.goal = goal,
		.count = count,
		.flags = EXT2MB_ALLOC_GOAL_ONLY | EXT2MB_ALLOC_WHOLE,
	};
	const struct geometry *geometry = &filesystem->volume.geometry;

	if (!goal || goal >= geometry->end_block ||
	    geometry_to_clusters(geometry, count) > geometry->clusters_per_group)
		return EXT2MB_ET_NO_SPACE;
	return ext2mb_alloc(filesystem->worker, &request, extent);
}

errcode_t update_filesystem_take(struct update_filesystem *filesystem, uint64_t goal, uint64_t near, uint64_t count,
                                 struct ext2mb_extent *extent)
{
	errcode_t error = take_at(filesystem, goal, count, extent);

	if (error == EXT2MB_ET_NO_SPACE)
		error = free_extents_take(&filesystem->free, near, count, extent);
	if (!error)
		update_filesystem_touch_blocks(filesystem, extent->start, extent->count);
	return error;
}

errcode_t update_filesystem_take_clusters(struct update_filesystem *filesystem, uint64_t goal, uint64_t near,
                                          uint64_t *blocks, uint32_t count)
{
	uint64_t cluster = UINT64_C(1) << filesystem->volume.format.cluster_bits;
	errcode_t error = 0;

	for (uint32_t i = 0; !error && i < count; i++) {
		struct ext2mb_extent extent;

		error = update_filesystem_take(filesystem, goal, near, cluster, &extent);
		if (error)
			return error;
		blocks[i] = extent.start;
		goal = extent.start + cluster;
	}
	return error;
}

void update_filesystem_note(struct update_filesystem *filesystem, bool has_xattrs, bool has_large_files)
{
	struct ext2_super_block *super = filesystem->fs->super;

	if ((has_xattrs && !ext2fs_has_feature_xattr(super)) ||
	    (has_large_files && !ext2fs_has_feature_large_file(super)))
		ext2fs_mark_super_dirty(filesystem->fs);
	if (has_xattrs)
		ext2fs_set_feature_xattr(super);
	if (has_large_files)
		ext2fs_set_feature_large_file(super);
}

/* Those that have left the superblock's list get their time of deletion here. */
static errcode_t write_orphans(const struct update_filesystem *filesystem)
{
	ext2_filsys fs = filesystem->fs;
	const time_t now = fs->now;

	if (!filesystem->orphans)
		return 0;
	fs->now = (time_t)update_filesystem_deletion_time(fs);
	errcode_t error = ext2mb_orphan_sync(filesystem->orphans);

	fs->now = now;
	return error;
}

static errcode_t write_last(struct update_filesystem *filesystem)
{
	errcode_t error =
		quota_changes_apply(&filesystem->quota, &filesystem->access.access, filesystem->quota_inodes, NULL);

	return error ? error : write_orphans(filesystem);
}

errcode_t update_filesystem_rehearse(struct update_filesystem *filesystem)
{
	return ext2mb_transaction_rehearse(filesystem->fs);
}

errcode_t update_filesystem_count(struct update_filesystem *filesystem, uint64_t *blocks)
{
	errcode_t error = write_last(filesystem);

	*blocks = 0;
	return error ? error : ext2mb_transaction_count(filesystem->fs, blocks);
}

errcode_t update_filesystem_commit(struct update_filesystem *filesystem)
{
	errcode_t error = write_last(filesystem);

	if (!error)
		error = ext2mb_transaction_commit(filesystem->fs);
	if (error)
		return error;
	for (size_t word = 0; word < bits_words(filesystem->volume.geometry.groups); word++)
		filesystem->touched[word] = 0;
	filesystem->touched_groups = 0;
	free_extents_forget(&filesystem->free);
	return 0;
}

errcode_t update_filesystem_close(struct update_filesystem *filesystem, errcode_t error)
{
	errcode_t close_error = 0;

	free_extents_close(&filesystem->free);
	ext2mb_orphan_close(filesystem->orphans);
	free(filesystem->pending);
	if (filesystem->worker)
		ext2mb_worker_close(TAKE(filesystem->worker));
	if (filesystem->mb)
		close_error = ext2mb_close(TAKE(filesystem->mb));
	if (filesystem->has_access)
		fs_access_close(&filesystem->access);
	quota_changes_free(&filesystem->quota);
	if (filesystem->is_open)
		volume_close(&filesystem->volume);
	free(filesystem->touched);
	/* What libext2fs has in memory is stale then. */
	if (filesystem->fs && error) {
		errcode_t mmp_error = ext2fs_mmp_stop(filesystem->fs);

		(void)mmp_error;
		ext2fs_free(filesystem->fs);
	} else if (filesystem->fs) {
		errcode_t fs_error = FS_ERROR_OF(ext2fs_close(filesystem->fs));

		close_error = close_error ? close_error : fs_error;
	}
	*filesystem = (struct update_filesystem){ 0 };
	return close_error;
}
