/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Extended attributes of mke2fs's own lost+found. */
#pragma once

#include "populate/build/open_filesystem.h"
#include "populate/build/plan.h"
#include "populate/build/workplace.h"

/*
 * Gives it the set that the source has for it, if any; after xattrs_write(), and before quota_write(), which charges
 * what it takes. Main thread.
 */
MUST_CHECK errcode_t lost_found_write(const struct plan *plan, struct filesystem *filesystem, struct sink *sink,
                                      const struct workplace *work);
