/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The log of a journal as a ring of blocks that begins with the oldest transaction; its superblock. Private to this
 * folder. */
#pragma once

#include "journal/journal_err.h"
#include "journal/journal_source.h"
#include "ondisk/journal_view.h"

struct journal_log {
	const struct journal_source *source;
	struct journal_superblock super;
	struct journal_format format;
	uint32_t end;    /* the first block of the journal after the log */
	uint32_t blocks; /* of the log */
};

/*
 * Reads the superblock and checks its values against the source: JOURNAL_ET_SUPERBLOCK, _FEATURES, _EXTERNAL, and
 * errors in reading. log->blocks is 0 if the log is empty. The caller keeps source, which must outlive the log.
 */
MUST_CHECK errcode_t journal_log_open(struct journal_log *log, const struct journal_source *source,
                                      struct problem *problem);

/* Returns the block of the journal at this distance (below log->blocks) from the oldest transaction's first block. */
uint32_t journal_log_logical(const struct journal_log *log, uint32_t distance);

/* Maps a block of the journal (below super.blocks) to the image's. */
uint64_t journal_source_physical(const struct journal_source *source, uint64_t logical);

/* Reads a block of the journal, whole. */
MUST_CHECK errcode_t journal_log_read(const struct journal_log *log, uint32_t logical, void *bytes,
                                      struct problem *problem);

#define JOURNAL_ACTION "cannot read the journal"

/* JOURNAL_ET_DAMAGED with a reason, as problem_set_reason() takes it. */
#define JOURNAL_DAMAGED(log, problem, ...)                                                                             \
	problem_set_reason(problem, JOURNAL_ET_DAMAGED, (log)->source->path, JOURNAL_ACTION, __VA_ARGS__)
