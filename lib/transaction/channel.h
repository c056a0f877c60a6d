/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A transaction as an io_channel: bytes go in and come out, whatever the block size. */
#pragma once

#include "transaction/channel_state.h"

/*
 * libext2fs does not tell which io_manager is to open: each has an open function of its own, which calls
 * channel_open().
 */
struct struct_io_manager channel_functions(errcode_t (*open)(const char *name, int flags, io_channel *channel));
MUST_CHECK errcode_t channel_open(const char *name, int flags, const struct channel_manager *manager, io_channel *ret);

/*
 * What closing does, and how it went, which libext2fs does not ask: commits what is left, unless a step is open, and
 * leaves the journal empty. The channel writes nothing any more, and its close has nothing left to do. 0 for others.
 */
MUST_CHECK errcode_t channel_finish(io_channel channel);

/* Whether it can be written, with its lock. EXT2MB_ET_TRANSACTION_OVER, EXT2_ET_RO_FILSYS. */
MUST_CHECK errcode_t channel_check_open(const struct channel_state *state);

/* The transaction of a channel; NULL: it has none. */
struct channel_state *channel_state_of(io_channel channel);
