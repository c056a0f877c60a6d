/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Blocks that were free at the last commit and that threads write now, while others use the channel. The library's
 * own writes last as long as the call. Blocks that the program has claimed it writes itself, until it releases them.
 * A commit waits for the library's writes, and is refused while a claim is open. Any thread. The mutex is a leaf: no
 * data is written while it is held.
 */
#pragma once

#include <pthread.h>

#include "support/problem.h"
#include "transaction/block_ranges.h"

/* A write by the library. It lies on the thread's stack, so that ending it needs no memory. */
struct data_write {
	uint64_t start, count;
	struct data_write *next;
};

struct data_claims {
	pthread_mutex_t mutex;
	pthread_cond_t has_ended; /* signals that a write has ended */
	struct data_write *writes;
	struct block_ranges claimed; /* by the program */
	uint64_t blocks;             /* of all writes and claims ever */
	bool has_unflushed;          /* writes or claims since the last data_claims_settle() */
	errcode_t error;             /* of the first write that failed */
};

MUST_CHECK errcode_t data_claims_init(struct data_claims *claims);
void data_claims_destroy(struct data_claims *claims);

/* EXT2MB_ET_CLAIMED: another thread writes one of its blocks, or the program has claimed one. */
MUST_CHECK errcode_t data_claims_begin_write(struct data_claims *claims, struct data_write *write);

/* error is what the write returned. */
void data_claims_end_write(struct data_claims *claims, struct data_write *write, errcode_t error);

/* Adds a claim of the program's. EXT2MB_ET_CLAIMED, ENOMEM. */
MUST_CHECK errcode_t data_claims_add(struct data_claims *claims, uint64_t start, uint64_t count);

/*
 * The program has written these blocks, or failed with write_error. EXT2MB_ET_BAD_RANGE: one of them is not claimed;
 * ENOMEM. After an error nothing has changed.
 */
MUST_CHECK errcode_t data_claims_release(struct data_claims *claims, uint64_t start, uint64_t count,
                                         errcode_t write_error);

/* Returns whether one of these blocks is being written, or claimed. */
bool data_claims_overlap(struct data_claims *claims, uint64_t start, uint64_t count);

/* Returns whether the program has claimed any blocks. */
bool data_claims_are_open(struct data_claims *claims);

uint64_t data_claims_blocks(struct data_claims *claims);

/*
 * Waits until no write is under way; the caller ensures that none begins. Sets *has_unflushed if there were writes
 * since the last call. Returns the error of the first write that failed, ever.
 */
MUST_CHECK errcode_t data_claims_settle(struct data_claims *claims, bool *has_unflushed);

/* The same for callers that write nothing afterwards. */
void data_claims_wait(struct data_claims *claims);
