/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Places of the metadata that no transaction moves: superblocks, descriptors, bitmaps, inode tables, the journal.
 * Read once, after the journal's replay; resizing is refused.
 */
#pragma once

#include <ext2fs/ext2fs.h>

#include "journal/journal_source.h"
#include "transaction/block_ranges.h"

struct group_layout {
	uint64_t block_bitmap;
	uint64_t inode_bitmap;
	uint64_t inode_table;
	bool is_uninit; /* BLOCK_UNINIT, as of the last commit */
};

struct layout {
	uint32_t block_bytes;
	uint64_t first_block; /* of the first group */
	uint64_t blocks;
	uint32_t cluster_bits;
	uint32_t group_blocks;
	uint32_t group_clusters;
	uint32_t groups;
	uint32_t inode_table_blocks; /* of a group */
	uint32_t inode_bytes;
	uint32_t descriptor_bytes;
	uint32_t descriptors_in_block;
	bool has_uninit_groups;             /* descriptors have checksums, so that their flags count */
	struct group_layout *group;         /* owned, one for each */
	uint64_t *descriptor_blocks;        /* owned, the primary ones, in order */
	uint32_t descriptor_count;          /* of these blocks */
	struct block_ranges fixed;          /* all metadata with a fixed place, whatever the bitmaps say */
	struct block_ranges backups;        /* of superblock and descriptors */
	bool has_journal;                   /* an internal one */
	struct block_ranges journal;        /* its blocks, and those that map them */
	struct journal_range *journal_runs; /* owned, by logical block; no holes */
	size_t journal_run_count, journal_run_capacity;
	uint64_t journal_inode_block;  /* the block of an inode table that has the journal's inode */
	uint32_t journal_inode_offset; /* within it, bytes */
	uint64_t mmp_block;            /* 0: none */
};

/*
 * fs is open and used by no other thread. EXT2MB_ET_BAD_JOURNAL: the journal's inode has holes or is invalid;
 * EXT2MB_ET_BAD_GEOMETRY, ENOMEM, libext2fs's errors.
 */
MUST_CHECK errcode_t layout_read(ext2_filsys fs, struct layout *layout);

/* The same before a replay, when descriptors and bitmaps may be old: reads the journal's place, and nothing of groups.
 */
MUST_CHECK errcode_t layout_read_journal(ext2_filsys fs, struct layout *layout);
void layout_free(struct layout *layout);

/* The group of a block, which must lie in one. */
static inline uint32_t layout_group_of(const struct layout *layout, uint64_t block)
{
	return (uint32_t)((block - layout->first_block) / layout->group_blocks);
}

/*
 * Maps a block of the journal to the filesystem's. *count becomes the number of blocks that are contiguous from there
 * on, at most its old value.
 */
uint64_t layout_journal_block(const struct layout *layout, uint64_t logical, uint64_t *count);
