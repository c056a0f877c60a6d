/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which files have most extents in each part of the filesystem: what one finds in a cell of the map. */
#pragma once

#include "analyze/read/inode_scan.h"

/*
 * A visitor that fills in report->map: parts of as many groups as are needed for at most most_cells of them, and in
 * each the files with the most extents there, with paths. Memory for each worker: 180 bytes a cell. ENOMEM.
 */
MUST_CHECK errcode_t map_files_open(struct inode_scan *scan, uint32_t most_cells, struct inode_visitor *visitor);
