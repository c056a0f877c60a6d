/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Transactions: programs that write ext4 through libext2fs become safe against crashes and power cuts. A filesystem
 * that was opened with this io_manager holds writes in memory, and ext2mb_transaction_commit() writes all of them to
 * disk or none, through the filesystem's own journal, which the kernel and e2fsck replay. Blocks that were free at
 * the last commit are written at once, because nothing refers to them before the next one. See doc/TRANSACTIONS.md.
 *
 *	ext2fs_open2(name, NULL, EXT2_FLAG_RW | EXT2_FLAG_64BITS, 0, 0, ext2mb_transaction_io_manager(0), &fs);
 *	... changes by calls of libext2fs ...
 *	ext2mb_transaction_commit(fs);
 *
 * Opening for writing replays the journal, if need be (EXT2MB_ET_REPLAY: it has fast commits); orphans stay.
 * ext2fs_open2() returns EXT2MB_ET_NO_JOURNAL if there is no journal or an external one, EXT2MB_ET_BAD_JOURNAL if it
 * is damaged or has unknown features, and EBUSY if another handle or process has the filesystem open for transactions
 * (flock(2) on the file or device), or it is mounted and needs recovery. Opened without EXT2_FLAG_RW the filesystem is
 * read as with unix_io.
 *
 * Writes to the journal, and freeing its blocks, are refused (EXT2MB_ET_JOURNAL_WRITE); so are another size or
 * another journal in the superblock (EXT2MB_ET_LAYOUT_CHANGE), and writes outside of the filesystem
 * (EXT2MB_ET_BAD_RANGE). After a write that was refused or failed, a failed commit or an abort, libext2fs's memory
 * differs from the disk: all further writes and commits return EXT2MB_ET_TRANSACTION_OVER until the filesystem is
 * opened again; ext2fs_free() frees the old handle.
 *
 * Closing commits remaining changes, but ext2fs_close() does not return the result: commit before. An open step is
 * dropped, and ext2fs_close() returns EXT2MB_ET_IN_STEP; ext2fs_free() frees the handle then. After fork() the
 * process that first writes, begins a step or commits goes on; the other one gets EXT2MB_ET_FORKED, and writes
 * nothing. A flush of the channel, so also ext2fs_flush(), commits nothing. Any number of threads may use the
 * channel. The functions here call libext2fs, so only one thread may call them, unless a declaration says otherwise.
 */
#ifndef EXT2FS_EXT2MB_TRANSACTION_H
#define EXT2FS_EXT2MB_TRANSACTION_H

#include <ext2fs/ext2mb.h>

#ifdef __cplusplus
extern "C" {
#endif

#define EXT2MB_NO_JOURNAL                                                                                              \
	0x0001u /* accept a filesystem without a journal of its own, too: a crash can leave a part of a commit */

/* flags: 0 or EXT2MB_NO_JOURNAL; returns NULL for others. The result is static. Any thread. Registers our error
 * messages with error_message(). */
io_manager ext2mb_transaction_io_manager(uint64_t flags);

/*
 * Begins a step, whose changes must not be divided. A transaction is one step or several: before a step begins,
 * earlier changes are committed if they would fill half of the journal, together with freed blocks, which are
 * journalled when they are allocated again. (libext2fs's hooks block_alloc_stats and block_alloc_stats_range report
 * these. If the program has set others, all changes are committed.) Without steps a transaction is everything between
 * two commits. EXT2MB_ET_IN_STEP: a step is open already; EXT2MB_ET_NO_TRANSACTION (as for all of these): fs has
 * another io_manager; EXT2MB_ET_TRANSACTION_OVER; EXT2_ET_RO_FILSYS.
 */
EXT2MB_MUST_CHECK errcode_t ext2mb_transaction_begin(ext2_filsys fs);

/* Ends the step; its changes are committed some time later. EXT2MB_ET_BAD_ARGUMENT: none is open. */
EXT2MB_MUST_CHECK errcode_t ext2mb_transaction_end(ext2_filsys fs);

/*
 * Ends the step, if one is open; syncs the allocator that ext2mb_open() has opened on fs, if any, so no other thread
 * may use it; flushes fs, and commits. The commit block shows fs->now as its time, if the program has set that. On
 * return the transaction is durable. EXT2MB_ET_TRANSACTION_SIZE: it is larger
 * than the journal; nothing of it is on disk then, as after any other error before the commit block is written. After
 * an error in writing, only opening the filesystem again shows whether the transaction took place.
 */
EXT2MB_MUST_CHECK errcode_t ext2mb_transaction_commit(ext2_filsys fs);

/* Drops all changes since the last commit. Afterwards the handle can only be read and freed (ext2fs_free()). */
EXT2MB_MUST_CHECK errcode_t ext2mb_transaction_abort(ext2_filsys fs);

/*
 * Declares that these blocks are contents of files, and have been since the last commit. Until the next commit, or
 * until they are freed, they are overwritten at once, as with data=ordered, instead of going through the journal.
 * EXT2MB_ET_BAD_RANGE, ENOMEM; EXT2MB_ET_HOOKS_TAKEN: the program has set the hooks that report frees.
 */
EXT2MB_MUST_CHECK errcode_t ext2mb_transaction_name_data(ext2_filsys fs, uint64_t start, uint64_t count);

/*
 * Contents of new files, in parallel. A write through fs->io holds the channel exclusively. Any number of threads may
 * call these three functions at the same time, together with one thread that calls libext2fs, other functions of this
 * library and the channel; but not while fs is being opened or closed, and not during fork(). They do not call
 * libext2fs. All blocks must have been free at the last commit, as blocks from the allocator are that have not been
 * freed since; then nothing on disk refers to them. Otherwise they return EXT2MB_ET_NOT_FREE and write nothing, and
 * the contents must go through fs->io, into the journal. After a commit, also one at the beginning of a step,
 * allocated blocks count as in use: end a step only after the threads have written its blocks.
 *
 * All contents are flushed before the next commit block is written. A commit and an abort wait for writes that are
 * under way. A failed write ends the transaction, as one through fs->io does: no commit refers to contents that are
 * missing. The transaction goes on after all other errors: EXT2MB_ET_BAD_RANGE; EXT2MB_ET_CLAIMED (another thread
 * writes one of the blocks, or has claimed it), EXT2MB_ET_BAD_ARGUMENT (also for a count of 0),
 * EXT2MB_ET_TRANSACTION_OVER, EXT2MB_ET_FORKED, EXT2_ET_RO_FILSYS, ENOMEM, errors in reading a bitmap. A write
 * through fs->io to a block that is being written or claimed is refused with EXT2MB_ET_CLAIMED, and ends the
 * transaction.
 *
 * O_DIRECT and the page cache are never mixed. ext2mb_transaction_write_data() writes through the channel's own
 * descriptor: with O_DIRECT if fs has been opened with EXT2_FLAG_DIRECT_IO, else without, so that the channel reads
 * what was written. With O_DIRECT, data aligned to fs->io->align is written directly, and other data is copied. If
 * blocks are smaller than that alignment, or the filesystem has an offset, threads take turns.
 */

/* Writes whole blocks, now. */
EXT2MB_MUST_CHECK errcode_t ext2mb_transaction_write_data(ext2_filsys fs, uint64_t start, uint64_t count,
                                                          const void *data);

/*
 * Claims blocks that the program writes itself, by pwrite(2), copy_file_range(2) or otherwise, with its own
 * descriptor of the same file or device. That has O_DIRECT if, and only if, fs was opened with EXT2_FLAG_DIRECT_IO.
 * Until all claimed blocks are released, commits return EXT2MB_ET_CLAIMED and do nothing, as does a step that would
 * begin with one; closing commits nothing, and ext2fs_close() returns EXT2MB_ET_CLAIMED, as with an open step. After
 * an abort nothing more may be written. EXT2_ET_OP_NOT_SUPPORTED: threads would have to take turns, as above.
 */
EXT2MB_MUST_CHECK errcode_t ext2mb_transaction_claim_data(ext2_filsys fs, uint64_t start, uint64_t count);

/*
 * Releases all or a part of the claimed blocks. write_error 0: they have been written; otherwise writing failed with
 * that error, which ends the transaction. EXT2MB_ET_BAD_RANGE: one of them is not claimed; nothing has changed.
 */
EXT2MB_MUST_CHECK errcode_t ext2mb_transaction_release_data(ext2_filsys fs, uint64_t start, uint64_t count,
                                                            errcode_t write_error);

struct ext2mb_transaction_info {
	size_t struct_bytes;       /* sizeof(struct ext2mb_transaction_info), set by the caller */
	errcode_t why_over;        /* the first failure; 0: the transaction is not over */
	uint64_t journal_blocks;   /* the most that a transaction may have in the log; 0: there is no journal */
	uint64_t next_sequence;    /* tid of the next transaction */
	uint64_t held_blocks;      /* presently in memory */
	uint64_t log_blocks;       /* the most that a commit would write into the log now */
	uint64_t commits;          /* since the filesystem was opened, as all members below */
	uint64_t direct_blocks;    /* written where they belong, at once */
	uint64_t logged_blocks;    /* of files and metadata, written through the log */
	uint64_t unchanged_blocks; /* left out, because they were the same as on disk */
};

/* Any thread. */
EXT2MB_MUST_CHECK errcode_t ext2mb_transaction_read_info(ext2_filsys fs, struct ext2mb_transaction_info *info);

/*
 * A rehearsal: from now on nothing is written to the disk but the MMP block, blocks included that were free at the
 * last commit, and no commit succeeds. Contents are not held: the program writes none with
 * ext2mb_transaction_write_data(). At its end it is known how large the transaction would be, and the disk is as
 * before.
 */
EXT2MB_MUST_CHECK errcode_t ext2mb_transaction_rehearse(ext2_filsys fs);

/*
 * Flushes fs and counts the blocks that a commit would write into the log now, descriptors and commit block included.
 * Without a journal: those that it would write. ENOMEM, errors of ext2fs_flush() and in reading a bitmap.
 */
EXT2MB_MUST_CHECK errcode_t ext2mb_transaction_count(ext2_filsys fs, uint64_t *blocks);

/*
 * Replays a filesystem's own journal, as a mount does, but for the orphans; does nothing if that is not needed. The log
 * stays until all of its blocks are in place, so a crash at any moment leaves a filesystem that can be replayed again:
 * by this function, the kernel or e2fsck. Before the first write all of the log has been read and checked.
 *
 * channel: open for writing on the filesystem that libext2fs opens by name, io_options (NULL: none) and manager; its
 * block size changes. The caller keeps others from changing the filesystem; that another host has it (MMP) is refused
 * here. If the kernel has aborted the journal, the filesystem is marked as damaged. EXT2MB_ET_NO_JOURNAL: it is on
 * another device; EXT2MB_ET_BAD_JOURNAL: damaged, or unknown features; EXT2MB_ET_REPLAY: it has fast commits;
 * EXT2_ET_SB_CSUM_INVALID; ENOMEM; errors of the channel and of libext2fs. One thread.
 */
EXT2MB_MUST_CHECK errcode_t ext2mb_journal_replay(const char *name, const char *io_options, io_manager manager,
                                                  io_channel channel);

/*
 * As a mount does where the kernel has aborted the journal of a filesystem that does not need recovery: marks the
 * filesystem as damaged, and then clears the error in the journal's superblock. EXT2MB_ET_BAD_ARGUMENT: there is no
 * journal, or a replay is needed; others as above.
 */
EXT2MB_MUST_CHECK errcode_t ext2mb_journal_mark_aborted(const char *name, const char *io_options, io_manager manager,
                                                        io_channel channel);

#ifdef __cplusplus
}
#endif

#endif
