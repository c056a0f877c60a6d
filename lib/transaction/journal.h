/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The log of a filesystem's own journal. It holds one transaction at a time, which always begins at its first block. */
#pragma once

#include "transaction/held_blocks.h"
#include "transaction/layout.h"
#include "ondisk/journal_block.h"

struct journal {
	const struct layout *layout;
	struct journal_superblock super;
	struct journal_format format;
	uint32_t sequence;                       /* tid of the next transaction */
	uint8_t bytes[JOURNAL_SUPERBLOCK_BYTES]; /* its superblock as it is on disk */
};

/*
 * Reads its superblock. has_64bit, has_checksums: features of the filesystem, which decide as in the kernel what the
 * journal will have. EXT2MB_ET_BAD_JOURNAL, EXT2MB_ET_NEEDS_RECOVERY, and errors in reading. Writes nothing.
 */
MUST_CHECK errcode_t journal_open(struct journal *journal, const struct layout *layout, io_channel backing,
                                  bool has_64bit, bool has_checksums);

/* The most blocks that a transaction may have in the log, descriptors and commit block among them. */
static inline uint64_t journal_room(const struct journal *journal)
{
	return journal_log_end(&journal->super) - journal->super.first;
}

/* The superblock says where the log begins and which transaction is the next one: nothing of it is to be replayed. */
MUST_CHECK errcode_t journal_write_tail(struct journal *journal, io_channel backing);

/* The superblock says that the journal is empty. */
MUST_CHECK errcode_t journal_write_empty(struct journal *journal, io_channel backing);

/*
 * What the transaction has in the log, without the commit block; in whose place zeros are written. The blocks must fit.
 */
MUST_CHECK errcode_t journal_write_blocks(struct journal *journal, io_channel backing, struct held_block *const *blocks,
                                          size_t count);

/* The commit block of such a transaction. The caller has flushed, and flushes again. */
MUST_CHECK errcode_t journal_write_commit(struct journal *journal, io_channel backing, size_t count);
