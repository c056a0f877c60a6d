/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "populate/format/filesystem.h"

#include <endian.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "filesystem/fs_errors.h"
#include "populate/format/likeness.h"
#include "populate/format/mke2fs.h"
#include "support/run/child.h"

/* No other program has the image open, so the block for multiple mount protection stays as mke2fs left it. */
errcode_t filesystem_open_at(const char *path, uint64_t offset_bytes, int flags, ext2_filsys *fs)
{
	return fs_open(path, offset_bytes, flags | EXT2_FLAG_SKIP_MMP, fs);
}

errcode_t filesystem_open_image(const struct image_file *file, const struct workplace *work, ext2_filsys *fs)
{
	errcode_t error = filesystem_open_at(file->path, file->image.offset_bytes, EXT2_FLAG_RW, fs);

	if (!error && work->options->has_epoch)
		(*fs)->now = (time_t)populate_clock(work->options);
	return error;
}

static errcode_t owned_blocks(ext2_filsys fs, ext2_ino_t ino, uint64_t *blocks)
{
	struct ext2_inode inode;
	errcode_t error = ext2fs_read_inode(fs, ino, &inode);

	*blocks = error ? 0 : ext2fs_get_stat_i_blocks(fs, &inode) / (fs->blocksize / 512);
	return error;
}

/* libext2fs reports "not found" even if it ran out of memory: FS_ERROR_OF() tells these apart. */
static errcode_t found_or_not(errcode_t error)
{
	return error == EXT2_ET_FILE_NOT_FOUND ? 0 : error;
}

/* *ino is 0 if there is no lost+found: some of mke2fs's options leave it out. */
static errcode_t find_lost_found(ext2_filsys fs, ext2_ino_t *ino)
{
	*ino = 0;
	return FS_ERROR_OF(
		found_or_not(ext2fs_lookup(fs, EXT2_ROOT_INO, "lost+found", strlen("lost+found"), NULL, ino)));
}

static errcode_t read_room(ext2_filsys fs, struct filesystem_room *room)
{
	const struct ext2_super_block *super = fs->super;
	uint64_t root_blocks;
	ext2_ino_t lost_found;
	errcode_t error = owned_blocks(fs, EXT2_ROOT_INO, &root_blocks);

	*room = (struct filesystem_room){
		.blocks = ext2fs_blocks_count(fs->super),
		.free_blocks = ext2fs_free_blocks_count(fs->super) + root_blocks,
		.free_inodes = super->s_free_inodes_count,
		.reserved_blocks = ext2fs_r_blocks_count(fs->super),
		.blocks_per_group = super->s_blocks_per_group,
		.inodes = super->s_inodes_count,
		.has_mmp = ext2fs_has_feature_mmp(fs->super),
	};
	if (!error)
		error = find_lost_found(fs, &lost_found);
	if (!error && lost_found)
		error = owned_blocks(fs, lost_found, &room->lost_found_blocks);
	if (!error && ext2fs_has_feature_orphan_file(fs->super))
		error = owned_blocks(fs, super->s_orphan_file_inum, &room->orphan_blocks);
	if (!error && super->s_journal_inum)
		error = owned_blocks(fs, super->s_journal_inum, &room->journal_blocks);
	return error ? error : ondisk_format_read(fs->super, &room->format);
}

errcode_t filesystem_look(const char *path, uint64_t offset_bytes, const char *image_path, struct filesystem_room *room,
                          struct problem *problem)
{
	ext2_filsys fs;
	errcode_t error = filesystem_open_at(path, offset_bytes, 0, &fs);

	if (error)
		return problem_set(problem, error, image_path, "cannot open the new filesystem");
	error = read_room(fs, room);
	ext2fs_free(fs);
	if (error)
		return problem_set(problem, error, image_path, "cannot use the new filesystem");
	return 0;
}

errcode_t filesystem_make_like(const char *path, uint64_t offset_bytes, const struct likeness *like,
                               const struct populate_options *options, struct problem *problem)
{
	ext2_filsys fs;
	errcode_t error = filesystem_open_at(path, offset_bytes, EXT2_FLAG_RW, &fs);

	if (error)
		return problem_set(problem, error, options->image, "cannot open the new filesystem");
	likeness_apply(like, options, fs->super);
	if (options->has_epoch)
		fs->now = (time_t)populate_clock(options);
	fs->flags &= ~EXT2_FLAG_MASTER_SB_ONLY;
	ext2fs_mark_super_dirty(fs);
	error = ext2fs_flush2(fs, EXT2_FLAG_FLUSH_NO_SYNC);
	ext2fs_free(fs);
	return error ? problem_set(problem, error, options->image, "cannot write the new filesystem's superblock") : 0;
}

static void find_quota_inodes(const struct ext2_super_block *super, uint32_t inodes[QUOTA_TYPES])
{
	bool has_quota = super->s_feature_ro_compat & EXT4_FEATURE_RO_COMPAT_QUOTA;

	inodes[QUOTA_OF_USERS] = has_quota ? super->s_usr_quota_inum : 0;
	inodes[QUOTA_OF_GROUPS] = has_quota ? super->s_grp_quota_inum : 0;
	inodes[QUOTA_OF_PROJECTS] = has_quota ? super->s_prj_quota_inum : 0;
}

static errcode_t read_lost_found(struct filesystem *filesystem)
{
	struct ext2_inode_large inode = { 0 };
	struct kept_directory *kept = &filesystem->lost_found;
	errcode_t error = find_lost_found(filesystem->fs, &kept->ino);

	if (error || !kept->ino)
		return error;
	error = ext2fs_read_inode_full(filesystem->fs, kept->ino, (struct ext2_inode *)&inode, sizeof(inode));
	kept->owners[QUOTA_OF_USERS] = inode_uid(inode);
	kept->owners[QUOTA_OF_GROUPS] = inode_gid(inode);
	kept->owners[QUOTA_OF_PROJECTS] = inode.i_projid;
	return error ? error : owned_blocks(filesystem->fs, kept->ino, &kept->blocks);
}

static errcode_t read_geometry(struct filesystem *filesystem)
{
	ext2_filsys fs = filesystem->fs;
	struct image_geometry *geometry = &filesystem->geometry;

	geometry->group_count = fs->group_desc_count;
	geometry->inodes_per_group = fs->super->s_inodes_per_group;
	geometry->blocks = ext2fs_blocks_count(fs->super);
	geometry->inode_tables = calloc(geometry->group_count, sizeof(*geometry->inode_tables));
	geometry->inodes_uninit = calloc(geometry->group_count, sizeof(*geometry->inodes_uninit));
	if (!geometry->inode_tables || !geometry->inodes_uninit)
		return ENOMEM;
	for (uint32_t group = 0; group < geometry->group_count; group++) {
		geometry->inode_tables[group] = ext2fs_inode_table_loc(fs, group);
		geometry->inodes_uninit[group] =
			ext2fs_has_group_desc_csum(fs) && ext2fs_bg_flags_test(fs, group, EXT2_BG_INODE_UNINIT);
	}
	find_quota_inodes(fs->super, filesystem->quota_inodes);
	filesystem->has_mmp = ext2fs_has_feature_mmp(fs->super);
	return 0;
}

/* Frees the blocks of a directory or quota file that mke2fs made. */
struct freeing {
	struct ext2mb_worker *worker;
	uint64_t cluster; /* first block of the last cluster: each cluster is freed whole, once */
	errcode_t error;
};

static int free_block(ext2_filsys fs, blk64_t *block, e2_blkcnt_t logical, blk64_t reference, int offset, void *context)
{
	struct freeing *freeing = context;
	uint64_t cluster = *block & ~(uint64_t)(EXT2FS_CLUSTER_RATIO(fs) - 1);

	(void)logical;
	(void)reference;
	(void)offset;
	if (cluster == freeing->cluster)
		return 0;
	freeing->cluster = cluster;
	freeing->error = ext2mb_free(freeing->worker, cluster, EXT2FS_CLUSTER_RATIO(fs));
	return freeing->error ? BLOCK_ABORT : 0;
}

static errcode_t free_blocks_of(const struct filesystem *filesystem, ext2_ino_t ino)
{
	struct freeing freeing = { .worker = filesystem->workers[0] };
	errcode_t error = FS_ERROR_OF(
		ext2fs_block_iterate3(filesystem->fs, ino, BLOCK_FLAG_READ_ONLY, NULL, free_block, &freeing));

	return freeing.error ? freeing.error : error;
}

static errcode_t free_replaced(struct filesystem *filesystem, const struct scanned *source)
{
	errcode_t error = free_blocks_of(filesystem, EXT2_ROOT_INO);

	for (int type = 0; !error && type < QUOTA_TYPES; type++)
		if (filesystem->quota_inodes[type])
			error = free_blocks_of(filesystem, filesystem->quota_inodes[type]);
	if (!error && filesystem->lost_found.ino && source->has_lost_found) {
		error = free_blocks_of(filesystem, filesystem->lost_found.ino);
		if (!error)
			error = ext2mb_inode_free(filesystem->workers[0], filesystem->lost_found.ino, 1);
		filesystem->lost_found = (struct kept_directory){ 0 };
	}
	return error ? error : ext2mb_commit(filesystem->mb);
}

/*
 * If a block reserved for descriptors is bad, e2fsck finds errors in the filesystem that mke2fs (1.47.0) leaves,
 * whatever fills it.
 */
static errcode_t new_filesystem_problem(const struct workplace *work, errcode_t error)
{
	if (error == EXT2MB_ET_CORRUPT_GROUP)
		return problem_set_reason(work->problem, error, work->options->image, "cannot use the new filesystem",
		                          "mke2fs has left it damaged, as it does if one of the blocks reserved for "
		                          "descriptors is bad; -O ^resize_inode reserves none");
	return workplace_result(work, error, "cannot use the new filesystem");
}

/* If the option has no value, mke2fs chooses the owner. */
static errcode_t read_root_owner(const struct filesystem *filesystem, const struct scanned *source,
                                 const struct workplace *work)
{
	const char *extended = work->options->extended;
	struct tree_node *root = &source->tree->nodes[TREE_ROOT];
	struct ext2_inode inode;
	errcode_t error = ext2fs_read_inode(filesystem->fs, EXT2_ROOT_INO, &inode);

	if (error)
		return error;
	if (extended_has(extended, "root_owner")) {
		root->uid = inode_uid(inode);
		root->gid = inode_gid(inode);
	}
	return 0;
}

errcode_t filesystem_open(const struct image_file *file, const struct workplace *work, struct filesystem *filesystem)
{
	unsigned int workers = filesystem->worker_count = pool_workers(work->pool);
	errcode_t error = filesystem_open_image(file, work, &filesystem->fs);

	if (error)
		return problem_set(work->problem, error, work->options->image, "cannot open the new filesystem");
	error = ext2mb_open(filesystem->fs, NULL, &filesystem->mb);
	filesystem->workers = error ? NULL : calloc(workers, sizeof(struct ext2mb_worker *));
	if (!error && !filesystem->workers)
		error = ENOMEM;
	for (unsigned int worker = 0; !error && worker < workers; worker++)
		error = ext2mb_worker_open(filesystem->mb, &filesystem->workers[worker]);
	if (!error)
		error = read_geometry(filesystem);
	if (!error)
		error = read_lost_found(filesystem);
	return new_filesystem_problem(work, error);
}

errcode_t filesystem_empty(struct filesystem *filesystem, const struct scanned *source, const struct workplace *work)
{
	errcode_t error = read_root_owner(filesystem, source, work);

	if (!error)
		error = free_replaced(filesystem, source);
	return new_filesystem_problem(work, error);
}

static void close_allocator(struct filesystem *filesystem)
{
	for (unsigned int worker = 0; filesystem->workers && worker < filesystem->worker_count; worker++)
		if (filesystem->workers[worker])
			ext2mb_worker_close(filesystem->workers[worker]);
	free(TAKE(filesystem->workers));
	if (filesystem->mb)
		ext2mb_close(TAKE(filesystem->mb));
	free(TAKE(filesystem->geometry.inode_tables));
	free(TAKE(filesystem->geometry.inodes_uninit));
}

/*
 * Sets the features as mke2fs does for -O encrypt. With stable_inodes no program may renumber inodes, or change the
 * UUID. Copies of the superblock get the features as well, since e2fsck compares these.
 */
static void set_encryption(ext2_filsys fs, const struct scanned *source)
{
	struct ext2_super_block *super = fs->super;
	const struct tree *tree = source->tree;
	const struct tree_node *first = &tree->nodes[source->encrypted.first_node];

	if (!source->encrypted.first_node)
		return;
	ext2fs_set_feature_encrypt(super);
	super->s_encrypt_algos[0] = EXT4_ENCRYPTION_MODE_AES_256_XTS;
	super->s_encrypt_algos[1] = EXT4_ENCRYPTION_MODE_AES_256_CTS;
	memcpy(super->s_encrypt_pw_salt, tree->origins[first->origin].encryption->salt,
	       sizeof(super->s_encrypt_pw_salt));
	if (source->encrypted.first_keeper)
		ext2fs_set_feature_stable_inodes(super);
	fs->flags &= ~EXT2_FLAG_MASTER_SB_ONLY;
}

/* Sets the features that the contents need, as the kernel does when they are first used. */
static void set_features(const struct filesystem *filesystem, const struct scanned *source)
{
	const struct tree *tree = source->tree;
	struct ext2_super_block *super = filesystem->fs->super;

	if (tree->xattr_set_count > 1)
		ext2fs_set_feature_xattr(super);
	for (uint32_t node = 0; !ext2fs_has_feature_large_file(super) && node < tree->node_count; node++)
		if (S_ISREG(tree->nodes[node].mode) && tree->nodes[node].size_bytes > INT32_MAX)
			ext2fs_set_feature_large_file(super);
	set_encryption(filesystem->fs, source);
}

errcode_t filesystem_finish(struct filesystem *filesystem, const struct scanned *source, bool in_place,
                            const struct workplace *work)
{
	set_features(filesystem, source);
	errcode_t error = ext2mb_sync(filesystem->mb);

	if (!error) {
		ext2fs_mark_super_dirty(filesystem->fs);
		/*
		 * libext2fs writes only the parts that differ from those it once read. On a device these have been
		 * overwritten.
		 */
		ext2fs_free_mem(&filesystem->fs->orig_super);
		/*
		 * A device gets its superblock when all other blocks are on it. For a file output_finish() waits, once.
		 */
		error = ext2fs_flush2(filesystem->fs, in_place ? 0 : EXT2_FLAG_FLUSH_NO_SYNC);
	}
	return workplace_result(work, error, "cannot write the filesystem's state");
}

errcode_t filesystem_run(const struct image_file *file, const struct workplace *work, const char *const *arguments,
                         const char *action)
{
	const struct child child = {
		.arguments = arguments,
		.path = file->path,
		.image_path = work->options->image,
		.has_epoch = work->options->has_epoch,
		.epoch = populate_clock(work->options),
	};

	return child_run(&child, action, work->problem);
}

static errcode_t rewrite_mmp(ext2_filsys fs, const struct populate_options *options)
{
	uint64_t block = fs->super->s_mmp_block;
	struct mmp_struct mmp;

	errcode_t error = io_channel_read_blk64(fs->io, block, -(int)sizeof(mmp), &mmp);
	if (error)
		return error;
	mmp.mmp_seq = htole32(EXT4_MMP_SEQ_CLEAN);
	if (options->has_epoch)
		mmp.mmp_time = htole64((uint64_t)options->epoch);
	memset(mmp.mmp_nodename, 0, sizeof(mmp.mmp_nodename));
	memset(mmp.mmp_bdevname, 0, sizeof(mmp.mmp_bdevname));
	error = ext2fs_mmp_csum_set(fs, &mmp);
	if (error)
		return error;
	mmp.mmp_checksum = htole32(mmp.mmp_checksum);
	error = io_channel_write_blk64(fs->io, block, -(int)sizeof(mmp), &mmp);
	return error ? error : io_channel_flush(fs->io);
}

errcode_t filesystem_reset_mmp(const struct filesystem *filesystem, const struct image_file *file,
                               const struct workplace *work)
{
	ext2_filsys fs;

	if (!filesystem->has_mmp)
		return 0;
	errcode_t error = filesystem_open_image(file, work, &fs);
	if (!error) {
		error = rewrite_mmp(fs, work->options);
		ext2fs_free(fs);
	}
	return workplace_result(work, error, "cannot reset its MMP block");
}

void filesystem_close(struct filesystem *filesystem)
{
	close_allocator(filesystem);
	if (filesystem->fs)
		ext2fs_free(TAKE(filesystem->fs));
}

/* Mounts and contents set these by themselves. */
#define PASSING_INCOMPAT EXT3_FEATURE_INCOMPAT_RECOVER
#define PASSING_RO_COMPAT (EXT2_FEATURE_RO_COMPAT_LARGE_FILE | EXT4_FEATURE_RO_COMPAT_ORPHAN_PRESENT)

bool filesystem_has_features_of(const struct filesystem *filesystem, const struct ext2_super_block *other)
{
	const struct ext2_super_block *super = filesystem->fs->super;

	return other->s_feature_compat == super->s_feature_compat &&
	       !((other->s_feature_incompat ^ super->s_feature_incompat) & ~PASSING_INCOMPAT) &&
	       !((other->s_feature_ro_compat ^ super->s_feature_ro_compat) & ~PASSING_RO_COMPAT);
}
