/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Totals of the files below each directory, as du(1) adds up, down to a depth. */
#pragma once

#include "analyze/read/inode_scan.h"

/*
 * A visitor that makes report->by_directory, once the directories are known: rows for all of them from the root (depth
 * 0) down to depth. Memory: 12 bytes a directory and 80 a row. ENOMEM.
 */
MUST_CHECK errcode_t by_directory_open(struct inode_scan *scan, unsigned int depth, struct inode_visitor *visitor);
