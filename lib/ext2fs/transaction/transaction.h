/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A filesystem whose changes are held back until they are committed together. See doc/TRANSACTIONS.md.
 */
#pragma once

#include <pthread.h>

#include "ext2fs/transaction/committed_bitmap.h"
#include "ext2fs/transaction/journal.h"
#include "ext2fs/transaction/superblock.h"

/* How channels of one kind are opened. */
struct transaction_manager {
	io_manager functions; /* channel_functions() */
	io_manager *backing;  /* what is below: &unix_io_manager */
	uint64_t flags;       /* EXT2MB_NO_JOURNAL */
};

enum transaction_state {
	TRANSACTION_UNREAD, /* nothing has been read or written yet */
	TRANSACTION_PASSED, /* read-only, or no ext4: reads go through, writes are refused */
	TRANSACTION_OPEN,
	TRANSACTION_OVER, /* aborted, or a commit or a write failed */
};

struct transaction_counts {
	uint64_t commits;
	uint64_t direct_blocks;  /* written where they belong, at once */
	uint64_t logged_blocks;  /* by all commits */
	uint64_t unchanged_blocks; /* that a commit dropped, since they were as on disk */
};

struct transaction {
	pthread_rwlock_t lock; /* readers of the channel share it; all else is done by one thread at a time */
	const struct transaction_manager *manager;
	io_channel backing; /* in blocks of the filesystem once it has been read; NULL only between two opens */
	char *name;         /* owned */
	char *io_options;   /* owned, as ext2fs_open2() takes them; "" */
	int open_flags;     /* IO_FLAG_* */
	int lock_descriptor; /* has flock(2)'s lock while the filesystem is open; -1: none */
	enum transaction_state state;
	errcode_t why_over;  /* what the first refused or failed call returned */
	bool is_in_step;
	bool has_begun;      /* needs_recovery is on disk */
	bool is_in_doubt;    /* a commit failed after its commit block may have been written: the journal stays as it is */
	bool has_unflushed;  /* direct writes since the last flush */
	struct layout layout;
	struct committed_bitmap committed;
	struct held_blocks held;
	struct journal journal; /* if layout.has_journal */
	struct block_ranges discards; /* that wait for the commit */
	struct block_ranges data;     /* contents that may be overwritten at once */
	struct transaction_counts counts;
	uint8_t super[SUPERBLOCK_BYTES]; /* as of the last commit, without needs_recovery */
	uint8_t *bounce;                 /* owned, a block, for those who have the lock alone */
};

static inline uint64_t transaction_super_block(const struct transaction *transaction)
{
	return SUPERBLOCK_OFFSET_BYTES / transaction->layout.block_bytes;
}

/* Where the superblock is within its block. */
static inline uint32_t transaction_super_offset(const struct transaction *transaction)
{
	return SUPERBLOCK_OFFSET_BYTES % transaction->layout.block_bytes;
}
