/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Blocks that were free at the last commit and that threads write now, beside all else that uses the channel. The
 * library's own writes last as long as the call; what the program has claimed it writes by itself, until it releases
 * it. A commit waits for the former, and is refused while there is any of the latter. Any thread; the mutex is a leaf:
 * no bytes are moved while it is held.
 */
#pragma once

#include <pthread.h>

#include "support/problem.h"
#include "transaction/block_ranges.h"

/* A write of the library's, on the stack of its thread, so that ending it needs no memory. */
struct data_write {
	uint64_t start, count;
	struct data_write *next;
};

struct data_claims {
	pthread_mutex_t mutex;
	pthread_cond_t has_ended; /* a write */
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

/* error: what the write returned. */
void data_claims_end_write(struct data_claims *claims, struct data_write *write, errcode_t error);

/* For the program. EXT2MB_ET_CLAIMED, ENOMEM. */
MUST_CHECK errcode_t data_claims_add(struct data_claims *claims, uint64_t start, uint64_t count);

/*
 * The program has written them, or failed with write_error. EXT2MB_ET_BAD_RANGE: one of them is not claimed; ENOMEM;
 * nothing has changed then.
 */
MUST_CHECK errcode_t data_claims_release(struct data_claims *claims, uint64_t start, uint64_t count,
                                         errcode_t write_error);

/* Whether one of them is being written, or claimed. */
bool data_claims_overlap(struct data_claims *claims, uint64_t start, uint64_t count);

/* Whether the program has claimed any. */
bool data_claims_are_open(struct data_claims *claims);

uint64_t data_claims_blocks(struct data_claims *claims);

/*
 * Waits until no write is under way; the caller sees to it that none begins. *has_unflushed is set if there has been
 * any since the last time. Returns the error of the first write that failed, ever.
 */
MUST_CHECK errcode_t data_claims_settle(struct data_claims *claims, bool *has_unflushed);

/* The same for those who write nothing more. */
void data_claims_wait(struct data_claims *claims);
