/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reads an image whose journal needs recovery as if the journal had been replayed, without writing: an overlay lists
 * the blocks with newer contents in the log, and the places of these contents; image/replayed.h opens a volume with it.
 * An overlay does not include the work of a mount after the replay (orphans, the superblock's flags).
 *
 * Callers make one if ext4's superblock has the feature needs_recovery: without it the kernel ignores the
 * log. Formats are as in the kernel's Documentation/filesystems/ext4/journal.rst, and recovery's rules as in the
 * kernel's fs/jbd2/recovery.c, which e2fsck shares (tests/image-journal compares the results with e2fsck's):
 *
 * - The log begins at s_start with transaction s_sequence; its first block follows its last one. It ends at the first
 *   block that is not one of the journal's own with the expected sequence. A transaction without its commit block
 *   was interrupted and is ignored.
 * - The newest committed copy of a block counts. Revokes of transaction N hide the copies in transactions up to N.
 * - A commit block of which only the first sector has been written counts (journal_commit_is_good()).
 * - A descriptor, revokes or a commit block have a wrong checksum: if the transaction's commit block is older than the
 *   transaction before, they are left from an earlier use of these blocks, and the log has ended. Otherwise the
 *   journal is damaged: the kernel refuses to mount, and the journal is refused here. With asynchronous commits
 *   (ASYNC_COMMIT) a commit block with a wrong checksum may be that of an interrupted commit, and the log has ended,
 *   unless, with the first kind of checksums, the next transaction has its commit block, too.
 * - A copy has a wrong checksum: the journal is damaged if the copy counts. The kernel also reports one that a newer
 *   copy replaces; it changes no contents and is not read here.
 *
 * Fast commits: with their feature the kernel puts changes after the last transaction into an area of their own. They
 * are not blocks but operations, so a journal that has any to be replayed is refused. It has some if the area begins
 * with a head whose sequence is the one after the last committed transaction: replay of any other area does nothing.
 * So the log is enough after each full commit, for instance after sync(2).
 *
 * A log that does not end, or claims more blocks than it has, is damaged. Memory: 24 bytes for each block in the
 * overlay, and up to 96 for each copy in the log while it is read; a log has at most 10240000 copies. Time: headers
 * are read once, revokes twice, copies that count once if they have checksums; with the first kind of checksums all
 * of the log is read.
 */
#pragma once

#include "journal/journal_err.h"
#include "journal/journal_source.h"

struct journal_overlay;

/*
 * Reads the log. Fails with a problem: JOURNAL_ET_EXTERNAL, _FEATURES (it names them), _FAST_COMMIT: this
 * journal is not read here; JOURNAL_ET_SUPERBLOCK, _DAMAGED: contradictions, wrong checksums, blocks outside of
 * the filesystem; JOURNAL_ET_LARGE, ENOMEM, and the errors of source->read. *overlay is the caller's; it keeps
 * no pointer into source. An overlay of an empty log has no blocks.
 */
MUST_CHECK errcode_t journal_overlay_read(const struct journal_source *source, struct journal_overlay **overlay,
                                          struct problem *problem);
void journal_overlay_free(struct journal_overlay *overlay);

/* The following functions do not change the overlay: any number of threads may call them at the same time. */

/* A block of the filesystem whose contents are in the log. */
struct journal_overlay_block {
	uint64_t block;
	uint64_t physical; /* the block of the image that has them */
	bool is_escaped;   /* their first four bytes are journal_unescape()'s (ondisk/journal_block.h) */
};

/* False: the image has the newest contents of this block. */
bool journal_overlay_find(const struct journal_overlay *overlay, uint64_t block, struct journal_overlay_block *found);

/* True if the log has newer contents of any of these blocks. */
bool journal_overlay_has(const struct journal_overlay *overlay, uint64_t block, uint64_t count);

/* The number of blocks in the overlay, and the block with this index, in ascending order. */
size_t journal_overlay_count(const struct journal_overlay *overlay);
struct journal_overlay_block journal_overlay_get(const struct journal_overlay *overlay, size_t index);

/* Further values of the log and its superblock. */
struct journal_overlay_figures {
	uint32_t transactions;  /* that are committed */
	uint32_t next_sequence; /* that no block of the log has */
	int32_t error;          /* journal_superblock.error */
	uint64_t copies;        /* of blocks, in these */
	uint64_t hidden;        /* blocks whose newest copy is revoked */
	bool is_wrapped;        /* the log continues at the journal's beginning */
};
struct journal_overlay_figures journal_overlay_figures(const struct journal_overlay *overlay);

/*
 * bytes holds count blocks of the image from block on: replaces those that have newer contents in the log. source is
 * the one from which the overlay was read; its read() must be safe for all threads that call this. Its errors.
 */
MUST_CHECK errcode_t journal_overlay_apply(const struct journal_overlay *overlay, const struct journal_source *source,
                                           uint64_t block, uint64_t count, void *bytes);
