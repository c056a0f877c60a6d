/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A verdict on a layout, and advice. Pure. */
#pragma once

#include "analyze/report/report.h"

/*
 * Smaller files are not counted in the share of files: finding one by its name and reading its inode costs as many
 * seeks as its pieces do.
 */
#define VERDICT_LARGE_BYTES (64u << 10)

/*
 * Returns whether e4defrag would join the pieces of a file with these flags and blocks. It needs free space for a
 * second copy; its kernel part takes only inodes with extents, and nothing with journalled data or bigalloc. It
 * refuses a file whose size is 0. The report has its filesystem and, unless it was left out, its free space.
 */
enum file_obstacle verdict_obstacle(const struct report *report, uint32_t inode_flags, uint64_t size_bytes,
                                    uint64_t blocks);

/*
 * Counts a regular file that has blocks, and returns its kind. map_blocks: of its extent tree or indirect map; ideal:
 * score_ideal(); obstacle: verdict_obstacle().
 */
enum file_kind verdict_decide(struct report_kinds *kinds, const struct file_layout *layout, uint64_t map_blocks,
                              uint64_t ideal, enum file_obstacle obstacle, uint32_t block_bytes);

/* True of a directory that is long for the names in it, whose entries take so many bytes at least. */
bool verdict_is_nearly_empty(uint64_t blocks, uint32_t block_bytes, uint64_t entry_bytes);

/* "well", "scattered", "sparse" or "split". */
const char *file_kind_word(enum file_kind kind);

/* "fine", "files" and so on: fixed, scripts may compare them. */
const char *verdict_words(enum verdict_kind kind);

/* Fills in the scores of report->outlook, which is there; the report's worst files are known. */
void verdict_predict(struct report *report);

/* Fills in report->verdict, with advice, from the rest of the report. */
void verdict_make(struct report *report);
