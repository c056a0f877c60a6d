/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bytes that were unpacked, or came through a pipe, until they are copied: in memory as long as the budget allows it,
 * what comes after that in a temporary file without a name; long zeros in neither. Their place has no influence on an
 * image.
 *
 * They come in pieces, in order, each in a buffer of the store's own, so that what unpacks them writes them to where
 * they stay.
 */
#pragma once

#include <stdbool.h>

#include "support/buffer_size.h"
#include "support/problem.h"

/*
 * How much memory all stores of one run may keep (what is on its way is not counted, see unpack_stream.h), and the
 * temporary file that they share: two thousand layers cannot have one each.
 */
struct unpacked_budget;

/* ENOMEM. */
MUST_CHECK errcode_t unpacked_budget_create(uint64_t most_bytes, struct unpacked_budget **ret);

/* Stores that were created with it keep it. NULL is allowed. */
void unpacked_budget_release(struct unpacked_budget *budget);

/* How much of it is taken now. Any thread. */
uint64_t unpacked_budget_used(const struct unpacked_budget *budget);

struct unpacked_store;

/* With less, threads hand over more often; with more, less is at hand at the end of a member. */
#define UNPACKED_PIECE_BYTES ((size_t)BUFFER_SIZE(512, 16) << 10)

/* directory is borrowed until the last byte is added; NULL: /tmp. No budget: no memory is kept, and a file of its own.
 * ENOMEM. */
MUST_CHECK errcode_t unpacked_store_create(struct unpacked_budget *budget, const char *directory,
                                           struct unpacked_store **ret);

/* The budget gets back what the store had of its memory, and the disk what it had of the file. NULL is allowed. */
void unpacked_store_destroy(struct unpacked_store *store);

/* A buffer of UNPACKED_PIECE_BYTES; NULL: no memory. Both from any thread. */
uint8_t *unpacked_store_buffer(struct unpacked_store *store);
void unpacked_store_give_back(struct unpacked_store *store, uint8_t *buffer);

/*
 * Lets the kernel find memory for a further buffer, so that the thread that asks for the next one does not wait for
 * that: of 1299 MiB it took 0.6 s of 2.4 s. False: there are enough.
 */
bool unpacked_store_prepare(struct unpacked_store *store);

/*
 * The following are one thread's. Adds what is in a buffer, which becomes the store's, also after a failure; it stays
 * where it is until the next piece is added. The problem names the directory where the temporary file cannot be made or
 * written.
 */
MUST_CHECK errcode_t unpacked_store_add(struct unpacked_store *store, uint8_t *buffer, size_t bytes,
                                        struct problem *problem);

/*
 * Announces that these bytes of the last two pieces will be read once more. A piece of which nothing is wanted when
 * two more have come is dropped; its buffer is reused, which also saves the kernel the search for memory.
 */
void unpacked_store_want(struct unpacked_store *store, uint64_t at, size_t count);

/* Adds a copy, which is wanted. */
MUST_CHECK errcode_t unpacked_store_copy(struct unpacked_store *store, const void *bytes, size_t count,
                                         struct problem *problem);

/*
 * Nothing is added any more, and no buffer is asked for: what is not used goes back to the system. (A layer of one file
 * has buffers of some megabytes until then.) Errors of unpacked_store_add().
 */
MUST_CHECK errcode_t unpacked_store_finish(struct unpacked_store *store, struct problem *problem);

/* How many bytes have been added. */
uint64_t unpacked_store_end(const struct unpacked_store *store);

/*
 * Bytes that were wanted have been read for the last time; from any thread, while nothing is added. A piece of which
 * nothing is wanted any more is gone, and what it took goes back to the system at once: the image grows in memory that
 * is at hand, instead of memory that the system has to find, and the end has little left to free.
 */
void unpacked_store_release(const struct unpacked_store *store, uint64_t at, size_t count);

/* From any thread, while nothing is added. Errors of reading; ENODATA beyond the end, and of what is gone. */
MUST_CHECK errcode_t unpacked_store_read(const struct unpacked_store *store, void *bytes, size_t count, uint64_t at);
