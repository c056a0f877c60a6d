/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Totals of the files below each directory down to a depth, as du(1) shows them. */
#pragma once

#include "analyze/read/inode_scan.h"

/*
 * Opens a visitor that makes report->by_directory, with rows for all directories from the root (depth 0) down to
 * depth. Called once the directories are known. Memory: 12 bytes a directory and 80 a row. ENOMEM.
 */
MUST_CHECK errcode_t by_directory_open(struct inode_scan *scan, unsigned int depth, struct inode_visitor *visitor);
