/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libext2mb: a multithreaded block and inode allocator for ext4 filesystems in userspace, an extension of
 * libext2fs. It does what the kernel's mballoc does (Linux 6.17, after the 17-patch scalability series of
 * Baokun Li, 2025).
 *
 * Threads: ext2mb_open(), ext2mb_sync(), ext2mb_check() and ext2mb_close() call libext2fs, which is not thread-safe,
 * or look at everything: no other thread may use fs or the allocator while they run. All other functions may be
 * called by any number of threads at the same time, each with a worker handle of its own, unless a declaration says
 * otherwise. Units are filesystem blocks; with bigalloc starts and counts are multiples of a cluster.
 *
 * Versions: every structure that may grow begins with struct_bytes, which the caller sets to its sizeof, and grows at
 * its end only. As with Linux's copy_struct_from_user(), members that an older program lacks are taken to be zero,
 * which is always the default. Members of a newer program that this library does not know must be zero; otherwise the
 * call returns EXT2MB_ET_UNKNOWN_FIELD and does nothing. Results are cut to the caller's size, and members that this
 * library does not know become zero. A size below the structure's first version, or above 4096 bytes, is
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
#include <ext2fs/ext2mb_version.h> /* EXT2MB_VERSION and its parts: the version that a program is compiled with */

#ifdef __cplusplus
extern "C" {
#endif

#define EXT2MB_MUST_CHECK __attribute__((warn_unused_result))

/*
 * EXT2MB_VERSION of the library that the program runs with. string: NULL, or set to its EXT2MB_VERSION_STRING, which
 * is static. Any thread.
 */
uint32_t ext2mb_library_version(const char **string);

struct ext2mb;
struct ext2mb_worker;

/*
 * Called with the blocks that a commit releases, before any of them can be allocated again: runs in ascending order;
 * runs that touch are joined, across groups too. It runs in the thread that commits, without locks that other threads
 * need: they may allocate and free meanwhile. An error stops nothing: the other runs are passed and all are released;
 * ext2mb_commit() or ext2mb_sync() returns the first error in the end. A crash could make freed blocks be in use
 * again, so before discarding them commit only after the metadata that freed them is on disk.
 *
 * The function may call all others, through workers that no other thread uses, but five: ext2mb_commit(),
 * ext2mb_sync(), ext2mb_check(), ext2mb_close() and ext2mb_orphan_release() of this allocator return
 * EXT2MB_ET_IN_DISCARD and do nothing. Nor may it wait for another thread that calls one of them. The library cannot
 * detect that, and it never ends.
 */
typedef errcode_t (*ext2mb_discard_function)(void *context, uint64_t start, uint64_t count);

enum ext2mb_scan {
	EXT2MB_SCAN_DEFAULT, /* indexed */
	EXT2MB_SCAN_LINEAR,
	EXT2MB_SCAN_INDEXED,
};

/* How much is preallocated for a file that grows. */
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
	EXT2MB_LOCALITY_THREAD,    /* files that one worker writes; Linux does so by processor */
	EXT2MB_LOCALITY_NONE,      /* none: small files are treated as large ones */
};

struct ext2mb_options {
	size_t struct_bytes;             /* sizeof(struct ext2mb_options) */
	uint32_t streams;                /* stream goals asked for, 0: 64; at most ceil(groups / 4) are kept */
	ext2mb_discard_function discard; /* NULL: none */
	void *discard_context;
	uint32_t stripe_blocks; /* of a RAID, 0: the superblock's; EXT2MB_NO_STRIPE: none */
	enum ext2mb_scan optimize_scan;

	/* The next three are for files (ext2mb_file_open()). */
	enum ext2mb_normalization normalization;
	enum ext2mb_locality locality;
	uint32_t small_file_blocks;          /* files up to this size are small; 0: 16 */
	uint32_t group_preallocation_blocks; /* 0: 512; at least 32 clusters, rounded up to the stripe */
};

#define EXT2MB_NO_STRIPE UINT32_MAX

/*
 * Opens an allocator on an open filesystem (with EXT2_FLAG_RW if it is to be written back). A group's state is read
 * when it is first needed, through fs->io under a lock of the allocator's. Until ext2mb_close(), which comes before
 * fs is closed, the program may not use fs->io, and only ext2mb_sync() updates fs->block_map and fs->inode_map, if
 * they are loaded. options may be NULL. EXT2MB_ET_BAD_GEOMETRY, EXT2MB_ET_BAD_ARGUMENT, ENOMEM;
 * EXT2MB_ET_NEEDS_RECOVERY: fs may be written, and its journal has not been replayed; EXT2MB_ET_ATTACHED: the handle
 * has an allocator already, and two would allocate the same blocks. On a handle with transactions each commit syncs
 * the allocator first.
 */
EXT2MB_MUST_CHECK errcode_t ext2mb_open(ext2_filsys fs, const struct ext2mb_options *options, struct ext2mb **ret);

/*
 * Frees the allocator; changes that were not synced are lost. NULL is allowed. EXT2MB_ET_IN_USE: a worker or a file
 * is open; EXT2MB_ET_IN_DISCARD; after an error nothing has changed.
 */
errcode_t ext2mb_close(struct ext2mb *mb);

/*
 * A closed worker is refused with EXT2MB_ET_BAD_ARGUMENT until another one is opened or the allocator is closed.
 * Debug builds of the library (-DEXT2MB_DEBUG) refuse a worker that two threads use at the same time, with
 * EXT2MB_ET_WORKER_BUSY.
 */
EXT2MB_MUST_CHECK errcode_t ext2mb_worker_open(struct ext2mb *mb, struct ext2mb_worker **ret);
void ext2mb_worker_close(struct ext2mb_worker *worker);

#define EXT2MB_ALLOC_GOAL_ONLY 0x0001u /* exactly at goal or not at all; may be shorter than requested */
#define EXT2MB_ALLOC_STREAM 0x0002u    /* a large file: start from the stream's hashed goal */
#define EXT2MB_ALLOC_PACK 0x0004u      /* the first free extent in [goal, limit), cut to count; see below */
#define EXT2MB_ALLOC_WHOLE 0x0008u     /* count blocks, at most a group, in one piece or none */

/*
 * EXT2MB_ALLOC_PACK uses no hint and waits for busy groups, so the result depends only on the free blocks in [goal,
 * limit): threads with disjoint ranges do not influence one another. An extent ends where its group does. No other
 * flag may be combined with it.
 */

struct ext2mb_request {
	size_t struct_bytes; /* sizeof(struct ext2mb_request) */
	uint64_t goal;       /* a block: if all of count is free there, it is taken; otherwise the search begins near
	                      * it. 0: after the worker's last request without goal and stream, if all of count is
	                      * free there */
	uint64_t limit;      /* EXT2MB_ALLOC_PACK: the first block not to be used; 0: the end of the filesystem */
	uint64_t count;      /* blocks wanted */
	uint64_t stream;     /* the inode number, hashed to a stream goal */
	uint64_t flags;      /* EXT2MB_ALLOC_* */

	/*
	 * XFS's minlen: at least so many blocks in one extent, or EXT2MB_ET_NO_SPACE; 0: any number. At most count
	 * and at most a group; whole clusters, as count. The search still looks for all of count. EXT2MB_ALLOC_WHOLE
	 * means count, whatever this says. If only preallocations prevent such an extent, those that lie in it are
	 * discarded, others are not.
	 */
	uint64_t least_blocks;
};

/* Never grows. */
struct ext2mb_extent {
	uint64_t start;
	uint64_t count; /* at least one cluster, at most the requested count */
};

/*
 * Allocates up to count blocks in one extent. EXT2MB_ET_NO_SPACE: no free extent, or none of the least length.
 * EXT2MB_ET_BAD_ARGUMENT, also for a least length of more than count or of more than a group, which is an extent's
 * limit. With a stripe, a count that is a multiple of it is first looked for at multiples of it; if count is one
 * stripe, a goal that is not a multiple is ignored (except with EXT2MB_ALLOC_GOAL_ONLY).
 */
EXT2MB_MUST_CHECK errcode_t ext2mb_alloc(struct ext2mb_worker *worker, const struct ext2mb_request *request,
                                         struct ext2mb_extent *extent);

/*
 * Files that grow: an allocation may reserve more than was requested, as a preallocation. It serves the file's next
 * requests without a search and without any lock that threads share. Small files share preallocations. Preallocated
 * blocks are not in use: ext2mb_free() refuses them (EXT2MB_ET_RESERVED_FREE). They do not count as free either, but
 * they are discarded as soon as an allocation of any kind (other than EXT2MB_ALLOC_GOAL_ONLY) finds nothing else, and
 * always by ext2mb_sync(). So a preallocation never causes EXT2MB_ET_NO_SPACE, and no bitmap on disk contains one.
 *
 * One thread at a time uses a handle, with its own worker of the same allocator; different handles may be used at the
 * same time. With another allocator's worker calls return EXT2MB_ET_BAD_ARGUMENT or do nothing.
 */
struct ext2mb_file;

#define EXT2MB_FILE_FINAL 0x0001u /* blocks is the file's final size: nothing is reserved after it */

struct ext2mb_file_info {
	size_t struct_bytes; /* sizeof(struct ext2mb_file_info) */
	uint64_t blocks;     /* the file's present size or, with EXT2MB_FILE_FINAL, its final one */
	ext2_ino_t ino;      /* hashed to a stream goal */
	ext2_ino_t parent;   /* the directory near which, and among whose files, a small file lies; 0: any */
	uint64_t flags;      /* EXT2MB_FILE_FINAL */
};

/* EXT2MB_ET_BAD_ARGUMENT, ENOMEM. No I/O and no search. */
EXT2MB_MUST_CHECK errcode_t ext2mb_file_open(struct ext2mb_worker *worker, const struct ext2mb_file_info *info,
                                             struct ext2mb_file **ret);

#define EXT2MB_FILE_UNWRITTEN 0x0001u /* from fallocate(2), which requests exactly what it wants */

/* In filesystem blocks; with bigalloc all are multiples of a cluster. */
struct ext2mb_file_request {
	size_t struct_bytes; /* sizeof(struct ext2mb_file_request) */
	uint64_t logical;    /* the first requested block of the file, which is not mapped */
	uint64_t count;
	uint64_t whole_count; /* the size of the whole request, if this is a part of one; else 0 */

	/*
	 * The hole around the request in the file's map. hole_end 0: unknown. Then everything after the blocks that
	 * were allocated through this handle (and, unless FINAL, after `blocks`) is one hole, and a request before
	 * that fills a hole of its own size.
	 */
	uint64_t hole_start;
	uint64_t hole_end;
	uint64_t left_physical;  /* the block after the one that hole_start - 1 is mapped to; 0: none, or this
	                          * handle's last one */
	uint64_t right_physical; /* the block that hole_end is mapped to; 0: none */
	uint64_t flags;          /* EXT2MB_FILE_UNWRITTEN */
};

/*
 * Allocates up to count blocks for the file at `logical`, in one extent; call it again for the rest.
 * EXT2MB_ET_NO_SPACE, EXT2MB_ET_BAD_ARGUMENT, ENOMEM.
 */
EXT2MB_MUST_CHECK errcode_t ext2mb_file_alloc(struct ext2mb_worker *worker, struct ext2mb_file *file,
                                              const struct ext2mb_file_request *request, struct ext2mb_extent *extent);

/* Discards all of the file's preallocations; the file now ends at `blocks`. The caller frees the blocks that were
 * mapped after that. */
void ext2mb_file_truncate(struct ext2mb_worker *worker, struct ext2mb_file *file, uint64_t blocks);

/* Discards the file's preallocations; those for small files go back to their locality group. NULL is allowed. */
void ext2mb_file_close(struct ext2mb_worker *worker, struct ext2mb_file *file);

/*
 * Frees blocks that are in use and hold no metadata of the filesystem itself (bitmaps, inode tables, descriptors);
 * otherwise frees nothing and returns EXT2MB_ET_DOUBLE_FREE (free, or freed and not yet committed),
 * EXT2MB_ET_RESERVED_FREE (preallocated, and not allocated), EXT2MB_ET_METADATA_FREE or EXT2MB_ET_BAD_RANGE. They can
 * be allocated again after the next commit.
 */
EXT2MB_MUST_CHECK errcode_t ext2mb_free(struct ext2mb_worker *worker, uint64_t start, uint64_t count);

/*
 * Makes blocks free at once, without a commit and without the discard function: all or a part of the extent that
 * ext2mb_alloc() gave this worker last, if there was no commit since. It is for an allocation that was not used (the
 * kernel's ext4_discard_allocated_blocks()): nothing on disk may refer to these blocks. EXT2MB_ET_BAD_RANGE: they are
 * not a part of that extent, and ext2mb_free() frees them, or they have been given back; once a middle part is given
 * back, the blocks after it do not count as a part any more. EXT2MB_ET_DOUBLE_FREE: ext2mb_free() has freed them. It
 * takes only the last extent: for all of them each worker would need a list, which would slow down every request.
 */
EXT2MB_MUST_CHECK errcode_t ext2mb_give_back(struct ext2mb_worker *worker, uint64_t start, uint64_t count);

/*
 * Marks exactly these blocks as used, in any groups, for a program that knows from elsewhere that they are in use, as
 * the kernel's fast-commit replay does with ext4_mb_mark_bb(). Preallocations that lie there are discarded.
 * EXT2MB_ET_NO_SPACE, and nothing has changed, if any of the blocks is in use, or freed and not committed;
 * EXT2MB_ET_BAD_RANGE, EXT2MB_ET_CORRUPT_GROUP, ENOMEM.
 */
EXT2MB_MUST_CHECK errcode_t ext2mb_mark_used(struct ext2mb_worker *worker, uint64_t start, uint64_t count);

enum ext2mb_block_use {
	EXT2MB_BLOCKS_FREE,
	EXT2MB_BLOCKS_RESERVED, /* preallocated: not in use, and available to requests that find nothing else */
	EXT2MB_BLOCKS_USED,     /* allocated, metadata of the filesystem, or freed and not committed yet */
};

/*
 * Returns the use of the block at start, and in *alike how many blocks from there on, at most count, have the same
 * use, across groups. All are free if *use is EXT2MB_BLOCKS_FREE and *alike is count (as
 * ext2fs_test_block_bitmap_range2() tells). Any thread, at any time. It is a snapshot of one group after the other:
 * other threads may change the blocks before it returns. EXT2MB_ET_BAD_RANGE; ENOMEM; EXT2MB_ET_CORRUPT_GROUP if the
 * first block's group is corrupt, while a later corrupt group ends the run.
 */
EXT2MB_MUST_CHECK errcode_t ext2mb_query_blocks(struct ext2mb *mb, uint64_t start, uint64_t count,
                                                enum ext2mb_block_use *use, uint64_t *alike);

/*
 * Releases the blocks that were freed before this call. Any thread. The discard function's errors; EXT2MB_ET_FORKED,
 * and nothing is done: another process has gone on with the allocator since fork(). ext2mb_sync() returns that, too.
 */
EXT2MB_MUST_CHECK errcode_t ext2mb_commit(struct ext2mb *mb);

/*
 * Discards all preallocations and commits, then writes bitmaps, descriptors and counters through libext2fs, even if
 * the discard function failed; an error in writing takes precedence over one of its errors. The next call writes
 * again what could not be written; everything else is written. No other thread may run.
 */
EXT2MB_MUST_CHECK errcode_t ext2mb_sync(struct ext2mb *mb);

/* Recounts everything; with EXT2MB_ET_CHECK_FAILED, why says what does not agree. No other thread may run. */
EXT2MB_MUST_CHECK errcode_t ext2mb_check(struct ext2mb *mb, char *why, size_t why_bytes);

/*
 * The present number of free blocks or inodes, exact while no thread allocates. Otherwise the number of blocks is
 * never below zero, and too high by at most what commits and discarded preallocations released during the call.
 */
uint64_t ext2mb_free_blocks(struct ext2mb *mb);
uint64_t ext2mb_free_inodes(struct ext2mb *mb);

/* The present number of preallocated blocks, which are not counted as free but are available, too. */
uint64_t ext2mb_reserved_blocks(struct ext2mb *mb);

/* ext4_discard_preallocations() for all files, without a sync. Returns how many blocks were released. Any thread. */
uint64_t ext2mb_discard_preallocations(struct ext2mb_worker *worker);

/* Counters since ext2mb_open() over all workers, as the kernel's mb_stats shows them. */
struct ext2mb_stats {
	size_t struct_bytes; /* sizeof(struct ext2mb_stats), set by the caller */
	uint64_t requests;
	uint64_t successes;
	uint64_t blocks_allocated;
	uint64_t frees;
	uint64_t blocks_freed;
	uint64_t goal_hits;        /* allocations exactly at the goal */
	uint64_t stream_goal_hits; /* allocations in the group of the stream's goal */
	uint64_t length_hits;      /* a free extent of exactly the requested length */
	uint64_t packed;
	uint64_t extents_scanned;
	uint64_t groups_scanned;
	uint64_t busy_skips;      /* groups passed over because another thread held them */
	uint64_t busy_waits;      /* of those, how many were waited for before quality was lowered */
	uint64_t lost_chunks;     /* the best extent found was taken by another thread in between */
	uint64_t breaks;          /* searches that ended after enough free extents, with the best of them */
	uint64_t repeated_sweeps; /* searches repeated because blocks had been released meanwhile */
	uint64_t inodes_allocated;
	uint64_t inodes_freed;
	uint64_t corrupt_groups;         /* groups left out because their block bitmap, inode bitmap or both are
	                                  * corrupt */
	uint64_t preallocation_hits;     /* requests for files served by the file's own preallocations */
	uint64_t preallocations_opened;  /* of files */
	uint64_t preallocation_discards; /* times that all of them were discarded for lack of free space */
	uint64_t least_requests;         /* requests with least_blocks or EXT2MB_ALLOC_WHOLE of more than a cluster */
	uint64_t least_refusals;         /* of those, refused with EXT2MB_ET_NO_SPACE: no free extent was long enough */
};

/* Any thread, at any time; exact while no thread allocates. */
EXT2MB_MUST_CHECK errcode_t ext2mb_read_stats(struct ext2mb *mb, struct ext2mb_stats *stats);

/* The same for one of the search's criteria. */
struct ext2mb_criterion_stats {
	size_t struct_bytes; /* sizeof(struct ext2mb_criterion_stats), set by the caller */
	const char *name;    /* "power of two", "goal length fast", "best available", "goal length slow", "any free" */
	uint64_t hits;       /* requests served */
	uint64_t extents;    /* free extents looked at */
	uint64_t groups;     /* groups considered */
	uint64_t failures;   /* searches that found nothing */
};

/*
 * index: from 0 on, best first; a later version may have more. EXT2MB_ET_BAD_RANGE after the last one. name is
 * static. Any thread, at any time.
 */
EXT2MB_MUST_CHECK errcode_t ext2mb_read_criterion_stats(struct ext2mb *mb, unsigned int index,
                                                        struct ext2mb_criterion_stats *stats);

/* Receives a piece of text, whole lines or less; an error ends the writing and is returned. The text has no
 * terminating NUL. */
typedef errcode_t (*ext2mb_write_function)(void *context, const char *text, size_t bytes);

/*
 * The kernel's own forms: /proc/fs/ext4/DEVICE/mb_stats, mb_groups and mb_structs_summary as Linux 6.18 writes them.
 * Any thread, at any time; consistent only while no thread allocates. mb_groups reads the bitmap of every group; the
 * summary counts groups whose bitmap has not been read by their descriptors. ENOMEM, and the errors of write.
 */
EXT2MB_MUST_CHECK errcode_t ext2mb_write_mb_stats(struct ext2mb *mb, ext2mb_write_function write, void *context);
EXT2MB_MUST_CHECK errcode_t ext2mb_write_mb_groups(struct ext2mb *mb, ext2mb_write_function write, void *context);
EXT2MB_MUST_CHECK errcode_t ext2mb_write_mb_structs_summary(struct ext2mb *mb, ext2mb_write_function write,
                                                            void *context);

/*
 * The kernel's mount option mb_optimize_scan, which may be switched while threads allocate. Not 0: groups are found
 * through the index by order; 0: one after the other. Any thread. Returns when the index has every group.
 */
void ext2mb_set_optimize_scan(struct ext2mb *mb, int is_on);

/*
 * Finds the first free extent that starts at or after `from` (or contains it: then the result starts at from), not
 * joined across groups; EXT2MB_ET_NO_SPACE if there is none. It is for programs that plan a layout themselves.
 */
EXT2MB_MUST_CHECK errcode_t ext2mb_next_free(struct ext2mb *mb, uint64_t from, struct ext2mb_extent *extent);

#define EXT2MB_INODE_DIRECTORY 0x0001u /* counted in bg_used_dirs; spread unless EXT2MB_INODE_PACK */
#define EXT2MB_INODE_PACK 0x0002u      /* the first free inode at or after goal */

struct ext2mb_inode_request {
	size_t struct_bytes; /* sizeof(struct ext2mb_inode_request) */
	ext2_ino_t parent;   /* the parent directory's inode number */
	ext2_ino_t goal;     /* EXT2MB_INODE_PACK: where to begin; 0: at the first inode that is not reserved */
	const char *name;    /* of a directory, hashed to spread top-level ones; may be NULL */
	uint64_t flags;      /* EXT2MB_INODE_* */
};

/*
 * Allocates an inode number. EXT2MB_ET_NO_INODES: none is free. If the group's inode table was never initialised
 * (INODE_UNINIT), the caller must write the table up to that inode: its blocks may hold anything, and ext2mb_sync()
 * marks only the inodes after the highest one in use as never used (bg_itable_unused).
 */
EXT2MB_MUST_CHECK errcode_t ext2mb_inode_alloc(struct ext2mb_worker *worker, const struct ext2mb_inode_request *request,
                                               ext2_ino_t *ino);

/* Frees an inode number, which can be allocated again at once. EXT2MB_ET_DOUBLE_FREE, EXT2MB_ET_BAD_RANGE (also for
 * reserved inodes). */
EXT2MB_MUST_CHECK errcode_t ext2mb_inode_free(struct ext2mb_worker *worker, ext2_ino_t ino, int is_directory);

/* Whether an inode number is in use now. Any thread. EXT2MB_ET_BAD_RANGE, EXT2MB_ET_CORRUPT_GROUP, ENOMEM. */
EXT2MB_MUST_CHECK errcode_t ext2mb_query_inode(struct ext2mb *mb, ext2_ino_t ino, int *is_in_use);

/*
 * Orphans: inodes that the next mount or e2fsck deletes (no links) or truncates to their size (with links) if this
 * program ends before it does so. They are recorded in the orphan file (feature orphan_file, Linux 5.15, e2fsprogs
 * 1.47) or, if there is none or it is full, on the superblock's list, which is chained through i_dtime. As in Jan
 * Kara's "ext4: Improve scalability of ext4 orphan file handling" (mail of 16 June 2021), adding and deleting take no
 * lock as long as the file has room.
 */
struct ext2mb_orphans;

struct ext2mb_orphan_options {
	size_t struct_bytes; /* sizeof(struct ext2mb_orphan_options) */
	struct ext2mb *mb;   /* the allocator attached to the same filesystem; NULL: none is */
};

/*
 * Reads and verifies the orphan file and the list. After an error why names the inode or block, else it is "" (NULL
 * with 0 bytes: not wanted). fs and mb stay the caller's and must outlive the handle. EXT2MB_ET_NEEDS_RECOVERY: the
 * orphans on disk are not valid before the journal is replayed. EXT2MB_ET_ORPHAN_FILE, _TOO_BIG, _HOLE, _MAGIC,
 * _CHECKSUM, _LIST: damage that e2fsck repairs. Also ENOMEM and libext2fs's errors in reading.
 */
EXT2MB_MUST_CHECK errcode_t ext2mb_orphan_open(ext2_filsys fs, const struct ext2mb_orphan_options *options, char *why,
                                               size_t why_bytes, struct ext2mb_orphans **ret);

/* Frees the handle; changes that were not synced are lost. NULL is allowed. */
void ext2mb_orphan_close(struct ext2mb_orphans *orphans);

#define EXT2MB_ORPHAN_ON_LIST 0x80000000u /* indexes from here on are on the superblock's list */

/*
 * Adds an inode, once, and returns its index, which is valid until it is deleted again. Any thread. worker: any
 * number; threads with different numbers use different blocks of the file. No I/O. While an inode is on the list, its
 * i_dtime belongs to the list. EXT2MB_ET_BAD_RANGE (reserved inodes too); ENOMEM, for the list only.
 */
EXT2MB_MUST_CHECK errcode_t ext2mb_orphan_add(struct ext2mb_orphans *orphans, unsigned int worker, ext2_ino_t ino,
                                              uint32_t *index);

/* Any thread. EXT2MB_ET_ORPHAN_ABSENT, and nothing is done, if ino is not at this index. */
EXT2MB_MUST_CHECK errcode_t ext2mb_orphan_delete(struct ext2mb_orphans *orphans, uint32_t index, ext2_ino_t ino);

/*
 * Returns the first orphan at or after *index, and sets *index to its index; 0 if there is none. Begin with 0, and go
 * on with *index + 1. Any thread. Orphans that other threads add or delete meanwhile may be returned or not.
 */
ext2_ino_t ext2mb_orphan_next(struct ext2mb_orphans *orphans, uint32_t *index);

/*
 * Writes changes, with checksums, and sets or clears ORPHAN_PRESENT in the superblock, which ext2fs_flush() or
 * ext2fs_close() writes. Inodes that left the list get an i_dtime of 0, or of the present time if they have no links.
 * Threads may add and delete meanwhile: this call or the next one writes their changes. No other thread may use fs.
 * EXT2_ET_RO_FILSYS and errors in writing; the next call writes again what could not be written.
 */
EXT2MB_MUST_CHECK errcode_t ext2mb_orphan_sync(struct ext2mb_orphans *orphans);

struct ext2mb_orphan_released {
	size_t struct_bytes; /* sizeof(struct ext2mb_orphan_released), set by the caller */
	uint64_t deleted;    /* inodes */
	uint64_t truncated;  /* inodes */
	uint64_t blocks;     /* freed; with bigalloc in whole clusters */
};

/*
 * Processes the orphans as a mount or e2fsck -p would: deletes those without links and truncates the others, list
 * first, and removes each; ext2mb_orphan_sync() writes that. With each goes its reference to a shared xattr block, its
 * references to inodes of xattr values (ea_inode), and its charge in the quota files. Blocks and inodes are freed
 * through the allocator mb, and ext2mb_sync() writes them. Without mb it uses an allocator of its own, which has been
 * synced on return. No other thread may use fs, mb or orphans. EXT2MB_ET_ATTACHED: fs has an allocator that
 * ext2mb_orphan_open() was not given. Ends at the first orphan that cannot be released; it stays, and why names it:
 * EXT2MB_ET_ORPHAN_INODE (not in use, damaged, or blocks that cannot be its own), before the inode is changed;
 * libext2fs's and the allocator's errors. EXT2MB_ET_QUOTA_FILE: the orphans are released, but a quota file, which why
 * names, is damaged. counts may be NULL; it is right after errors, too. Deleted inodes get fs->now as their deletion
 * time, or the present time if that is 0.
 */
EXT2MB_MUST_CHECK errcode_t ext2mb_orphan_release(struct ext2mb_orphans *orphans, struct ext2mb_orphan_released *counts,
                                                  char *why, size_t why_bytes);

/*
 * Programs that allocate through libext2fs, one block per call, can use the allocator unchanged. Once it is attached,
 * it provides the blocks for ext2fs_file_write(), ext2fs_bmap2(), ext2fs_fallocate(), ext2fs_mkdir(),
 * ext2fs_expand_dir(), ext2fs_symlink(), extent trees and xattrs of this handle. The blocks of a file come from the
 * file's own preallocation, so that writes of single blocks give long extents and need no search. It hooks into
 * libext2fs (get_alloc_block2, new_range, block_alloc_stats and block_alloc_stats_range), which marks blocks as
 * before: fs->block_map, descriptors and counters are right after each call, and show preallocations as free.
 * Programs may mark and free blocks there themselves; the allocator notices that in time. It finds space whenever
 * libext2fs alone would. Freed blocks can be allocated again at once, as without the allocator. The last block or
 * cluster is allocated only when no other is left, because before 1.47.4 ext2fs_punch() fails if an extent ends
 * there.
 *
 * Threads: as with libext2fs, one at a time for each handle.
 */
struct ext2mb_attach_options {
	size_t struct_bytes;                    /* sizeof(struct ext2mb_attach_options) */
	const struct ext2mb_options *allocator; /* NULL: the defaults; without a discard function */
	uint64_t open_files; /* the most files that keep preallocations, those with the last allocations; 0: 1024; at
	                      * most 2^20 */
};

/*
 * options may be NULL. No I/O. EXT2MB_ET_HOOKS_TAKEN: the program has set functions of its own, as e2fsck and
 * resize2fs do; EXT2MB_ET_ATTACHED: an allocator is attached or open; EXT2_ET_RO_FILSYS; ext2mb_open()'s errors. A
 * copy that ext2fs_dup_handle() makes has no allocator until one is attached to it. If the program sets
 * fs->get_alloc_block afterwards, that function is called instead; if it changes the filesystem's size, libext2fs
 * allocates by itself from then on.
 */
EXT2MB_MUST_CHECK errcode_t ext2mb_attach(ext2_filsys fs, const struct ext2mb_attach_options *options);

/*
 * From now on libext2fs allocates as before; the handle has all changes already. Call it before ext2fs_close() or
 * ext2fs_free(), of which the allocator is not told: otherwise its memory is kept until a handle at the same address
 * is attached. EXT2MB_ET_NOT_ATTACHED; EXT2MB_ET_IN_USE: the program has workers or files of ext2mb_attached() open.
 */
errcode_t ext2mb_detach(ext2_filsys fs);

/*
 * Returns the allocator attached to the handle, valid until it is detached; NULL: none. The program may read it
 * (counters, forms, free blocks, use of blocks, ext2mb_check()), and allocate and free through workers that are
 * closed before it is detached. The caller marks in fs->block_map what it allocates before libext2fs is called again.
 * Workers do not allocate blocks that the program has marked there, so the map must not change while they allocate.
 * ext2mb_sync() and ext2mb_close() return EXT2MB_ET_ATTACHED: the changes are in the handle.
 */
struct ext2mb *ext2mb_attached(ext2_filsys fs);

#ifdef __cplusplus
}
#endif

#include <ext2fs/ext2mb_transaction.h>

#endif
