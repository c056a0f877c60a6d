/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A filesystem whose changes are held in memory until they are committed together. See doc/TRANSACTIONS.md.
 */
#pragma once

#include <pthread.h>

#include "ext2fs/process_claim.h"
#include "transaction/committed_bitmap.h"
#include "transaction/data_claims.h"
#include "transaction/journal.h"
#include "transaction/superblock.h"

/* How channels of one kind are opened. */
struct channel_manager {
	io_manager functions;           /* channel_functions() */
	io_manager *backing;            /* the one below: &unix_io_manager */
	uint64_t flags;                 /* EXT2MB_NO_JOURNAL */
	void (*listen)(ext2_filsys fs); /* freed_listen(), or NULL: at the first step */
};

enum transaction_phase {
	TRANSACTION_UNREAD, /* nothing has been read or written yet */
	TRANSACTION_PASSED, /* read-only, or not ext4: reads go through, writes are refused */
	TRANSACTION_OPEN,
	TRANSACTION_OVER, /* aborted, or a commit or a write failed */
};

/* Flags of changes that libext2fs has only in memory. */
#define TRANSACTION_UNWRITTEN (EXT2_FLAG_DIRTY | EXT2_FLAG_BB_DIRTY | EXT2_FLAG_IB_DIRTY)

struct channel_counts {
	uint64_t commits;
	uint64_t direct_blocks;    /* written in place at once */
	uint64_t logged_blocks;    /* by all commits */
	uint64_t unchanged_blocks; /* dropped by commits, because they were as on disk */
};

struct channel_state {
	/* Shared by readers of the channel and by threads that begin to write contents; exclusive for everything
	 * else. */
	pthread_rwlock_t lock;
	const struct channel_manager *manager;
	io_channel channel;         /* the program's */
	io_channel backing;         /* in blocks of the filesystem once it has been read */
	char *name;                 /* owned */
	char *io_options;           /* owned, as ext2fs_open2() takes them; "" */
	int open_flags;             /* IO_FLAG_* */
	int lock_descriptor;        /* has flock(2)'s lock while the filesystem is open; -1: none */
	struct process_claim claim; /* to writing: after fork() one of two processes has it */
	enum transaction_phase phase;
	errcode_t why_over;    /* what the first refused or failed call returned */
	errcode_t why_dropped; /* what closing returns if it dropped an unfinished step; 0: it did not */
	time_t now;            /* fs->now at the last commit, which its block shows; 0: the clock's */
	bool is_in_step;
	bool is_rehearsal;  /* nothing is written (rehearsal.h) */
	bool has_lost_copy; /* one of several handles has been freed: the channel's app_data may be that one */
	bool has_begun;     /* needs_recovery is on disk */
	bool is_in_doubt; /* a commit failed after its commit block may have been written: the journal stays as it is */
	bool has_unflushed; /* direct writes since the last flush; a commit adds those of data_claims */
	struct layout layout;
	struct committed_bitmap committed;
	struct held_blocks held;
	struct journal journal;         /* if layout.has_journal */
	struct block_ranges discards;   /* waiting for the commit */
	struct block_ranges data;       /* contents that may be overwritten at once */
	struct data_claims data_claims; /* contents of free blocks that are written without the lock */
	uint64_t freed_blocks;          /* since the last commit */
	/* The hooks that report frees; NULL: none have been set. */
	void (*block_hook)(ext2_filsys fs, blk64_t block, int in_use);
	void (*range_hook)(ext2_filsys fs, blk64_t start, blk_t count, int in_use);
	struct channel_counts counts;
	struct struct_io_stats closing_stats; /* for an ext2fs_close() that drops an open step */
	uint8_t super[SUPERBLOCK_BYTES];      /* as of the last commit, without needs_recovery */
	uint8_t *bounce;                      /* owned, one block; needs the exclusive lock */
};

/* The handle that libext2fs has set in the channel. NULL: none, or it may have been freed while a copy of it remains.
 */
static inline ext2_filsys channel_filesystem(const struct channel_state *state)
{
	ext2_filsys fs = state->has_lost_copy ? NULL : state->channel->app_data;

	return fs && fs->magic == EXT2_ET_MAGIC_EXT2FS_FILSYS ? fs : NULL;
}

/* Are frees reported to us? No, if the program has replaced one of our hooks by its own. */
static inline bool channel_hears_frees(const struct channel_state *state, ext2_filsys fs)
{
	return state->block_hook && fs->block_alloc_stats == state->block_hook &&
	       fs->block_alloc_stats_range == state->range_hook;
}

static inline uint64_t channel_super_block(const struct channel_state *state)
{
	return SUPERBLOCK_OFFSET_BYTES / state->layout.block_bytes;
}

/* The superblock's offset in its block. */
static inline uint32_t channel_super_offset(const struct channel_state *state)
{
	return SUPERBLOCK_OFFSET_BYTES % state->layout.block_bytes;
}
