/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The first pass of recovery: the end of the log, and the blocks of its committed transactions. Private to this
 * folder; journal_overlay.h says which logs count as damaged.
 */
#pragma once

#include "journal/journal_log.h"

/* A copy of a block of the filesystem in the log, not as it is on disk. */
struct journal_copy {
	uint64_t block;
	uint32_t distance; /* of the copy, from the log's beginning, in blocks */
	uint32_t sequence; /* of its transaction */
	uint32_t checksum; /* as its tag has it */
	bool is_escaped;
};

/* A block of revokes. */
struct journal_revokes {
	uint32_t distance;
	uint32_t sequence;
};

/* Zero-initialise. */
struct journal_contents {
	struct journal_copy *copies; /* owned, in the order of the log */
	size_t copy_count, copy_capacity;
	struct journal_revokes *revokes; /* owned, in the order of the log */
	size_t revoke_count, revoke_capacity;
	uint32_t transactions; /* how many are committed */
	uint32_t end_sequence; /* of the first transaction that is not committed */
};

/* JOURNAL_ET_DAMAGED, _LARGE, ENOMEM, errors in reading. The caller frees contents, after errors, too. */
MUST_CHECK errcode_t journal_scan(const struct journal_log *log, struct journal_contents *contents,
                                  struct problem *problem);
void journal_contents_free(struct journal_contents *contents);
