/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Replaying a journal: e2fsck's work. */
#pragma once

#include "support/problem.h"

/*
 * Runs `e2fsck -p -E journal_only` on what name is; io_options: libext2fs's, after a question mark, or "". It
 * inherits no LD_PRELOAD. EXT2MB_ET_REPLAY: it could not, or there is no e2fsck, or
 * there are options (e2fsck 1.47 opens a second time without them); ENOMEM. A damaged journal e2fsck replaces.
 */
MUST_CHECK errcode_t replay_journal(const char *name, const char *io_options);
