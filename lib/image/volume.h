/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A filesystem that is open for reading from any thread: its superblock and group descriptors, checked. libext2fs is
 * called only during the opening. If the journal needs recovery, volume_open() reads all blocks as they are on disk,
 * and volume_open_as_replayed() (image/replayed.h) as they would be after a replay of the journal.
 */
#pragma once

#include <inttypes.h>
#include <stddef.h>

#include "filesystem/fs_zones.h"
#include "ondisk/geometry.h"
#include "image/damage.h"
#include "journal/journal_source.h"
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

/* Limits the reading. Any thread. */
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
	struct journal_overlay *overlay; /* owned; NULL: all blocks are read as they are on disk */
	uint64_t device_blocks;          /* from offset_bytes on: the filesystem may be smaller */
	uint64_t readable_end;           /* the first block beyond the device, which may be too short */
	uint32_t inode_table_blocks;     /* of a group */
	uint32_t inodes;
	uint32_t own_inodes[4]; /* the filesystem's own though not among the reserved ones; 0: none */
	uint32_t checksum_mask; /* of bitmaps: descriptors of 32 bytes store half of it; 0: no checksums */
	bool is_mounted;        /* and may change while it is read, unless it is: */
	bool is_read_only;      /* mounted, and the kernel writes nothing to it */
	bool needs_recovery;    /* the journal has newer contents of blocks, which may be read from there */
	bool is_replayed;       /* needs_recovery, and all blocks are read as if the journal had been replayed */
	bool was_aborted;       /* is_replayed, and the kernel has aborted the journal: superblock has ERROR_FS */
	/*
	 * The filesystem is not mounted and its journal is empty: bitmaps and descriptors must agree. Another
	 * filesystem may be in use without a sign of it, by a virtual machine for instance.
	 */
	bool is_at_rest;
	bool has_orphans; /* inodes in use that have no links */
	struct volume_group *group;
	uint64_t *suspect;                     /* owned: a bit for each group, of fs_zones_find() */
	struct fs_zones zones;                 /* where the filesystem's own metadata lies */
	uint64_t free_blocks, reserved_blocks; /* as the superblock says */
	struct read_budget *budget;            /* the caller's; NULL: all is read */
	struct ext2_super_block superblock;    /* as it was when it was opened, in host order */
};

/*
 * Opens path, in which the filesystem begins at offset_bytes, and fills in *volume. It verifies only checksums of
 * descriptors; damage of inodes, maps and directories shows when they are read. Errors: those of libext2fs and of
 * the system; call volume_close() only after success. The caller keeps path, which must outlive the volume.
 */
MUST_CHECK errcode_t volume_open(const char *path, uint64_t offset_bytes, struct volume *volume,
                                 struct problem *problem);

void volume_close(struct volume *volume);

/* What is said of a filesystem that its device has a part of, as for printf(3): how many blocks are there, of how many.
 */
#define VOLUME_CUT_OFF "it is cut off: %" PRIu64 " of its %" PRIu64 " blocks are there"

/* EXT2_ET_SHORT_READ, and how much is there, if the device ends before the filesystem. name, action: as messages have
 * them. */
MUST_CHECK errcode_t volume_check_end(const struct volume *volume, const char *name, const char *action,
                                      struct problem *problem);

/*
 * From now on the volume reads all blocks through an overlay of its journal; this reads superblock and descriptors
 * again. The volume owns the overlay, also after an error. The caller must still call volume_close(). Errors as of
 * volume_open(), with EXT2_ET_CORRUPT_SUPERBLOCK for a superblock in the log that has blocks of another size. One
 * thread, before any other thread reads.
 */
MUST_CHECK errcode_t volume_overlay(struct volume *volume, struct journal_overlay *overlay, struct problem *problem);

/* The image without its overlay, which any thread may read; no ranges, no number of blocks. It points to the volume. */
struct journal_source volume_in_place(const struct volume *volume);

/*
 * Reports the groups whose descriptors differ from their checksums, but not for a filesystem that is in use: its blocks
 * may change while they are read.
 */
void volume_check_descriptors(const struct volume *volume, const struct damage_listener *damage);

/* True if a block bitmap matches its checksum, or has no checksum. bytes: as on disk. Any thread. */
bool volume_bitmap_fits(const struct volume *volume, uint32_t group, const void *bytes);

/* True for inodes that are not a user's: reserved ones except the root, quota files, the orphan file. */
bool volume_owns_inode(const struct volume *volume, uint32_t ino);

/*
 * Reads count blocks. EXT2_ET_SHORT_READ if the device ends earlier. Only the blocks of a replay are seen, not what a
 * mount writes after it: the superblock still has its flag. Any thread.
 */
MUST_CHECK errcode_t volume_read(const struct volume *volume, uint64_t block, uint64_t count, void *bytes);

/* True if these blocks have their newest contents in the image itself, so that other code may read them there. */
bool volume_is_in_place(const struct volume *volume, uint64_t block, uint64_t count);

/* The place of an inode in its group's table. */
struct inode_place {
	uint64_t block;
	uint64_t table_blocks; /* of its group's table, from that block on */
	uint32_t offset_bytes; /* in that block */
};

/* Finds an inode's place, without reading it. EXT2_ET_BAD_INODE_NUM. Any thread. */
MUST_CHECK errcode_t volume_find_inode(const struct volume *volume, uint32_t ino, struct inode_place *place);

/* Reads one inode into bytes (format.inode_bytes of them). EXT2_ET_BAD_INODE_NUM, errors in reading. Any thread. */
MUST_CHECK errcode_t volume_read_inode(const struct volume *volume, uint32_t ino, void *bytes,
                                       struct inode_view *inode);

/* Tells the system that these blocks will be read soon (readahead). Any thread. */
void volume_expect(const struct volume *volume, uint64_t block, uint64_t count);

/* True once the budget is used up: the caller leaves out its next read, and counts it in the report. */
bool volume_is_spent(const struct volume *volume);

/*
 * Returns the task that runs as number `index` of `count`. If a budget may end them, the finished tasks are spread
 * evenly over the filesystem at any time; otherwise they are in order.
 */
size_t volume_spread(const struct volume *volume, size_t index, size_t count);

/* True if all of these blocks are within the filesystem, and none is its superblock's. They may still be unreadable. */
static inline bool volume_has_blocks(const struct volume *volume, uint64_t block, uint64_t count)
{
	const struct geometry *geometry = &volume->geometry;

	return block > geometry->first_block && block < geometry->end_block && count <= geometry->end_block - block;
}
