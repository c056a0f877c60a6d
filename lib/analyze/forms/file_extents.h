/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One file's extents, as filefrag(8) shows them. */
#pragma once

#include <stdio.h>

#include "analyze/report/report.h"
#include "analyze/read/volume.h"

/*
 * Writes them to stream as they are read: with a row for each record of the map, or only how many extents there are.
 * name: how to call the file. What cannot be read is damage. Errors: EXT2_ET_BAD_INODE_NUM, ENOENT (not in use),
 * ENOMEM, errors in reading.
 */
MUST_CHECK errcode_t file_extents_print(const struct volume *volume, uint32_t ino, const char *name, bool with_rows,
                                        struct damage_list *damage, FILE *stream);
