/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A filesystem to be looked at: what its superblock and group descriptors say, checked, and reading from any thread.
 * libext2fs is called only while it opens. Where the journal needs recovery, volume_open() reads all as it lies, and
 * volume_open_as_replayed() (image/replayed.h) as a replay of the journal would leave it.
 */
#pragma once

#include <stddef.h>

#include "allocator/fs/fs_zones.h"
#include "allocator/core/geometry.h"
#include "image/damage.h"
#include "image/journal_source.h"
#include "ondisk/views.h"
#include "support/problem.h"

/* The needed part of a group's descriptor. A block of 0 is out of bounds, so that part cannot be read. */
struct volume_group {
	uint64_t block_bitmap;
	uint64_t inode_table;
	uint32_t inodes_used; /* at the front of its inode table: the rest was never written */
	uint32_t free_clusters, free_inodes;
	uint32_t bitmap_checksum;
	bool is_uninitialised; /* the bitmap was never written: only the metadata is in use */
	bool is_doubtful;      /* the descriptor differs from its checksum */
};

struct journal_overlay;

/* How much may be read. Any thread. */
struct read_budget {
	uint64_t most_bytes;
	double end;          /* by CLOCK_MONOTONIC */
	uint64_t read_bytes; /* so far */
};

struct volume {
	int descriptor;
	const char *path;      /* the caller's */
	uint64_t offset_bytes; /* of the filesystem */
	struct ondisk_format format;
	struct geometry geometry;
	struct journal_overlay *overlay; /* owned; NULL: all blocks are read as they lie */
	uint64_t device_blocks;          /* how many there are from offset_bytes on: the filesystem may be smaller */
	uint64_t readable_end; /* the first block that is not there: the device may be shorter than it should be */
	uint32_t inode_table_blocks; /* of a group */
	uint32_t inodes;
	uint32_t own_inodes[4]; /* the filesystem's own though not among the reserved ones; 0: none */
	uint32_t checksum_mask; /* of bitmaps: descriptors of 32 bytes have half of it; 0: they have none */
	bool is_mounted;        /* and may change while it is read */
	bool needs_recovery;    /* the journal holds what is not yet in its place, though it may be read from there */
	bool is_replayed;       /* needs_recovery, and all is read as if the journal had been replayed */
	/*
	 * Not mounted, nothing in the journal: bitmaps and descriptors must agree. Others may be in use where that
	 * cannot be seen, by a virtual machine for instance.
	 */
	bool is_at_rest;
	bool has_orphans; /* inodes in use that have no links */
	struct volume_group *group;
	struct fs_zones zones;                 /* where the filesystem's own metadata lies */
	uint64_t free_blocks, reserved_blocks; /* as the superblock says */
	struct read_budget *budget;            /* the caller's; NULL: all is read */
	struct ext2_super_block superblock;    /* as it was when it was opened, in host order */
};

/*
 * Opens path, in which the filesystem begins at offset_bytes, and fills in all of it. Only checksums of descriptors
 * are verified; damage of inodes, maps and directories shows when they are read. Errors: those of libext2fs and of
 * the system; volume_close() is due only after success. path stays the caller's, and must stay.
 */
MUST_CHECK errcode_t volume_open(const char *path, uint64_t offset_bytes, struct volume *volume,
                                 struct problem *problem);

void volume_close(struct volume *volume);

/*
 * Has all be read through an overlay of its journal from now on, and reads superblock and descriptors again; the volume
 * takes the overlay, also where this fails. volume_close() remains due. Errors as of volume_open(), with
 * EXT2_ET_CORRUPT_SUPERBLOCK for a superblock in the log that has blocks of another size. One thread, before any other
 * reads.
 */
MUST_CHECK errcode_t volume_overlay(struct volume *volume, struct journal_overlay *overlay, struct problem *problem);

/* The image without overlay, to be read by any thread; no ranges, no number of blocks. It points to the volume. */
struct journal_source volume_in_place(const struct volume *volume);

/*
 * Tells of the groups whose descriptors differ from their checksums. Nothing of a filesystem that is in use: its blocks
 * are read one after the other, while it writes them.
 */
void volume_check_descriptors(const struct volume *volume, const struct damage_listener *damage);

/* Is a block bitmap what its checksum says? bytes: as on disk. True where there is none. Any thread. */
bool volume_bitmap_fits(const struct volume *volume, uint32_t group, const void *bytes);

/* True for the inodes that hold no file of a user: reserved ones but for the root, quota files, the orphan file. */
bool volume_owns_inode(const struct volume *volume, uint32_t ino);

/*
 * Reads count blocks. EXT2_ET_SHORT_READ if the device ends earlier. Only the blocks of a replay are seen, not what a
 * mount writes after it: the superblock still has its flag. Any thread.
 */
MUST_CHECK errcode_t volume_read(const struct volume *volume, uint64_t block, uint64_t count, void *bytes);

/* Do these blocks have their newest contents where they lie in the image, so that others may read them there? */
bool volume_is_in_place(const struct volume *volume, uint64_t block, uint64_t count);

/* Reads one inode into bytes (format.inode_bytes of them). EXT2_ET_BAD_INODE_NUM, errors in reading. Any thread. */
MUST_CHECK errcode_t volume_read_inode(const struct volume *volume, uint32_t ino, void *bytes,
                                       struct inode_view *inode);

/* Tells the system that they will be read soon. Any thread. */
void volume_expect(const struct volume *volume, uint64_t block, uint64_t count);

/* True once the budget is used up: the caller leaves out what it was about to read, and counts it in the report. */
bool volume_is_spent(const struct volume *volume);

/*
 * The task that is done as number `index` of `count`. Where a budget may end them, those that are done are spread
 * evenly over the filesystem at any time; else they are in order.
 */
size_t volume_spread(const struct volume *volume, size_t index, size_t count);

/* True if all of them are the filesystem's, and none its superblock's; reading them is another matter. */
static inline bool volume_has_blocks(const struct volume *volume, uint64_t block, uint64_t count)
{
	const struct geometry *geometry = &volume->geometry;

	return block > geometry->first_block && block < geometry->end_block && count <= geometry->end_block - block;
}
