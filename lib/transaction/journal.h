/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The log of a filesystem's own journal. It holds one transaction at a time, which always begins at its first block. */
#pragma once

#include <time.h>

#include "transaction/held_blocks.h"
#include "transaction/layout.h"
#include "ondisk/journal_block.h"

struct journal {
	const struct layout *layout;
	struct journal_superblock super;
	struct journal_format format;
	uint32_t sequence;                       /* tid of the next transaction */
	uint8_t bytes[JOURNAL_SUPERBLOCK_BYTES]; /* its superblock as on disk */
};

/*
 * Reads its superblock. has_64bit and has_checksums are features of the filesystem, which decide, as in the kernel,
 * which features the journal gets. EXT2MB_ET_BAD_JOURNAL, EXT2MB_ET_NEEDS_RECOVERY, and errors in reading. Writes
 * nothing.
 */
MUST_CHECK errcode_t journal_open(struct journal *journal, const struct layout *layout, io_channel backing,
                                  bool has_64bit, bool has_checksums);

/* The most blocks that a transaction may have in the log, descriptors and commit block included. */
static inline uint64_t journal_room(const struct journal *journal)
{
	return journal_log_end(&journal->super) - journal->super.first;
}

/* Writes the log's start and the next transaction's sequence into the journal's superblock: nothing is replayed so
 * far. */
MUST_CHECK errcode_t journal_write_tail(struct journal *journal, io_channel backing);

/* Marks the journal as empty in its superblock. */
MUST_CHECK errcode_t journal_write_empty(struct journal *journal, io_channel backing);

/*
 * Writes a transaction into the log, with zeros in the place of the commit block. The blocks must fit.
 */
MUST_CHECK errcode_t journal_write_blocks(struct journal *journal, io_channel backing, struct held_block *const *blocks,
                                          size_t count);

/* Writes the commit block, which shows that time (0: the present one). The caller has flushed, and flushes again. */
MUST_CHECK errcode_t journal_write_commit(struct journal *journal, io_channel backing, size_t count, time_t seconds);
