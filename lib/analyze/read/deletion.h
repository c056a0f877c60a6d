/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the free space would be if some files were deleted: their blocks are taken out of the bitmaps, in memory. */
#pragma once

#include "analyze/read/inode_scan.h"

/*
 * A visitor that chooses files with about most_blocks blocks together, as if by lot but the same ones each time, and
 * stores what the free space would be without them in report->outlook, which is there. The report has its free space.
 * Memory: 16 bytes for each file, and for each record of the chosen ones. ENOMEM.
 */
MUST_CHECK errcode_t deletion_open(struct inode_scan *scan, uint64_t most_blocks, struct inode_visitor *visitor);
