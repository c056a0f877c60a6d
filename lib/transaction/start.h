/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Opening what is below a transaction, and reading what it has to know, the journal replayed before. */
#pragma once

#include "transaction/channel_state.h"

/* Opens the backing channel with the options that have been set so far. */
MUST_CHECK errcode_t start_backing(struct channel_state *state);

/*
 * Before the first read or write, when all options are known. Replays the journal if it has to be, and may be. The
 * state is TRANSACTION_PASSED or TRANSACTION_OPEN then; after an error it is as before.
 */
MUST_CHECK errcode_t start_transaction(struct channel_state *state);
