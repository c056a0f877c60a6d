/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "ext2fs/ext2mb.h"
#include "orphan/orphan_slots.h"

/* ext2mb_orphan_open() with a choice of the slots' implementation. */
MUST_CHECK errcode_t orphan_file_open(ext2_filsys fs, const struct ext2mb_orphan_options *options,
                                      const struct orphan_slots_twin *twin, char *why, size_t why_bytes,
                                      struct ext2mb_orphans **ret);
