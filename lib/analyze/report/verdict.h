/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a person would say of a layout, and what to do about it. Pure. */
#pragma once

#include "analyze/report/report.h"

/*
 * Smaller files are not counted where the share of the files decides: finding one by its name and reading its inode costs
 * as many seeks as its pieces do.
 */
#define VERDICT_LARGE_BYTES (64u << 10)

/* Counts a regular file that has blocks, and says how it lies. map_blocks: of its extent tree or indirect map; ideal: score_ideal(). */
enum file_kind verdict_take(struct report_kinds *kinds, const struct file_layout *layout, uint64_t map_blocks,
                            uint64_t ideal, uint32_t block_bytes);

/* "well", "scattered", "sparse" or "split". */
const char *file_kind_word(enum file_kind kind);

/* "fine", "files" and so on: fixed, scripts may compare them. */
const char *verdict_words(enum verdict_kind kind);

/* Fills in report->verdict, what the report comes to and what would help, from all the rest. */
void verdict_make(struct report *report);
