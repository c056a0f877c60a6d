/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Encrypted files, which are stored as they were, without their key: what the new filesystem must have in common with
 * the old one for that. Main thread.
 */
#pragma once

#include "populate/build/plan.h"
#include "populate/build/workplace.h"

/*
 * Fills in scanned->encrypted. EINVAL: two sources have encrypted files in blocks of different sizes, or the options
 * refuse the feature.
 */
MUST_CHECK errcode_t encrypted_find(struct scanned *scanned, const struct workplace *work);

/* Whether the filesystem that was chosen can store them: its blocks, and its UUID where they depend on it. EINVAL. */
MUST_CHECK errcode_t encrypted_check(const struct plan *plan, const struct workplace *work);
