/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The orphan file with one lock for all threads, as the kernel had it first, for comparison. */
#pragma once

#include "orphan/orphan_file.h"

extern const struct orphan_slots_twin orphan_slots_locked;

/* As ext2mb_orphan_open(). */
MUST_CHECK errcode_t orphan_open_locked(ext2_filsys fs, const struct ext2mb_orphan_options *options, char *why,
                                        size_t why_bytes, struct ext2mb_orphans **ret);
