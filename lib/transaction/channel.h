/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A transaction as an io_channel, which reads and writes bytes with any block size. */
#pragma once

#include "transaction/channel_state.h"

/*
 * libext2fs does not pass the io_manager to open(): so each has its own open function, which calls channel_open().
 */
struct struct_io_manager channel_functions(errcode_t (*open)(const char *name, int flags, io_channel *channel));
MUST_CHECK errcode_t channel_open(const char *name, int flags, const struct channel_manager *manager, io_channel *ret);

/*
 * Does what closing does, and returns its result, which libext2fs ignores: commits, unless a step is open, and leaves
 * the journal empty. The channel writes nothing afterwards, and its close has nothing left to do. Returns 0 for other
 * channels.
 */
MUST_CHECK errcode_t channel_finish(io_channel channel);

/* Returns 0 if the channel can be written. The caller has its lock. EXT2MB_ET_TRANSACTION_OVER, EXT2_ET_RO_FILSYS. */
MUST_CHECK errcode_t channel_check_open(const struct channel_state *state);

/* The transaction of a channel; NULL: it has none. */
struct channel_state *channel_state_of(io_channel channel);
