/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reading and writing bytes within an open transaction. */
#pragma once

#include "transaction/channel_state.h"

/* Any number of threads. Held blocks are read from memory; needs_recovery never shows. */
MUST_CHECK errcode_t access_read(struct channel_state *state, uint64_t offset, uint64_t bytes, void *data);

/*
 * One thread. A block that was free at the last commit is written at once; other blocks are held. data NULL: zeros.
 * EXT2MB_ET_JOURNAL_WRITE, EXT2MB_ET_LAYOUT_CHANGE, EXT2MB_ET_BAD_RANGE, EXT2MB_ET_CLAIMED: refused; ENOMEM, and
 * errors of the backing channel. After any error a part may have been done.
 */
MUST_CHECK errcode_t access_write(struct channel_state *state, uint64_t offset, uint64_t bytes, const void *data);
