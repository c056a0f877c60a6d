/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "journal/journal_scan.h"

#include <errno.h>

#include "support/vector.h"

/* mke2fs makes no journal of more blocks. Each block takes 24 bytes here: 234 MiB together. */
#define MOST_COPIES 10240000

struct scan {
	const struct journal_log *log;
	struct journal_contents *contents;
	struct problem *problem;
	uint8_t *block, *data;
	uint32_t at;       /* where the next header is, in blocks from the log's beginning */
	uint32_t sequence; /* that the next header should have */
	size_t committed_copies, committed_revokes;
	bool is_doubtful; /* a checksum in the transaction is wrong: its commit block says whether it is an old one */
	bool has_failed;  /* a transaction has failed; with asynchronous commits the next one says why */
	bool is_over;
	uint32_t transaction_checksum; /* of the journal's first kind of checksums */
	uint64_t last_seconds;         /* when the previous transaction was committed */
};

static bool has_transaction_checksums(const struct scan *scan)
{
	return scan->log->super.compat & JOURNAL_COMPAT_CHECKSUM;
}

static errcode_t read_block(struct scan *scan, uint32_t distance, uint8_t *bytes)
{
	return journal_log_read(scan->log, journal_log_logical(scan->log, distance), bytes, scan->problem);
}

static errcode_t add_copy(struct scan *scan, const struct journal_tag_view *tag)
{
	struct journal_contents *contents = scan->contents;

	if (contents->copy_count == MOST_COPIES)
		return problem_set_reason(scan->problem, JOURNAL_ET_LARGE, scan->log->source->path, JOURNAL_ACTION,
		                          "its log has more than %d blocks", MOST_COPIES);
	if (vector_reserve(&contents->copies, &contents->copy_capacity, contents->copy_count + 1,
	                   sizeof(*contents->copies)))
		return problem_set(scan->problem, ENOMEM, scan->log->source->path, JOURNAL_ACTION);
	contents->copies[contents->copy_count++] = (struct journal_copy){
		.block = tag->block,
		.distance = scan->at,
		.sequence = scan->sequence,
		.checksum = tag->checksum,
		.is_escaped = tag->is_escaped,
	};
	return 0;
}

static errcode_t sum_copy(struct scan *scan)
{
	errcode_t error = read_block(scan, scan->at, scan->data);

	if (!error)
		scan->transaction_checksum = journal_transaction_checksum(scan->transaction_checksum, scan->data,
		                                                          scan->log->format.block_bytes);
	return error;
}

static errcode_t see_descriptor(struct scan *scan)
{
	const struct journal_format *format = &scan->log->format;
	struct journal_tag_cursor cursor = { .format = format, .bytes = scan->block };
	bool is_summed = has_transaction_checksums(scan) && !scan->has_failed;
	struct journal_tag_view tag;

	if (!journal_tail_is_good(format, scan->block))
		scan->is_doubtful = true;
	if (is_summed)
		scan->transaction_checksum =
			journal_transaction_checksum(scan->transaction_checksum, scan->block, format->block_bytes);
	while (journal_tags_next(&cursor, &tag)) {
		if (scan->at == scan->log->blocks) {
			/* If a checksum was wrong, the log just ends here. */
			scan->is_over = scan->is_doubtful;
			return scan->is_over ? 0 :
			                       JOURNAL_DAMAGED(scan->log, scan->problem,
			                                       "transaction %u is longer than the log", scan->sequence);
		}
		errcode_t error = add_copy(scan, &tag);

		if (!error && is_summed)
			error = sum_copy(scan);
		if (error)
			return error;
		scan->at++;
	}
	return 0;
}

static errcode_t see_revokes(struct scan *scan)
{
	struct journal_contents *contents = scan->contents;

	if (!journal_tail_is_good(&scan->log->format, scan->block))
		scan->is_doubtful = true;
	if (vector_reserve(&contents->revokes, &contents->revoke_capacity, contents->revoke_count + 1,
	                   sizeof(*contents->revokes)))
		return problem_set(scan->problem, ENOMEM, scan->log->source->path, JOURNAL_ACTION);
	contents->revokes[contents->revoke_count++] = (struct journal_revokes){ scan->at - 1, scan->sequence };
	return 0;
}

/* A checksum is wrong. Blocks that were there before the journal was made are older than the previous transaction. */
static errcode_t end_at_failure(struct scan *scan, const struct journal_commit *commit)
{
	scan->is_over = true;
	if (commit->seconds < scan->last_seconds)
		return 0;
	return JOURNAL_DAMAGED(scan->log, scan->problem, "transaction %u has a wrong checksum", scan->sequence);
}

static errcode_t see_commit(struct scan *scan)
{
	const struct journal_superblock *super = &scan->log->super;
	bool is_good = journal_commit_is_good(&scan->log->format, scan->block);
	struct journal_commit commit;

	journal_commit_read(scan->block, &commit);
	if (scan->has_failed)
		/* The previous transaction has a wrong checksum and is not the last: it was not interrupted. */
		return JOURNAL_DAMAGED(scan->log, scan->problem, "transaction %u has a wrong checksum",
		                       scan->sequence - 1);
	if (has_transaction_checksums(scan))
		is_good = is_good && journal_transaction_is_good(&commit, scan->transaction_checksum);
	if (scan->is_doubtful || (!is_good && commit.seconds < scan->last_seconds))
		return end_at_failure(scan, &commit);
	if (!is_good && !(super->incompat & JOURNAL_INCOMPAT_ASYNC_COMMIT))
		return end_at_failure(scan, &commit);
	if (!is_good) {
		scan->has_failed = true;
		scan->is_over = !has_transaction_checksums(scan);
		scan->sequence++;
		return 0;
	}
	scan->transaction_checksum = UINT32_MAX;
	scan->last_seconds = commit.seconds;
	scan->committed_copies = scan->contents->copy_count;
	scan->committed_revokes = scan->contents->revoke_count;
	scan->contents->transactions++;
	scan->contents->end_sequence = ++scan->sequence;
	return 0;
}

/* Reads the next header, or finds the log's end. */
static errcode_t step(struct scan *scan)
{
	struct journal_header header;
	uint32_t at = scan->at < scan->log->blocks ? scan->at : 0;
	errcode_t error = read_block(scan, at, scan->block);

	if (error)
		return error;
	if (!journal_header_read(scan->block, &header) || header.sequence != scan->sequence) {
		scan->is_over = true;
		return 0;
	}
	/* The scan comes to the log's beginning again only in a transaction that begins there and has not ended. */
	if (scan->at == scan->log->blocks)
		return JOURNAL_DAMAGED(scan->log, scan->problem,
		                       "transaction %u is as long as the log and does not end", scan->sequence);
	scan->at++;
	switch (header.type) {
	case JOURNAL_DESCRIPTOR:
		return see_descriptor(scan);
	case JOURNAL_REVOKE:
		return see_revokes(scan);
	case JOURNAL_COMMIT:
		return see_commit(scan);
	default:
		scan->is_over = true;
		return 0;
	}
}

errcode_t journal_scan(const struct journal_log *log, struct journal_contents *contents, struct problem *problem)
{
	SCOPE_FREE uint8_t *block = malloc(log->format.block_bytes);
	SCOPE_FREE uint8_t *data = malloc(log->format.block_bytes);
	struct scan scan = {
		.log = log,
		.contents = contents,
		.problem = problem,
		.block = block,
		.data = data,
		.sequence = log->super.sequence,
		.transaction_checksum = UINT32_MAX,
	};

	contents->end_sequence = scan.sequence;
	if (!block || !data)
		return problem_set(problem, ENOMEM, log->source->path, JOURNAL_ACTION);
	while (!scan.is_over) {
		errcode_t error = step(&scan);

		if (error)
			return error;
	}
	/* Blocks that an interrupted commit has left do not count. */
	contents->copy_count = scan.committed_copies;
	contents->revoke_count = scan.committed_revokes;
	return 0;
}

void journal_contents_free(struct journal_contents *contents)
{
	free(TAKE(contents->copies));
	free(TAKE(contents->revokes));
}
