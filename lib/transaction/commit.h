/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Committing what a transaction holds. */
#pragma once

#include "transaction/channel_state.h"

/* What is to be committed, in ascending order. */
struct commit_changes {
	struct held_block **blocks; /* a list for the caller to free: first those for the log, then the backups */
	size_t count, backups;
};

/* Lets go of what is held and is the same on disk; what is left. One thread. ENOMEM, errors in reading. */
MUST_CHECK errcode_t commit_collect(struct channel_state *state, struct commit_changes *changes);

/*
 * All of it, or nothing of it, when writes of contents that are under way have ended: EXT2MB_ET_TRANSACTION_SIZE: the
 * journal is too small, and errors of the backing channel. After an error the transaction has to be failed. One thread.
 */
MUST_CHECK errcode_t commit_held(struct channel_state *state);

/* The blocks that a commit would put into the log now, descriptors and the commit block among them, at most. */
uint64_t commit_log_blocks(const struct channel_state *state);

/* Nothing of it is written any more, nor are contents: waits for writes that are under way. Returns error. */
errcode_t channel_fail(struct channel_state *state, errcode_t error);

/*
 * After the last commit: the journal is empty, and needs_recovery is cleared, unless a failed commit left it in doubt.
 */
MUST_CHECK errcode_t commit_end(struct channel_state *state);
