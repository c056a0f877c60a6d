/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Totals of the files below each directory, as du(1) adds up, down to a depth. */
#pragma once

#include "analyze/read/inode_scan.h"

struct by_directory;

/*
 * Prepares it, once the directories are known: rows for all of them from the root (depth 0) down to depth. Memory: 12
 * bytes a directory and 64 a row. ENOMEM.
 */
MUST_CHECK errcode_t by_directory_open(struct inode_scan *scan, unsigned int depth, struct by_directory **ret);
void by_directory_close(struct by_directory *totals);

/* The visitor for the scan of the files. */
struct inode_visitor by_directory_visitor(struct by_directory *totals);

/*
 * After the scan: what is below a directory is added to it, too, and the rows that have files are handed over, by path.
 * ENOMEM.
 */
MUST_CHECK errcode_t by_directory_finish(struct by_directory *totals, struct report *report);
