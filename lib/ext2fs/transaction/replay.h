/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Replaying a journal: e2fsck's work. */
#pragma once

#include "support/problem.h"

/*
 * Runs `e2fsck -y -E journal_only` on what name is; io_options: libext2fs's, after a question mark, or "". It
 * inherits no LD_PRELOAD. EXT2MB_ET_REPLAY: it could not, or there is no e2fsck; ENOMEM.
 */
MUST_CHECK errcode_t replay_journal(const char *name, const char *io_options);
