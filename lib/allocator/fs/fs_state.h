/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The allocator's access to the filesystem on disk. In the allocator of blocks and inodes, only fs_state.c and
 * fs_zones.c access libext2fs's bitmaps, descriptors and counters (sync.c asks whether the filesystem may be written;
 * doc/ARCHITECTURE.md lists all files that look into one). Sizes and counts are checked once, here; everything above
 * works with the geometry and with (group, cluster in the group).
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <ext2fs/ext2fs.h>

#include "allocator/core/stripe.h"
#include "filesystem/fs_zones.h"
#include "support/problem.h"

struct fs_state {
	ext2_filsys fs;
	struct geometry geometry;
	/* libext2fs's own calls change fs->block_map, which alone decides which blocks are free */
	bool follows_map;
	bool has_descriptor_checksums; /* only then are the UNINIT flags and itable_unused valid */
	struct fs_zones zones;
	uint64_t *suspect;     /* a bit per group: its bitmaps or inode table have an impossible place */
	pthread_mutex_t lock;  /* of fs->io and of fs's bitmaps */
	struct fs_state *next; /* a list of all open ones */
	struct ext2mb *mb;     /* the allocator that has this state, and the function that writes it back */
	errcode_t (*sync)(struct ext2mb *mb);
	uint64_t (*most_blocks)(struct ext2mb *mb); /* that sync would write */
};

/*
 * EXT2MB_ET_ATTACHED: the handle already has an open one; two would hand out the same blocks. EXT2MB_ET_BAD_GEOMETRY,
 * EXT2MB_ET_NEEDS_RECOVERY, ENOMEM. The caller keeps the filesystem. follows_map: the state is never written back, and
 * block bitmaps are read from fs->block_map, which must be loaded before they are read.
 */
MUST_CHECK errcode_t fs_state_open(struct fs_state *state, ext2_filsys fs, bool follows_map);
void fs_state_close(struct fs_state *state);

/*
 * Writes the handle's allocator back, if there is one and it does not follow the map. Errors: state->sync's. Only the
 * thread that uses libext2fs's handle may call this.
 */
MUST_CHECK errcode_t fs_state_sync_allocator(ext2_filsys fs);

/* The most blocks that it would write now. Any thread; exact while no thread allocates. */
uint64_t fs_state_sync_blocks(ext2_filsys fs);

/* The stripe of `asked` blocks; if asked is 0, the superblock's stripe width or, if that is unusable, its stride. */
struct stripe fs_state_stripe(const struct fs_state *state, uint32_t asked);

/* The counts in a descriptor. */
struct group_counts {
	uint32_t free_clusters;
	uint32_t free_inodes;
	uint32_t directories;
	uint32_t unused_inodes; /* at the end of the inode table, never used */
};

/* Reads the descriptor's counts, without I/O. EXT2MB_ET_CORRUPT_GROUP: they are impossible, or the group is suspect. */
MUST_CHECK errcode_t fs_state_counts(const struct fs_state *state, uint32_t group, struct group_counts *counts);

/* Whether the group's block bitmap was never initialised, as its descriptor says. */
bool fs_state_is_block_uninit(const struct fs_state *state, uint32_t group);

/* The kernel's hash of a name for the Orlov allocator, with the filesystem's seed. */
uint32_t fs_state_hash_name(const struct fs_state *state, const char *name);

/*
 * Reads the group's block bitmap, one block, as words; computes that of a BLOCK_UNINIT group without I/O.
 * EXT2MB_ET_CORRUPT_GROUP: it cannot be read, or contradicts the rest of the filesystem. Any thread.
 */
MUST_CHECK errcode_t fs_state_read_blocks(struct fs_state *state, uint32_t group, uint64_t *words);

/* The same for its inode bitmap: bits_words(inodes_per_group) words. */
MUST_CHECK errcode_t fs_state_read_inodes(struct fs_state *state, uint32_t group, uint64_t *words);

/*
 * Finds the first run of whole clusters in [from, end) that is marked, or unmarked, in fs->block_map. false: there is
 * none. Any thread, while no thread changes the bitmap.
 */
bool fs_state_find_run(struct fs_state *state, bool is_marked, uint64_t from, uint64_t end, uint64_t *start,
                       uint64_t *stop);

/* Whether any block of the range holds the filesystem's own metadata. Any thread. */
bool fs_state_is_metadata(const struct fs_state *state, uint64_t start, uint64_t count);

/*
 * Writes the bitmaps that are not NULL, and updates the descriptor's counts, flags and checksums. buffer: one block.
 * Single-threaded.
 */
MUST_CHECK errcode_t fs_state_write_group(struct fs_state *state, uint32_t group, const uint64_t *block_bitmap,
                                          const uint64_t *inode_bitmap, const struct group_counts *counts,
                                          uint8_t *buffer);

/* Sets the superblock's counters to the sums of the descriptors'; ext2fs_flush() or _close() writes them. */
void fs_state_write_totals(struct fs_state *state);
