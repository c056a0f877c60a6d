/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "transaction/layout.h"

#include <errno.h>

#include "ext2fs/ext2mb_err.h"
#include "filesystem/fs_errors.h"
#include "support/bisect.h"

static errcode_t add_fixed(struct layout *layout, uint64_t start, uint64_t count, bool is_backup)
{
	errcode_t error = block_ranges_add(&layout->fixed, start, count);

	return error || !is_backup ? error : block_ranges_add(&layout->backups, start, count);
}

/* Adds superblocks, descriptors and reserved GDT blocks. */
static errcode_t add_descriptors(ext2_filsys fs, struct layout *layout, uint32_t group)
{
	blk64_t super = 0, old_descriptors = 0, new_descriptors = 0;
	blk_t used = 0;
	errcode_t error = ext2fs_super_and_bgd_loc2(fs, group, &super, &old_descriptors, &new_descriptors, &used);
	uint64_t old_count = ext2fs_has_feature_meta_bg(fs->super) ? fs->super->s_first_meta_bg : fs->desc_blocks;

	if (!error && ext2fs_bg_has_super(fs, (dgrp_t)group))
		error = add_fixed(layout, super, 1, group > 0);
	if (!error && old_descriptors) {
		error = add_fixed(layout, old_descriptors, old_count, group > 0);
		if (!error && !ext2fs_has_feature_meta_bg(fs->super))
			error = add_fixed(layout, old_descriptors + old_count, fs->super->s_reserved_gdt_blocks, false);
	}
	/* With meta_bg the descriptors in the first group of each meta group count; others are backups. */
	if (!error && new_descriptors)
		error = add_fixed(layout, new_descriptors, 1, group % layout->descriptors_in_block != 0);
	return error;
}

static errcode_t read_groups(ext2_filsys fs, struct layout *layout)
{
	errcode_t error = 0;

	layout->group = calloc(layout->groups, sizeof(*layout->group));
	layout->descriptor_blocks = calloc(layout->descriptor_count, sizeof(*layout->descriptor_blocks));
	if (!layout->group || !layout->descriptor_blocks)
		return ENOMEM;
	for (uint32_t index = 0; index < layout->descriptor_count; index++)
		layout->descriptor_blocks[index] =
			ext2fs_descriptor_block_loc2(fs, fs->super->s_first_data_block, (dgrp_t)index);
	for (uint32_t group = 0; group < layout->groups && !error; group++) {
		struct group_layout *of_group = &layout->group[group];

		*of_group = (struct group_layout){
			.block_bitmap = ext2fs_block_bitmap_loc(fs, group),
			.inode_bitmap = ext2fs_inode_bitmap_loc(fs, group),
			.inode_table = ext2fs_inode_table_loc(fs, group),
			.is_uninit = layout->has_uninit_groups && ext2fs_bg_flags_test(fs, group, EXT2_BG_BLOCK_UNINIT),
		};
		error = add_descriptors(fs, layout, group);
		if (!error)
			error = add_fixed(layout, of_group->block_bitmap, 1, false);
		if (!error)
			error = add_fixed(layout, of_group->inode_bitmap, 1, false);
		if (!error)
			error = add_fixed(layout, of_group->inode_table, layout->inode_table_blocks, false);
	}
	return error;
}

struct journal_walk {
	struct layout *layout;
	uint64_t logical; /* next expected */
	errcode_t error;
};

static errcode_t add_journal_block(struct journal_walk *walk, uint64_t logical, uint64_t physical, bool is_mapped)
{
	struct layout *layout = walk->layout;
	struct journal_range *runs = layout->journal_runs;
	struct journal_range *last = layout->journal_run_count ? &runs[layout->journal_run_count - 1] : NULL;

	/* A block of the log is also the filesystem's metadata, or is listed twice. */
	if (physical <= layout->first_block || physical >= layout->blocks ||
	    block_ranges_has(&layout->fixed, physical) || block_ranges_has(&layout->journal, physical))
		return EXT2MB_ET_BAD_JOURNAL;
	errcode_t error = block_ranges_add(&layout->journal, physical, 1);
	if (error || !is_mapped)
		return error;
	if (logical != walk->logical++)
		return EXT2MB_ET_BAD_JOURNAL;
	if (last && last->physical + last->count == physical) {
		last->count++;
		return 0;
	}
	error = vector_reserve(&layout->journal_runs, &layout->journal_run_capacity, layout->journal_run_count + 1,
	                       sizeof(*layout->journal_runs));
	if (!error)
		layout->journal_runs[layout->journal_run_count++] = (struct journal_range){ logical, physical, 1 };
	return error;
}

static int see_journal_block(ext2_filsys fs, blk64_t *block, e2_blkcnt_t logical, blk64_t reference_block,
                             int reference_offset, void *context)
{
	struct journal_walk *walk = context;

	(void)fs, (void)reference_block, (void)reference_offset;
	walk->error = add_journal_block(walk, (uint64_t)logical, *block, logical >= 0);
	return walk->error ? BLOCK_ABORT : 0;
}

static errcode_t read_journal_map(ext2_filsys fs, struct layout *layout)
{
	ext2_ino_t ino = fs->super->s_journal_inum;
	struct journal_walk walk = { .layout = layout };
	struct ext2_inode inode;

	layout->has_journal = ext2fs_has_feature_journal(fs->super) && ino;
	if (!layout->has_journal)
		return 0;
	if (ino > fs->super->s_inodes_count)
		return EXT2MB_ET_BAD_JOURNAL;
	errcode_t error = FS_ERROR_OF(ext2fs_read_inode(fs, ino, &inode));

	if (!error && (!LINUX_S_ISREG(inode.i_mode) || !inode.i_links_count))
		error = EXT2MB_ET_BAD_JOURNAL;
	if (!error)
		error = FS_ERROR_OF(
			ext2fs_block_iterate3(fs, ino, BLOCK_FLAG_READ_ONLY, NULL, see_journal_block, &walk));
	if (!error)
		error = walk.error;
	return !error && !layout->journal_run_count ? EXT2MB_ET_BAD_JOURNAL : error;
}

/* The place of its inode in the inode table. */
static void find_journal_inode(ext2_filsys fs, struct layout *layout)
{
	ext2_ino_t ino = fs->super->s_journal_inum;
	uint32_t group = (ino - 1) / fs->super->s_inodes_per_group;
	uint64_t offset = (uint64_t)((ino - 1) % fs->super->s_inodes_per_group) * layout->inode_bytes;

	layout->journal_inode_block = layout->group[group].inode_table + offset / layout->block_bytes;
	layout->journal_inode_offset = (uint32_t)(offset % layout->block_bytes);
}

static void read_sizes(ext2_filsys fs, struct layout *layout)
{
	*layout = (struct layout){
		.block_bytes = fs->blocksize,
		.first_block = fs->super->s_first_data_block,
		.blocks = ext2fs_blocks_count(fs->super),
		.cluster_bits = (uint32_t)fs->cluster_ratio_bits,
		.group_blocks = fs->super->s_blocks_per_group,
		.group_clusters = fs->super->s_clusters_per_group,
		.groups = fs->group_desc_count,
		.inode_table_blocks = fs->inode_blocks_per_group,
		.inode_bytes = EXT2_INODE_SIZE(fs->super),
		.descriptor_bytes = EXT2_DESC_SIZE(fs->super),
		.descriptors_in_block = EXT2_DESC_PER_BLOCK(fs->super),
		.descriptor_count = (uint32_t)fs->desc_blocks,
		.has_uninit_groups = ext2fs_has_group_desc_csum(fs),
		.mmp_block = ext2fs_has_feature_mmp(fs->super) ? fs->super->s_mmp_block : 0,
	};
	/* Without bigalloc this field has no meaning. */
	if (!layout->cluster_bits)
		layout->group_clusters = layout->group_blocks;
}

errcode_t layout_read(ext2_filsys fs, struct layout *layout)
{
	read_sizes(fs, layout);
	errcode_t error = read_groups(fs, layout);

	if (!error)
		error = read_journal_map(fs, layout);
	if (!error && layout->has_journal)
		find_journal_inode(fs, layout);
	if (error)
		layout_free(layout);
	return error;
}

errcode_t layout_read_journal(ext2_filsys fs, struct layout *layout)
{
	read_sizes(fs, layout);
	errcode_t error = read_journal_map(fs, layout);

	if (error)
		layout_free(layout);
	return error;
}

void layout_free(struct layout *layout)
{
	free(TAKE(layout->group));
	free(TAKE(layout->descriptor_blocks));
	free(TAKE(layout->journal_runs));
	block_ranges_clear(&layout->fixed);
	block_ranges_clear(&layout->backups);
	block_ranges_clear(&layout->journal);
}

uint64_t layout_journal_block(const struct layout *layout, uint64_t logical, uint64_t *count)
{
	const struct journal_range *runs = layout->journal_runs;
	size_t index = BISECT(layout->journal_run_count, at, runs[at].logical + runs[at].count > logical);
	uint64_t left = runs[index].logical + runs[index].count - logical;

	if (left < *count)
		*count = left;
	return runs[index].physical + (logical - runs[index].logical);
}
