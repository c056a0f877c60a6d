/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Opening the backing channel of a transaction, replaying the journal, and reading the layout. */
#pragma once

#include "transaction/channel_state.h"

/* Opens the backing channel, without a cache. */
MUST_CHECK errcode_t start_backing(struct channel_state *state);

/*
 * Called before the first read or write, when all options are known. Replays the journal if it needs recovery and the
 * channel may write. The state becomes TRANSACTION_PASSED or TRANSACTION_OPEN; after an error it is as before.
 */
MUST_CHECK errcode_t start_transaction(struct channel_state *state);
