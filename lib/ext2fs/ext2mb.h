/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libext2mb: a multithreaded block and inode allocator for ext4 filesystems in userspace, an extension of
 * libext2fs. It does what the kernel's mballoc does (Linux 6.17, after the 17-patch scalability series of
 * Baokun Li, 2025).
 *
 * Threads: ext2mb_open(), ext2mb_sync(), ext2mb_check() and ext2mb_close() call libext2fs, which is not thread-safe, or
 * look at everything: no other thread may use fs or the allocator while they run. All else may be called by any number
 * of threads at the same time, each with a worker handle of its own, unless a declaration says otherwise. Units are
 * filesystem blocks; with bigalloc starts and counts are multiples of a cluster.
 *
 * Versions: every structure that may grow begins with struct_bytes, which the caller sets to its sizeof, and grows at
 * its end only. As with Linux's copy_struct_from_user(), what an older program does not have is taken to be zero, which
 * is always the default; what a newer program has and this library does not know must be zero, else the call is refused
 * with EXT2MB_ET_UNKNOWN_FIELD and has done nothing. Results are cut to what the caller has, and members that this
 * library does not know are zero. A size below the structure's first version, or above 4096 bytes, is
 * EXT2MB_ET_BAD_ARGUMENT.
 */
#ifndef EXT2FS_EXT2MB_H
#define EXT2FS_EXT2MB_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h> /* ext2fs.h uses dev_t and mode_t without asking for them: strict C99 has none */

#include <et/com_err.h>
#include <ext2fs/ext2fs.h>

#include <ext2fs/ext2mb_err.h>
#include <ext2fs/ext2mb_version.h> /* EXT2MB_VERSION and its parts: what a program is compiled with */

#ifdef __cplusplus
extern "C" {
#endif

#define EXT2MB_MUST_CHECK __attribute__((warn_unused_result))

/*
 * EXT2MB_VERSION of the library that the program runs with. string: NULL, or set to its EXT2MB_VERSION_STRING, which is
 * for good. Any thread.
 */
uint32_t ext2mb_library_version(const char **string);

struct ext2mb;
struct ext2mb_worker;

/*
 * Is shown what a commit releases, before any of it can be allocated again: runs of blocks in ascending order, as
 * long as can be: runs that touch are one, across groups too. Called in the thread that commits, without locks that
 * others need: they may allocate and free meanwhile. An error stops nothing: the other runs are shown and all are
 * released; the first error is what ext2mb_commit() or ext2mb_sync() returns in the end. To discard what a crash could
 * bring back, commit only after the metadata that let go of it is on disk.
 *
 * What the function may call, through workers that no other thread uses: everything but the five that end or look at a
 * state that is changing under it. ext2mb_commit(), ext2mb_sync(), ext2mb_check(), ext2mb_close() and
 * ext2mb_orphan_release() of this allocator return EXT2MB_ET_IN_DISCARD and do nothing. Nor may it wait for another
 * thread that calls one of them, which the library cannot see: that never ends.
 */
typedef errcode_t (*ext2mb_discard_function)(void *context, uint64_t start, uint64_t count);

enum ext2mb_scan {
	EXT2MB_SCAN_DEFAULT, /* indexed */
	EXT2MB_SCAN_LINEAR,
	EXT2MB_SCAN_INDEXED,
};

/* How much is reserved for a file that grows. */
enum ext2mb_normalization {
	EXT2MB_NORMALIZE_DEFAULT, /* EXT2MB_NORMALIZE_EXT2MB */
	EXT2MB_NORMALIZE_EXT2MB,  /* four times the file, less where there is little free space */
	EXT2MB_NORMALIZE_TABLE,   /* as Linux does: 16 KiB to 8 MiB */
	EXT2MB_NORMALIZE_POW2,    /* as Lukas Czerner proposed in 2014: the power of two, up to a group */
	EXT2MB_NORMALIZE_NONE,    /* nothing */
};

/* Which small files share a preallocation: the kernel's locality groups. */
enum ext2mb_locality {
	EXT2MB_LOCALITY_DEFAULT,   /* EXT2MB_LOCALITY_DIRECTORY */
	EXT2MB_LOCALITY_DIRECTORY, /* files of one directory, as Andreas Dilger proposed in 2008 */
	EXT2MB_LOCALITY_THREAD,    /* files that one worker writes: as Linux does, by processor */
	EXT2MB_LOCALITY_NONE,      /* nobody: small files are treated as large ones */
};

struct ext2mb_options {
	size_t struct_bytes;             /* sizeof(struct ext2mb_options) */
	uint32_t streams;                /* stream goals asked for, 0: 64; at most ceil(groups / 4) are kept */
	ext2mb_discard_function discard; /* NULL: nobody wants to know */
	void *discard_context;
	uint32_t stripe_blocks; /* of a RAID, 0: the superblock's; EXT2MB_NO_STRIPE: none */
	enum ext2mb_scan optimize_scan;

	/* Of files (ext2mb_file_open()): */
	enum ext2mb_normalization normalization;
	enum ext2mb_locality locality;
	uint32_t small_file_blocks;          /* files up to this size are small; 0: 16 */
	uint32_t group_preallocation_blocks; /* 0: 512; at least 32 clusters, rounded up to the stripe */
};

#define EXT2MB_NO_STRIPE UINT32_MAX

/*
 * Attaches an allocator to an open filesystem (EXT2_FLAG_RW for one that is to be written back). Group state
 * is read on first touch, through fs->io under a lock of its own; while attached, nobody else may use fs->io,
 * and fs->block_map and fs->inode_map, if loaded, are brought up to date by ext2mb_sync() only. options may
 * be NULL. EXT2MB_ET_BAD_GEOMETRY, EXT2MB_ET_BAD_ARGUMENT, ENOMEM; EXT2MB_ET_NEEDS_RECOVERY: it may be written, and its
 * journal has not been replayed; EXT2MB_ET_ATTACHED: the handle has an allocator that is open or attached, and two
 * would hand out the same blocks. So it is closed before fs is. On a handle with transactions each commit syncs it
 * first.
 */
EXT2MB_MUST_CHECK errcode_t ext2mb_open(ext2_filsys fs, const struct ext2mb_options *options, struct ext2mb **ret);

/*
 * Frees it; what was not synced is lost. NULL is allowed. EXT2MB_ET_IN_USE: a worker or a file is open;
 * EXT2MB_ET_IN_DISCARD; then it is as it was; else 0.
 */
errcode_t ext2mb_close(struct ext2mb *mb);

/*
 * A closed worker is refused with EXT2MB_ET_BAD_ARGUMENT until another one is opened or the allocator is closed. One
 * that two threads use at the same time is refused with EXT2MB_ET_WORKER_BUSY in debug builds of the library
 * (-DEXT2MB_DEBUG).
 */
EXT2MB_MUST_CHECK errcode_t ext2mb_worker_open(struct ext2mb *mb, struct ext2mb_worker **ret);
void ext2mb_worker_close(struct ext2mb_worker *worker);

#define EXT2MB_ALLOC_GOAL_ONLY 0x0001u /* exactly at goal or not at all; may be shorter than asked */
#define EXT2MB_ALLOC_STREAM 0x0002u    /* a large file: start from the stream's hashed goal */
#define EXT2MB_ALLOC_PACK 0x0004u  /* the first free run at or after goal and below limit, cut to count; see below */
#define EXT2MB_ALLOC_WHOLE 0x0008u /* count blocks, at most a group, in one piece or none */

/*
 * Packing uses no hint and waits for busy groups, so the result depends on what is free in [goal, limit) alone:
 * threads with disjoint ranges do not influence one another. A run ends where its group does. No other flag goes with
 * it.
 */

struct ext2mb_request {
	size_t struct_bytes; /* sizeof(struct ext2mb_request) */
	uint64_t goal;       /* a block, taken if all of count is free there, else near which to allocate; 0: none, so
	                        after the worker's last request without goal and stream, if all of count is free there */
	uint64_t limit;      /* EXT2MB_ALLOC_PACK: the first block not to be used; 0: the end of the filesystem */
	uint64_t count;      /* blocks wanted */
	uint64_t stream;     /* whose stream it is: the inode number, hashed to a stream goal */
	uint64_t flags;      /* EXT2MB_ALLOC_* */

	/*
	 * XFS's minlen: no fewer than so many blocks, at most count and at most a group, in one piece, or
	 * EXT2MB_ET_NO_SPACE; 0: any number. As much of count as can be had is still looked for; with
	 * EXT2MB_ALLOC_WHOLE it is count, whatever is said here. In whole clusters, as count is. Preallocations that
	 * lie where the only such run would be are given back, others are not.
	 */
	uint64_t least_blocks;
};

/* Never grows. */
struct ext2mb_extent {
	uint64_t start;
	uint64_t count; /* at least one cluster, at most what was asked for */
};

/*
 * Allocates up to count blocks in one extent. EXT2MB_ET_NO_SPACE when none, or no run of the least length, is to be
 * had; EXT2MB_ET_BAD_ARGUMENT, also for a least length of more than a group, which no extent of the allocator is, or of
 * more than count. Where there is a stripe, a count that is a multiple of it is looked for at multiples of it first,
 * and a goal that is not one is passed over if count is one stripe (but for EXT2MB_ALLOC_GOAL_ONLY).
 */
EXT2MB_MUST_CHECK errcode_t ext2mb_alloc(struct ext2mb_worker *worker, const struct ext2mb_request *request,
                                         struct ext2mb_extent *extent);

/*
 * Files that grow: an allocation may reserve more than it was asked for, as a preallocation from which the file's next
 * ones are served without a search and without any lock that threads share. Small files get theirs from preallocations
 * that they share. What is reserved is nobody's yet: ext2mb_free() refuses it (EXT2MB_ET_RESERVED_FREE), and it does
 * not count as free, but it is given back as soon as an allocation of whatever kind (other than
 * EXT2MB_ALLOC_GOAL_ONLY) finds nothing else, and always by ext2mb_sync(). So a preallocation never causes
 * EXT2MB_ET_NO_SPACE, and no bitmap on disk contains one.
 *
 * A handle is used by one thread at a time, with whatever worker of its allocator that thread has; different handles by
 * any threads. With another allocator's worker calls return EXT2MB_ET_BAD_ARGUMENT or do nothing.
 */
struct ext2mb_file;

#define EXT2MB_FILE_FINAL 0x0001u /* blocks is where the file will end: nothing is reserved after it */

struct ext2mb_file_info {
	size_t struct_bytes; /* sizeof(struct ext2mb_file_info) */
	uint64_t blocks;     /* the file's size now or, with EXT2MB_FILE_FINAL, then */
	ext2_ino_t ino;      /* whose stream goal it is */
	ext2_ino_t
		parent; /* the directory near which, and among whose files, a small file lies; 0: it does not matter */
	uint64_t flags; /* EXT2MB_FILE_FINAL */
};

/* EXT2MB_ET_BAD_ARGUMENT, ENOMEM. No I/O and no search. */
EXT2MB_MUST_CHECK errcode_t ext2mb_file_open(struct ext2mb_worker *worker, const struct ext2mb_file_info *info,
                                             struct ext2mb_file **ret);

#define EXT2MB_FILE_UNWRITTEN 0x0001u /* from fallocate: it says itself how much it wants */

/* In filesystem blocks; with bigalloc all are multiples of a cluster. */
struct ext2mb_file_request {
	size_t struct_bytes; /* sizeof(struct ext2mb_file_request) */
	uint64_t logical;    /* the first of the file's blocks that is wanted, and not mapped */
	uint64_t count;
	uint64_t whole_count; /* of all that is asked for at once, if this is a part of it; else 0 */

	/*
	 * What is known of the file's map: the hole around the request. hole_end 0: the caller does not say; then all
	 * is one hole after what was allocated through this handle (and, unless FINAL, after blocks), and a request
	 * before that fills a hole of its own size.
	 */
	uint64_t hole_start;
	uint64_t hole_end;
	uint64_t left_physical;  /* the block after that of hole_start - 1; 0: none, or this handle's last one */
	uint64_t right_physical; /* the block that hole_end is mapped to; 0: none */
	uint64_t flags;          /* EXT2MB_FILE_UNWRITTEN */
};

/*
 * Allocates up to count blocks for the file at `logical`, in one extent: call it again for what is missing.
 * EXT2MB_ET_NO_SPACE, EXT2MB_ET_BAD_ARGUMENT, ENOMEM.
 */
EXT2MB_MUST_CHECK errcode_t ext2mb_file_alloc(struct ext2mb_worker *worker, struct ext2mb_file *file,
                                              const struct ext2mb_file_request *request, struct ext2mb_extent *extent);

/* Gives all its preallocations back; the file now ends at `blocks`. The caller frees what was mapped after that. */
void ext2mb_file_truncate(struct ext2mb_worker *worker, struct ext2mb_file *file, uint64_t blocks);

/* Gives the file's preallocations back, those for small files to their locality group. NULL is allowed. */
void ext2mb_file_close(struct ext2mb_worker *worker, struct ext2mb_file *file);

/*
 * Frees blocks that are in use and hold no metadata of the filesystem itself (bitmaps, inode tables,
 * descriptors); anything else is refused whole, with EXT2MB_ET_DOUBLE_FREE (free, or freed and not yet committed),
 * EXT2MB_ET_RESERVED_FREE (preallocated, and not handed out), EXT2MB_ET_METADATA_FREE or
 * EXT2MB_ET_BAD_RANGE. They can be allocated again after the next commit.
 */
EXT2MB_MUST_CHECK errcode_t ext2mb_free(struct ext2mb_worker *worker, uint64_t start, uint64_t count);

/*
 * Makes blocks free at once, without a commit and without the discard function: all or a part of the extent that
 * ext2mb_alloc() gave this worker last, provided that no commit has been since. For a hand-out that came to nothing
 * (the kernel's ext4_discard_allocated_blocks()): nothing on disk may refer to these blocks. EXT2MB_ET_BAD_RANGE: they
 * are something else, to be freed with ext2mb_free(), or have been given back; once a piece of the middle is given
 * back, what lies after it is something else too. EXT2MB_ET_DOUBLE_FREE: ext2mb_free() has had them. Only the last
 * extent, for to know all of them each worker would have to keep a list, which every request paid for.
 */
EXT2MB_MUST_CHECK errcode_t ext2mb_give_back(struct ext2mb_worker *worker, uint64_t start, uint64_t count);

/*
 * Takes the very blocks, of whatever groups: for those who know from elsewhere that they are in use, as a replay of the
 * journal does with the kernel's ext4_mb_mark_bb(). Preallocations that lie there are given back. EXT2MB_ET_NO_SPACE,
 * and nothing has changed, if any of the blocks is in use, or freed and not committed; EXT2MB_ET_BAD_RANGE,
 * EXT2MB_ET_CORRUPT_GROUP, ENOMEM.
 */
EXT2MB_MUST_CHECK errcode_t ext2mb_mark_used(struct ext2mb_worker *worker, uint64_t start, uint64_t count);

enum ext2mb_block_use {
	EXT2MB_BLOCKS_FREE,
	EXT2MB_BLOCKS_RESERVED, /* preallocated: nobody's, and available to requests that find nothing else */
	EXT2MB_BLOCKS_USED,     /* handed out, of the filesystem itself, or freed and not committed yet */
};

/*
 * What the block at start is used for, and in *alike how many from there on, up to count, are used alike, across
 * groups. All are free if *use is EXT2MB_BLOCKS_FREE and *alike is count (ext2fs_test_block_bitmap_range2() tells
 * that). Any thread, at any time. A snapshot, of one group after the other: before the caller sees it, other threads
 * may have changed it. EXT2MB_ET_BAD_RANGE; ENOMEM; EXT2MB_ET_CORRUPT_GROUP for the first block's group, while a later
 * one ends the run.
 */
EXT2MB_MUST_CHECK errcode_t ext2mb_query_blocks(struct ext2mb *mb, uint64_t start, uint64_t count,
                                                enum ext2mb_block_use *use, uint64_t *alike);

/*
 * Releases what was freed before this call. Any thread. The discard function's errors; EXT2MB_ET_FORKED, and nothing
 * done, as ext2mb_sync() too: another process has gone on with the allocator since fork().
 */
EXT2MB_MUST_CHECK errcode_t ext2mb_commit(struct ext2mb *mb);

/*
 * Gives all preallocations back and commits, then writes bitmaps, descriptors and counters back through libext2fs, even
 * if the discard function failed; an error in writing is returned before one of its. What could not be written stays to
 * be written by the next call; all else is written. No other thread may run.
 */
EXT2MB_MUST_CHECK errcode_t ext2mb_sync(struct ext2mb *mb);

/* Recounts everything from the bottom; EXT2MB_ET_CHECK_FAILED says in why what does not agree. No other thread. */
EXT2MB_MUST_CHECK errcode_t ext2mb_check(struct ext2mb *mb, char *why, size_t why_bytes);

/*
 * Free blocks and inodes now, exact while no thread allocates. Else the blocks are never below zero, and too many by no
 * more than what commits released, and files gave back of their preallocations, while this was running.
 */
uint64_t ext2mb_free_blocks(struct ext2mb *mb);
uint64_t ext2mb_free_inodes(struct ext2mb *mb);

/* Preallocated blocks now, which are not among the free ones but can be had as well. */
uint64_t ext2mb_reserved_blocks(struct ext2mb *mb);

/* ext4_discard_preallocations() for all files: without a sync. Returns how many blocks were given back. Any thread. */
uint64_t ext2mb_discard_preallocations(struct ext2mb_worker *worker);

/* What happened since ext2mb_open(), over all workers; the same that the kernel shows in mb_stats. */
struct ext2mb_stats {
	size_t struct_bytes; /* sizeof(struct ext2mb_stats), set by the caller */
	uint64_t requests;
	uint64_t successes;
	uint64_t blocks_allocated;
	uint64_t frees;
	uint64_t blocks_freed;
	uint64_t goal_hits;        /* exactly at the goal */
	uint64_t stream_goal_hits; /* in the group of the stream's goal */
	uint64_t length_hits;      /* a run of exactly the length that was asked for */
	uint64_t packed;
	uint64_t extents_scanned;
	uint64_t groups_scanned;
	uint64_t busy_skips;      /* groups passed over because another thread held them */
	uint64_t busy_waits;      /* of those, how many were waited for before quality was lowered */
	uint64_t lost_chunks;     /* the best extent seen was gone when it was to be taken */
	uint64_t breaks;          /* enough free runs had been seen: the best of them had to do */
	uint64_t repeated_sweeps; /* nothing was found, but blocks had been released meanwhile */
	uint64_t inodes_allocated;
	uint64_t inodes_freed;
	uint64_t corrupt_groups;         /* left out, for their blocks, their inodes or both */
	uint64_t preallocation_hits;     /* requests for files that their own preallocations served */
	uint64_t preallocations_opened;  /* of files */
	uint64_t preallocation_discards; /* times that all of them were given back for want of free space */
	uint64_t least_requests;         /* with least_blocks or EXT2MB_ALLOC_WHOLE, of more than a cluster */
	uint64_t least_refusals;         /* of those, with EXT2MB_ET_NO_SPACE: no run was long enough */
};

/* Any thread, at any time; exact while no thread allocates. */
EXT2MB_MUST_CHECK errcode_t ext2mb_read_stats(struct ext2mb *mb, struct ext2mb_stats *stats);

/* The same for one of the criteria by which free space is looked for. */
struct ext2mb_criterion_stats {
	size_t struct_bytes; /* sizeof(struct ext2mb_criterion_stats), set by the caller */
	const char *name;    /* "power of two", "goal length fast", "best available", "goal length slow", "any free" */
	uint64_t hits;       /* requests that it served */
	uint64_t extents;    /* free runs looked at */
	uint64_t groups;     /* groups considered */
	uint64_t failures;   /* gone through in vain */
};

/*
 * index: from 0 on, best first; a later version may have more. EXT2MB_ET_BAD_RANGE after the last one. name is for
 * good. Any thread, at any time.
 */
EXT2MB_MUST_CHECK errcode_t ext2mb_read_criterion_stats(struct ext2mb *mb, unsigned int index,
                                                        struct ext2mb_criterion_stats *stats);

/* Takes a piece of text, whole lines or less; an error ends the writing and is returned. No 0 follows the text. */
typedef errcode_t (*ext2mb_write_function)(void *context, const char *text, size_t bytes);

/*
 * The kernel's own forms: /proc/fs/ext4/DEVICE/mb_stats, mb_groups and mb_structs_summary as Linux 6.18 writes them.
 * Any thread, at any time; a picture of one moment only while no thread allocates. mb_groups reads every group that
 * has not been touched yet; the summary counts those by what their descriptors say. ENOMEM, and what write returns.
 */
EXT2MB_MUST_CHECK errcode_t ext2mb_write_mb_stats(struct ext2mb *mb, ext2mb_write_function write, void *context);
EXT2MB_MUST_CHECK errcode_t ext2mb_write_mb_groups(struct ext2mb *mb, ext2mb_write_function write, void *context);
EXT2MB_MUST_CHECK errcode_t ext2mb_write_mb_structs_summary(struct ext2mb *mb, ext2mb_write_function write,
                                                            void *context);

/*
 * The kernel's mount option mb_optimize_scan, switched while threads allocate: not 0: groups are found by their
 * orders; 0: one after the other. Any thread. Returns when every group is in the sets where it belongs.
 */
void ext2mb_set_optimize_scan(struct ext2mb *mb, int is_on);

/*
 * The first run of free blocks that starts at or after `from` (or contains it: then it starts at from), not
 * joined across groups; EXT2MB_ET_NO_SPACE when there is none. For those who plan a layout by themselves.
 */
EXT2MB_MUST_CHECK errcode_t ext2mb_next_free(struct ext2mb *mb, uint64_t from, struct ext2mb_extent *extent);

#define EXT2MB_INODE_DIRECTORY 0x0001u /* counted as a directory; spread unless packed */
#define EXT2MB_INODE_PACK 0x0002u      /* the first free inode at or after goal */

struct ext2mb_inode_request {
	size_t struct_bytes; /* sizeof(struct ext2mb_inode_request) */
	ext2_ino_t parent;   /* the parent directory's inode number */
	ext2_ino_t goal;     /* EXT2MB_INODE_PACK: where to begin; 0: at the first that is not reserved */
	const char *name;    /* of a directory, hashed to spread top-level ones; may be NULL */
	uint64_t flags;      /* EXT2MB_INODE_* */
};

/*
 * Takes an inode number. EXT2MB_ET_NO_INODES when none is free. In a group whose inode table was never
 * initialised (INODE_UNINIT), all of the table up to that inode must be written by the caller: its blocks may
 * hold anything, and ext2mb_sync() declares the inodes after the highest one in use as never used.
 */
EXT2MB_MUST_CHECK errcode_t ext2mb_inode_alloc(struct ext2mb_worker *worker, const struct ext2mb_inode_request *request,
                                               ext2_ino_t *ino);

/* Gives it back, to be taken again at once. EXT2MB_ET_DOUBLE_FREE, EXT2MB_ET_BAD_RANGE (reserved ones too). */
EXT2MB_MUST_CHECK errcode_t ext2mb_inode_free(struct ext2mb_worker *worker, ext2_ino_t ino, int is_directory);

/*
 * Orphans: inodes to be deleted (no links left) or truncated to their size (some left) by what next mounts or
 * checks the filesystem, should this program not get to do it. They stand in the orphan file (feature orphan_file,
 * Linux 5.15, e2fsprogs 1.47) or, where there is none or it is full, on the superblock's list, which is chained
 * through i_dtime. As in Jan Kara's "ext4: Improve scalability of ext4 orphan file handling" (mail of 16 June
 * 2021), adding and deleting take no lock as long as the file has room.
 */
struct ext2mb_orphans;

struct ext2mb_orphan_options {
	size_t struct_bytes; /* sizeof(struct ext2mb_orphan_options) */
	struct ext2mb *mb;   /* the allocator attached to the same filesystem; NULL: none is */
};

/*
 * Reads and verifies the orphan file and the list. why gets the inode or block in question when this fails, else
 * "" (NULL with 0 bytes: not wanted). The filesystem stays the caller's and must outlive the handle, as must mb.
 * EXT2MB_ET_NEEDS_RECOVERY: what is on disk is not valid before the journal is replayed. EXT2MB_ET_ORPHAN_FILE,
 * _TOO_BIG, _HOLE, _MAGIC, _CHECKSUM, _LIST: e2fsck's matter. Also ENOMEM and libext2fs's errors in reading.
 */
EXT2MB_MUST_CHECK errcode_t ext2mb_orphan_open(ext2_filsys fs, const struct ext2mb_orphan_options *options, char *why,
                                               size_t why_bytes, struct ext2mb_orphans **ret);

/* Frees it; what was not synced is lost. NULL is allowed. */
void ext2mb_orphan_close(struct ext2mb_orphans *orphans);

#define EXT2MB_ORPHAN_ON_LIST 0x80000000u /* indexes from here on are on the superblock's list */

/*
 * Adds an inode, once, and says where it stands until it is deleted again. Any thread. worker: any number; threads
 * with different ones keep out of each other's way. No I/O. While an inode is on the list, its i_dtime belongs to
 * the list. EXT2MB_ET_BAD_RANGE (reserved inodes too); ENOMEM, for the list only.
 */
EXT2MB_MUST_CHECK errcode_t ext2mb_orphan_add(struct ext2mb_orphans *orphans, unsigned int worker, ext2_ino_t ino,
                                              uint32_t *index);

/* Any thread. EXT2MB_ET_ORPHAN_ABSENT, and nothing done, when ino does not stand there. */
EXT2MB_MUST_CHECK errcode_t ext2mb_orphan_delete(struct ext2mb_orphans *orphans, uint32_t index, ext2_ino_t ino);

/*
 * The first orphan at or after *index: its inode, and *index says where it stands; 0 when there is none. Begin with
 * 0, go on with *index + 1. Any thread; what others add and delete meanwhile may be seen or not.
 */
ext2_ino_t ext2mb_orphan_next(struct ext2mb_orphans *orphans, uint32_t *index);

/*
 * Writes what has changed, with checksums, and marks in the superblock whether anything is left, for ext2fs_flush()
 * or ext2fs_close() to write. Inodes that left the list get an i_dtime of 0, or of now if they have no links.
 * Threads may add and delete meanwhile: what they do is written by this call or the next one. Nobody else may use
 * fs. EXT2_ET_RO_FILSYS and errors in writing; what could not be written stays to be written.
 */
EXT2MB_MUST_CHECK errcode_t ext2mb_orphan_sync(struct ext2mb_orphans *orphans);

struct ext2mb_orphan_released {
	size_t struct_bytes; /* sizeof(struct ext2mb_orphan_released), set by the caller */
	uint64_t deleted;    /* inodes */
	uint64_t truncated;  /* inodes */
	uint64_t blocks;     /* freed; with bigalloc those of whole clusters */
};

/*
 * Does what the orphans wait for, as a mount or e2fsck -p would: deletes those without links, truncates the others,
 * list first, and takes each off; ext2mb_orphan_sync() writes that. Blocks and inodes go back through the allocator
 * mb, to be written by ext2mb_sync(); without one, through one of its own, which has been synced on return. No other
 * thread may use any of it. EXT2MB_ET_ATTACHED: the filesystem has an allocator that ext2mb_orphan_open() was not told
 * of. Ends at the first orphan that cannot be released, which stays, and why names it:
 * EXT2MB_ET_ORPHAN_INODE (not in use, or blocks that cannot be its own), EXT2MB_ET_ORPHAN_UNSUPPORTED (quotas, xattr
 * values in other inodes), both before anything of it is changed; libext2fs's and the allocator's errors. counts may
 * be NULL; it is right after errors, too.
 */
EXT2MB_MUST_CHECK errcode_t ext2mb_orphan_release(struct ext2mb_orphans *orphans, struct ext2mb_orphan_released *counts,
                                                  char *why, size_t why_bytes);

/*
 * Programs that allocate through libext2fs, one block a call, can have the allocator without a change of theirs: once
 * it is attached, what ext2fs_file_write(), ext2fs_bmap2(), ext2fs_fallocate(), ext2fs_mkdir(), ext2fs_expand_dir(),
 * ext2fs_symlink(), extent trees and xattrs of this handle need comes from it; the blocks of a file from a
 * preallocation of the file's own, so that writes of a block each give long extents and need no search. It hooks into
 * libext2fs (get_alloc_block2, new_range, block_alloc_stats and block_alloc_stats_range), which marks what it is given,
 * as ever: fs->block_map, descriptors and counters are right after each call, and show preallocations as free. Programs
 * may mark and free blocks there themselves; what they do is found out in time. Nothing is refused for want of space
 * that libext2fs alone would have found. What is freed can be had again at once, as without the allocator. The last
 * block or cluster is handed out when no other is left: before 1.47.4 ext2fs_punch() fails where an extent ends there.
 *
 * Threads: as libext2fs, one at a time for each handle.
 */
struct ext2mb_attach_options {
	size_t struct_bytes;                    /* sizeof(struct ext2mb_attach_options) */
	const struct ext2mb_options *allocator; /* NULL: the defaults; without a discard function */
	uint64_t open_files; /* so many files at most keep preallocations, those allocated for last; 0: 1024; at most
	                        2^20 */
};

/*
 * options may be NULL. No I/O. EXT2MB_ET_HOOKS_TAKEN: the program has set functions of its own, as e2fsck and resize2fs
 * do; EXT2MB_ET_ATTACHED: one is attached or open; EXT2_ET_RO_FILSYS; ext2mb_open()'s errors. A copy that
 * ext2fs_dup_handle() makes has no allocator, and must be attached by itself if it is to have one. Should the program
 * set fs->get_alloc_block afterwards, that function is asked, and should it change the filesystem's size, libext2fs
 * allocates by itself from then on.
 */
EXT2MB_MUST_CHECK errcode_t ext2mb_attach(ext2_filsys fs, const struct ext2mb_attach_options *options);

/*
 * Everything is in the handle already; from now on it allocates as it did before. To be called before ext2fs_close() or
 * ext2fs_free(), which tell nobody: else the allocator's memory is kept until a handle at the same address is attached.
 * EXT2MB_ET_NOT_ATTACHED; EXT2MB_ET_IN_USE: the program has workers or files of ext2mb_attached() open.
 */
errcode_t ext2mb_detach(ext2_filsys fs);

/*
 * The allocator attached to the handle, until it is detached; NULL: none. To look at (counters, forms, free blocks,
 * what blocks are used for, ext2mb_check()) and to allocate and free in addition, where the caller marks in the map
 * what it takes before libext2fs is called again; through workers that are closed before it is detached. They, too,
 * hand out nothing that the program has marked there, so the map must not change while they allocate. ext2mb_sync() and
 * ext2mb_close() refuse it, with EXT2MB_ET_ATTACHED: what is to be written is in the handle.
 */
struct ext2mb *ext2mb_attached(ext2_filsys fs);

/*
 * Transactions: programs that write ext4 through libext2fs become safe against crashes and power cuts. A filesystem
 * that was opened with this io_manager keeps what is written in memory, and ext2mb_transaction_commit() puts all of
 * it on disk or nothing, through the filesystem's own journal, which the kernel and e2fsck replay. Blocks that were
 * free at the last commit are written at once, for nothing refers to them before the next one. See doc/TRANSACTIONS.md.
 *
 *	ext2fs_open2(name, NULL, EXT2_FLAG_RW | EXT2_FLAG_64BITS, 0, 0, ext2mb_transaction_io_manager(0), &fs);
 *	... changes by calls of libext2fs ...
 *	ext2mb_transaction_commit(fs);
 *
 * Opening for writing replays the journal, if need be, with e2fsck(8) (EXT2MB_ET_REPLAY: that failed). ext2fs_open2()
 * returns EXT2MB_ET_NO_JOURNAL where there is no journal or an external one, EXT2MB_ET_BAD_JOURNAL for one that is
 * damaged or has unknown features, and EBUSY where another handle or process has the filesystem open for transactions
 * (flock(2) on the file or device). Opened without EXT2_FLAG_RW the filesystem is read as with unix_io.
 *
 * Refused are writes to the journal, and freeing its blocks (EXT2MB_ET_JOURNAL_WRITE), another size or another
 * journal in the superblock (EXT2MB_ET_LAYOUT_CHANGE), and what lies outside of the filesystem
 * (EXT2MB_ET_BAD_RANGE). After a write that was refused or failed, a failed commit or an abort, libext2fs's memory
 * is not what is on disk: all further writes and commits return EXT2MB_ET_TRANSACTION_OVER until the filesystem is
 * opened anew; ext2fs_free() lets go of the old handle.
 *
 * Closing commits what is left; ext2fs_close() does not tell how that went: commit before. Where a step is open it is
 * dropped, and ext2fs_close() returns EXT2MB_ET_IN_STEP; ext2fs_free() lets go of the handle then. After fork() the
 * process that first writes, begins a step or commits goes on; the other one gets EXT2MB_ET_FORKED, and writes nothing.
 *A flush of the channel, so also ext2fs_flush(), commits nothing. The channel may be used by any number of threads; the
 * functions here call libext2fs, which may not, but for those of which it is said.
 */
#define EXT2MB_NO_JOURNAL                                                                                              \
	0x0001u /* a filesystem without a journal of its own is taken, too: its commits can be cut short */

/* flags: 0 or EXT2MB_NO_JOURNAL; NULL for others. It is for good. Any thread. error_message() knows our errors then. */
io_manager ext2mb_transaction_io_manager(uint64_t flags);

/*
 * A step is what must not be divided. A transaction is one step or several: before a step begins, what has been changed
 * until then is committed if it would fill half of the journal, together with blocks that were freed, for they are
 * journalled when they are given out again. (libext2fs's hooks block_alloc_stats and block_alloc_stats_range tell of
 * these. Where the program has set others, whatever has been changed is committed.) Without steps a transaction is
 * all between two commits.
 * EXT2MB_ET_IN_STEP: one is open already; EXT2MB_ET_NO_TRANSACTION (as for all of these): fs has another io_manager;
 * EXT2MB_ET_TRANSACTION_OVER; EXT2_ET_RO_FILSYS.
 */
EXT2MB_MUST_CHECK errcode_t ext2mb_transaction_begin(ext2_filsys fs);

/* Ends the step; what it changed is committed some time later. EXT2MB_ET_BAD_ARGUMENT: none is open. */
EXT2MB_MUST_CHECK errcode_t ext2mb_transaction_end(ext2_filsys fs);

/*
 * Ends the step, if one is open, syncs the allocator that ext2mb_open() has given fs, if there is one, so that no other
 * thread may use it now, flushes fs, and commits. On return it is on disk, for good.
 * EXT2MB_ET_TRANSACTION_SIZE: it is larger than the journal; nothing of it is on disk then, as after any other error
 * before the commit block is written. After an error in writing, whether the transaction took place is seen when
 * the filesystem is opened anew.
 */
EXT2MB_MUST_CHECK errcode_t ext2mb_transaction_commit(ext2_filsys fs);

/* Forgets all that was changed since the last commit. Only ext2fs_free() is of use afterwards, and reading. */
EXT2MB_MUST_CHECK errcode_t ext2mb_transaction_abort(ext2_filsys fs);

/*
 * Says that these blocks are contents of files, and have been since the last commit: until the next one, or until they
 * are freed, they are overwritten at once, as with data=ordered, instead of going through the journal.
 * EXT2MB_ET_BAD_RANGE, ENOMEM; EXT2MB_ET_HOOKS_TAKEN: the program has set the hooks that tell what is freed.
 */
EXT2MB_MUST_CHECK errcode_t ext2mb_transaction_name_data(ext2_filsys fs, uint64_t start, uint64_t count);

/*
 * Contents of new files, in parallel. A write through fs->io has the channel for itself. These three functions may be
 * called by any number of threads at the same time, together with one that calls libext2fs, all others of this library
 * and the channel; only not while fs is being opened or closed, and not during fork(). They do not call libext2fs's
 * filesystem. Blocks: all of them must have been free at the last commit, as those are that the allocator hands out and
 * that have not been freed since; then nothing on disk refers to them. Else EXT2MB_ET_NOT_FREE: nothing has been
 * written, and the contents go through fs->io, into the journal. A commit, also one with which a step begins, makes
 * blocks count as in use: a step whose blocks threads write ends after they have done so.
 *
 * All is flushed before the commit block of the next commit is written. A commit and an abort wait for writes that are
 * under way. A write that fails ends the transaction, as one through fs->io does: no commit refers to contents that are
 * not there. The transaction goes on after all other errors: EXT2MB_ET_BAD_RANGE; EXT2MB_ET_CLAIMED (another thread
 * writes one of the blocks, or has claimed it), EXT2MB_ET_BAD_ARGUMENT (also for a count of 0),
 * EXT2MB_ET_TRANSACTION_OVER, EXT2MB_ET_FORKED, EXT2_ET_RO_FILSYS, ENOMEM, errors in reading a bitmap. A write through
 * fs->io to a block that is being written or claimed is refused with EXT2MB_ET_CLAIMED, and ends the transaction.
 *
 * O_DIRECT and the page cache are never mixed. ext2mb_transaction_write_data() writes through the channel's own
 * descriptor: with O_DIRECT where fs has been opened with EXT2_FLAG_DIRECT_IO, else without, so that the channel reads
 * what it has written. With O_DIRECT data that is aligned to fs->io->align is written from where it lies, and other
 * data is copied. Where blocks are smaller than that alignment, or the filesystem has an offset, threads take turns.
 */

/* Writes these whole blocks, now. */
EXT2MB_MUST_CHECK errcode_t ext2mb_transaction_write_data(ext2_filsys fs, uint64_t start, uint64_t count,
                                                          const void *data);

/*
 * The program writes these blocks itself, by pwrite(2), copy_file_range(2) or what it likes: with a descriptor of its
 * own of the same file or device, which has O_DIRECT if, and only if, fs was opened with EXT2_FLAG_DIRECT_IO. Until all
 * that was claimed is released, commits return EXT2MB_ET_CLAIMED, and have done nothing, as does a step that would
 * begin with one; closing commits nothing, and ext2fs_close() returns EXT2MB_ET_CLAIMED, as with a step that is open.
 * After an abort nothing more may be written. EXT2_ET_OP_NOT_SUPPORTED: threads would have to take turns, as above.
 */
EXT2MB_MUST_CHECK errcode_t ext2mb_transaction_claim_data(ext2_filsys fs, uint64_t start, uint64_t count);

/*
 * They have been written, or that has failed with write_error, which ends the transaction; 0: it has not. Of what was
 * claimed all, or a part. EXT2MB_ET_BAD_RANGE: one of them is not claimed; nothing has changed.
 */
EXT2MB_MUST_CHECK errcode_t ext2mb_transaction_release_data(ext2_filsys fs, uint64_t start, uint64_t count,
                                                            errcode_t write_error);

struct ext2mb_transaction_info {
	size_t struct_bytes;       /* sizeof(struct ext2mb_transaction_info), set by the caller */
	errcode_t why_over;        /* 0: it is not; else what failed first */
	uint64_t journal_blocks;   /* the most that a transaction may have in the log; 0: there is no journal */
	uint64_t next_sequence;    /* tid of the next transaction */
	uint64_t held_blocks;      /* in memory now */
	uint64_t log_blocks;       /* that a commit would write into the log now, at most */
	uint64_t commits;          /* since it was opened, as all that follows */
	uint64_t direct_blocks;    /* written where they belong, at once */
	uint64_t logged_blocks;    /* of files and metadata, through the log */
	uint64_t unchanged_blocks; /* written as they were on disk, and so left out */
};

/* Any thread. */
EXT2MB_MUST_CHECK errcode_t ext2mb_transaction_read_info(ext2_filsys fs, struct ext2mb_transaction_info *info);

#ifdef __cplusplus
}
#endif

#endif
