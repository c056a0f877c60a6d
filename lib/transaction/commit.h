/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Committing the blocks that a transaction holds. */
#pragma once

#include "transaction/channel_state.h"

/* The blocks to be committed, in ascending order. */
struct commit_changes {
	struct held_block **blocks; /* a list for the caller to free: first those for the log, then the backups */
	size_t count, backups;
};

/* Drops held blocks that are the same on disk, and lists the others. One thread. ENOMEM, errors in reading. */
MUST_CHECK errcode_t commit_collect(struct channel_state *state, struct commit_changes *changes);

/*
 * Commits all of it or nothing, after writes of contents that are under way. EXT2MB_ET_TRANSACTION_SIZE: the journal
 * is too small; errors of the backing channel. After an error the caller calls channel_fail(). One thread.
 */
MUST_CHECK errcode_t commit_held(struct channel_state *state);

/* The most blocks that a commit would write into the log now, descriptors and commit block included. */
uint64_t commit_log_blocks(const struct channel_state *state);

/* Ends the transaction: nothing of it is written any more, nor are contents. Waits for writes that are under way.
 * Returns error. */
errcode_t channel_fail(struct channel_state *state, errcode_t error);

/*
 * Called after the last commit: empties the journal and clears needs_recovery, unless a failed commit left the
 * journal in doubt.
 */
MUST_CHECK errcode_t commit_end(struct channel_state *state);
