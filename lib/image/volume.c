/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image/volume.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "allocator/core/bits.h"
#include "ext2fs/fs_errors.h"
#include "support/crc32c.h"
#include "support/io/whole_io.h"
#include "support/seconds.h"

static errcode_t read_geometry(ext2_filsys fs, struct volume *volume)
{
	const struct ext2_super_block *super = fs->super;
	struct geometry *geometry = &volume->geometry;
	errcode_t error = ondisk_format_read(super, &volume->format);

	if (error)
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

	/* A last cluster that is cut off may be all that its group has, which then is none, nor are the blocks. */
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
	/* Of a filesystem that is in use they differ now and then: what else it says is as good as ever. */
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
	SCOPE_FREE uint64_t *suspect = calloc(bits_words(groups), sizeof(*suspect));

	volume->group = calloc(groups, sizeof(*volume->group));
	if (!volume->group || !suspect)
		return ENOMEM;
	for (uint32_t number = 0; number < groups; number++)
		read_group(fs, volume, number, &volume->group[number]);
	return fs_zones_find(fs, &volume->geometry, &volume->zones, suspect);
}

/* Where the device ends, so that what a hostile superblock claims beyond it costs no time. */
static void find_end(struct volume *volume, int descriptor)
{
	off_t end = lseek(descriptor, 0, SEEK_END);
	uint64_t bytes = end > 0 && (uint64_t)end > volume->offset_bytes ? (uint64_t)end - volume->offset_bytes : 0;
	uint64_t blocks = bytes >> volume->format.block_bits;

	volume->readable_end = blocks < volume->geometry.end_block ? blocks : volume->geometry.end_block;
}

static errcode_t read_all(ext2_filsys fs, int descriptor, struct volume *volume)
{
	const struct ext2_super_block *super = fs->super;
	int mounted = 0;
	errcode_t error = read_geometry(fs, volume);

	if (error)
		return error;
	find_end(volume, descriptor);
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
	volume->needs_recovery = ext2fs_has_feature_journal_needs_recovery(fs->super);
	if (!ext2fs_check_if_mounted(volume->path, &mounted))
		volume->is_mounted = mounted & EXT2_MF_MOUNTED;
	volume->is_at_rest = !volume->is_mounted && !volume->needs_recovery;
	error = read_groups(fs, volume);
	if (error)
		free(volume->group);
	return error;
}

errcode_t volume_open(const char *path, uint64_t offset_bytes, struct volume *volume, struct problem *problem)
{
	ext2_filsys fs;

	*volume = (struct volume){ .descriptor = -1, .path = path, .offset_bytes = offset_bytes };
	SCOPE_CLOSE int descriptor = open(path, O_RDONLY | O_CLOEXEC);
	if (descriptor < 0)
		return problem_set(problem, errno, path, "cannot open");
	errcode_t error = fs_open(path, offset_bytes,
	                          EXT2_FLAG_SKIP_MMP | EXT2_FLAG_IGNORE_CSUM_ERRORS | EXT2_FLAG_SOFTSUPP_FEATURES, &fs);
	if (error)
		return problem_set(problem, error, path, "cannot open the filesystem");
	error = read_all(fs, descriptor, volume);
	ext2fs_free(fs);
	if (error)
		return problem_set(problem, error, path, "cannot read the filesystem");
	volume->descriptor = descriptor;
	descriptor = -1;
	return 0;
}

void volume_close(struct volume *volume)
{
	close(volume->descriptor);
	free(volume->group);
	fs_zones_free(&volume->zones);
}

void volume_check_descriptors(const struct volume *volume, const struct damage_listener *damage)
{
	for (uint32_t number = 0; number < volume->geometry.groups; number++)
		if (volume->group[number].is_doubtful)
			damage_tell_group(damage, number, "its descriptor differs from its checksum");
}

bool volume_bitmap_fits(const struct volume *volume, uint32_t group, const void *bytes)
{
	uint32_t checksum = crc32c(volume->format.checksum_seed, bytes, volume->geometry.clusters_per_group / 8);

	return (checksum & volume->checksum_mask) == volume->group[group].bitmap_checksum;
}

bool volume_owns_inode(const struct volume *volume, uint32_t ino)
{
	if (ino < volume->geometry.first_inode)
		return ino != EXT2_ROOT_INO;
	for (size_t n = 0; n < sizeof(volume->own_inodes) / sizeof(*volume->own_inodes); n++)
		if (ino == volume->own_inodes[n])
			return true;
	return false;
}

bool volume_is_spent(const struct volume *volume)
{
	const struct read_budget *budget = volume->budget;

	return budget && (__atomic_load_n(&budget->read_bytes, __ATOMIC_RELAXED) >= budget->most_bytes ||
	                  seconds_of(CLOCK_MONOTONIC) >= budget->end);
}

static size_t common_divisor(size_t a, size_t b)
{
	return b ? common_divisor(b, a % b) : a;
}

size_t volume_spread(const struct volume *volume, size_t index, size_t count)
{
	/* Steps of the golden ratio fill a circle evenly; one without a common divisor comes everywhere. */
	size_t step = (size_t)((double)count * 0.6180339887) | 1;

	if (!volume->budget)
		return index;
	while (common_divisor(step, count) > 1)
		step += 2;
	return (size_t)((unsigned __int128)index * step % count);
}

errcode_t volume_read(const struct volume *volume, uint64_t block, uint64_t count, void *bytes)
{
	uint64_t at = volume->offset_bytes + (block << volume->format.block_bits);
	errcode_t error = whole_read(volume->descriptor, bytes, count << volume->format.block_bits, at);

	if (volume->budget)
		__atomic_add_fetch(&volume->budget->read_bytes, count << volume->format.block_bits, __ATOMIC_RELAXED);
	return error == ENODATA ? EXT2_ET_SHORT_READ : error;
}

errcode_t volume_read_inode(const struct volume *volume, uint32_t ino, void *bytes, struct inode_view *inode)
{
	const struct geometry *geometry = &volume->geometry;
	size_t inode_bytes = volume->format.inode_bytes;

	if (!ino || ino > volume->inodes || (ino - 1) / geometry->inodes_per_group >= geometry->groups)
		return EXT2_ET_BAD_INODE_NUM;

	uint64_t table = volume->group[(ino - 1) / geometry->inodes_per_group].inode_table;
	uint64_t offset = (uint64_t)((ino - 1) % geometry->inodes_per_group) * inode_bytes;
	SCOPE_FREE uint8_t *block = malloc(volume->format.block_bytes);

	if (!block)
		return ENOMEM;
	if (!table)
		return EXT2_ET_BAD_INODE_NUM;
	errcode_t error = volume_read(volume, table + (offset >> geometry->block_bits), 1, block);

	if (error)
		return error;
	memcpy(bytes, block + (offset & (volume->format.block_bytes - 1)), inode_bytes);
	inode_view_read(bytes, inode);
	return 0;
}

void volume_expect(const struct volume *volume, uint64_t block, uint64_t count)
{
	posix_fadvise(volume->descriptor, (off_t)(volume->offset_bytes + (block << volume->format.block_bits)),
	              (off_t)(count << volume->format.block_bits), POSIX_FADV_WILLNEED);
}
