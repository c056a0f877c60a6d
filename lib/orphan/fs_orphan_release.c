/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Uses libext2fs's filesystem; see the header. */
#include "orphan/fs_orphan_release.h"

#include <errno.h>
#include <string.h>

#include "ext2fs/fs_errors.h"
#include "orphan/fs_orphan.h"
#include "allocator/fs/fs_state.h"
#include "allocator/group/inode_group.h"
#include "support/vector.h"

/* Collects whole clusters. */
static void collect_range(ext2_filsys copy, blk64_t block, blk_t count, int in_use)
{
	struct orphan_release *release = copy->priv_data;
	uint64_t in_cluster = (UINT64_C(1) << copy->cluster_ratio_bits) - 1;
	uint64_t start = block & ~in_cluster;
	uint64_t end = (block + count + in_cluster) & ~in_cluster;
	size_t last = release->freed_count;

	if (in_use > 0 || release->freed_error)
		return;
	if (last && release->freed[last - 1].start + release->freed[last - 1].count == start) {
		release->freed[last - 1].count += end - start;
		return;
	}
	release->freed_error =
		vector_reserve(&release->freed, &release->freed_capacity, last + 1, sizeof(*release->freed));
	if (!release->freed_error)
		release->freed[release->freed_count++] = (struct ext2mb_extent){ start, end - start };
}

static void collect_block(ext2_filsys copy, blk64_t block, int in_use)
{
	collect_range(copy, block, 1, in_use);
}

static errcode_t copy_handle(struct orphan_release *release)
{
	errcode_t error = ext2fs_dup_handle(release->fs, &release->copy);

	if (error)
		return error;
	ext2fs_free_block_bitmap(release->copy->block_map);
	release->copy->block_map = NULL;
	error = ext2fs_allocate_block_bitmap(release->copy, "to be freed", &release->copy->block_map);
	if (error) {
		ext2fs_free(release->copy);
		return error;
	}
	release->copy->priv_data = release;
	ext2fs_set_block_alloc_stats_callback(release->copy, collect_block, NULL);
	ext2fs_set_block_alloc_stats_range_callback(release->copy, collect_range, NULL);
	return 0;
}

errcode_t orphan_release_begin(struct orphan_release *release, struct ext2mb *mb)
{
	ext2_filsys fs = mb->fs_state->fs;

	*release = (struct orphan_release){ .fs = fs, .mb = mb };
	if (!(fs->flags & EXT2_FLAG_RW))
		return EXT2_ET_RO_FILSYS;
	if (ext2fs_has_feature_quota(fs->super) || ext2fs_has_feature_project(fs->super))
		return EXT2MB_ET_ORPHAN_UNSUPPORTED;
	errcode_t error = ext2mb_worker_open(mb, &release->worker);
	if (error)
		return error;
	error = copy_handle(release);
	if (error)
		ext2mb_worker_close(release->worker);
	return error;
}

void orphan_release_end(struct orphan_release *release)
{
	/* libext2fs 1.47 shares its inode cache among copies of a handle, but does not promise to. */
	ext2fs_flush_icache(release->fs);
	ext2fs_free(release->copy);
	ext2mb_worker_close(release->worker);
	free(release->freed);
}

static errcode_t check_in_use(struct ext2mb *mb, ext2_ino_t ino)
{
	uint32_t group, index;
	errcode_t error = inode_group_enter(mb, ino, &group, &index);

	if (!error)
		lock_release(&mb->groups[group].inodes.lock);
	return error == EXT2MB_ET_BAD_RANGE || error == EXT2MB_ET_DOUBLE_FREE ? EXT2MB_ET_ORPHAN_INODE : error;
}

static bool can_be_its_own(const struct orphan_release *release, uint64_t block)
{
	const struct geometry *geometry = &release->mb->geometry;

	return block >= geometry->first_block && block < geometry->end_block &&
	       !fs_state_is_metadata(release->mb->fs_state, block, 1);
}

static int check_block(ext2_filsys copy, blk64_t *block, e2_blkcnt_t logical, blk64_t reference, int offset,
                       void *context)
{
	struct orphan_release *release = context;

	(void)copy, (void)logical, (void)reference, (void)offset;
	/* A file whose indirect blocks point to themselves looks larger than the filesystem. */
	if (can_be_its_own(release, *block) && ++release->seen_blocks <= release->mb->geometry.end_block)
		return 0;
	release->freed_error = EXT2MB_ET_ORPHAN_INODE;
	return BLOCK_ABORT;
}

/* Runs before anything is changed, because libext2fs prints a message for each block out of range. */
static errcode_t check_blocks(struct orphan_release *release, ext2_ino_t ino, struct ext2_inode *inode)
{
	uint64_t xattr_block = ext2fs_file_acl_block(release->copy, inode);

	if (xattr_block && !can_be_its_own(release, xattr_block))
		return EXT2MB_ET_ORPHAN_INODE;
	if (!ext2fs_inode_has_valid_blocks2(release->copy, inode))
		return 0;
	release->seen_blocks = 0;
	release->freed_error = 0;
	errcode_t error = FS_ERROR_OF(
		ext2fs_block_iterate3(release->copy, ino, BLOCK_FLAG_READ_ONLY, NULL, check_block, release));
	return release->freed_error ? release->freed_error : error;
}

/*
 * Refuses xattrs with values in other inodes, which would have to be released, too. libext2fs returns the magic
 * number before the xattrs in the inode in the machine's byte order.
 */
static errcode_t check_xattrs(struct orphan_release *release, ext2_ino_t ino)
{
	size_t inode_bytes = EXT2_INODE_SIZE(release->copy->super);
	uint32_t magic = 0;

	if (!ext2fs_has_feature_ea_inode(release->copy->super))
		return 0;
	SCOPE_FREE uint8_t *bytes = calloc(1, inode_bytes + sizeof(struct ext2_inode_large));
	if (!bytes)
		return ENOMEM;
	struct ext2_inode_large *inode = (struct ext2_inode_large *)bytes;
	errcode_t error = ext2fs_read_inode_full(release->copy, ino, (struct ext2_inode *)inode, (int)inode_bytes);
	if (error)
		return error;
	if (inode_bytes > EXT2_GOOD_OLD_INODE_SIZE &&
	    EXT2_GOOD_OLD_INODE_SIZE + inode->i_extra_isize + sizeof(magic) <= inode_bytes)
		memcpy(&magic, bytes + EXT2_GOOD_OLD_INODE_SIZE + inode->i_extra_isize, sizeof(magic));
	if (ext2fs_file_acl_block(release->copy, (struct ext2_inode *)inode) || magic == EXT2_EXT_ATTR_MAGIC)
		return EXT2MB_ET_ORPHAN_UNSUPPORTED;
	return 0;
}

/* Zeros the rest of the last block, as the kernel does, so that old data does not reappear when the file grows. */
static errcode_t clear_last_block(struct orphan_release *release, ext2_ino_t ino, struct ext2_inode *inode)
{
	ext2_filsys fs = release->copy;
	uint32_t used_bytes = (uint32_t)(EXT2_I_SIZE(inode) % fs->blocksize);
	blk64_t physical = 0;
	int flags = 0;

	/* An encrypted block cannot be zeroed without its key. */
	if (!used_bytes || !LINUX_S_ISREG(inode->i_mode) || inode->i_flags & EXT4_ENCRYPT_FL)
		return 0;
	errcode_t error = FS_ERROR_OF(
		ext2fs_bmap2(fs, ino, inode, NULL, 0, EXT2_I_SIZE(inode) / fs->blocksize, &flags, &physical));
	if (error || !physical || flags & BMAP_RET_UNINIT)
		return error;
	SCOPE_FREE uint8_t *bytes = malloc(fs->blocksize);
	if (!bytes)
		return ENOMEM;
	error = io_channel_read_blk64(fs->io, physical, 1, bytes);
	if (error)
		return error;
	memset(bytes + used_bytes, 0, fs->blocksize - used_bytes);
	return io_channel_write_blk64(fs->io, physical, 1, bytes);
}

static errcode_t truncate_inode(struct orphan_release *release, ext2_ino_t ino, struct ext2_inode *inode)
{
	ext2_filsys fs = release->copy;
	uint64_t first_block = inode->i_links_count ? (EXT2_I_SIZE(inode) + fs->blocksize - 1) / fs->blocksize : 0;

	if (!ext2fs_inode_has_valid_blocks2(fs, inode))
		return 0;
	errcode_t error = FS_ERROR_OF(ext2fs_punch(fs, ino, NULL, NULL, first_block, ~UINT64_C(0)));
	if (error)
		return error;
	return inode->i_links_count ? clear_last_block(release, ino, inode) : 0;
}

/* Writes the inode as deleted, without blocks and xattrs. */
static errcode_t delete_inode(struct orphan_release *release, ext2_ino_t ino)
{
	ext2_filsys fs = release->copy;
	struct ext2_inode_large inode;
	errcode_t error = ext2fs_read_inode_full(fs, ino, (struct ext2_inode *)&inode, sizeof(inode));

	if (error)
		return error;
	if (ext2fs_file_acl_block(fs, (struct ext2_inode *)&inode)) {
		error = ext2fs_free_ext_attr(fs, ino, &inode);
		if (error)
			return error;
	}
	inode.i_dtime = fs_orphan_now(fs);
	error = ext2fs_inode_size_set(fs, (struct ext2_inode *)&inode, 0);
	if (error)
		return error;
	return ext2fs_write_inode_full(fs, ino, (struct ext2_inode *)&inode, sizeof(inode));
}

static errcode_t give_back(struct orphan_release *release)
{
	if (release->freed_error)
		return release->freed_error;
	for (size_t index = 0; index < release->freed_count; index++) {
		const struct ext2mb_extent *run = &release->freed[index];
		errcode_t error = ext2mb_free(release->worker, run->start, run->count);

		if (error)
			return error;
		release->counts.blocks += run->count;
	}
	return 0;
}

errcode_t orphan_release_inode(struct orphan_release *release, ext2_ino_t ino)
{
	struct ext2_inode inode;
	errcode_t error = check_in_use(release->mb, ino);

	if (!error)
		error = ext2fs_read_inode(release->copy, ino, &inode);
	if (!error)
		error = check_blocks(release, ino, &inode);
	if (!error && !inode.i_links_count)
		error = check_xattrs(release, ino);
	if (error)
		return error;

	release->freed_count = 0;
	error = truncate_inode(release, ino, &inode);
	if (!error && !inode.i_links_count)
		error = delete_inode(release, ino);
	if (!error)
		error = give_back(release);
	if (error)
		return error;
	if (inode.i_links_count) {
		release->counts.truncated++;
		return 0;
	}
	release->counts.deleted++;
	return ext2mb_inode_free(release->worker, ino, LINUX_S_ISDIR(inode.i_mode));
}
