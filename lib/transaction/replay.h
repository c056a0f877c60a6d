/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Replaying a journal with e2fsck. */
#pragma once

#include "support/problem.h"

/*
 * Runs `e2fsck -p -E journal_only` on name; io_options are libext2fs's, after a question mark, or "". e2fsck inherits
 * no LD_PRELOAD. EXT2MB_ET_REPLAY: e2fsck failed or is missing, or there are options (e2fsck 1.47 opens a second time
 * without them); ENOMEM. e2fsck replaces a damaged journal.
 */
MUST_CHECK errcode_t replay_journal(const char *name, const char *io_options);
