/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "journal/journal_overlay.h"

#include <errno.h>
#include <inttypes.h>

#include "journal/journal_scan.h"
#include "support/bisect.h"

struct journal_overlay {
	size_t count;
	struct journal_overlay_figures figures;
	struct journal_overlay_block blocks[];
};

static int in_order_of_blocks(const void *left, const void *right)
{
	const struct journal_copy *a = left, *b = right;

	if (a->block != b->block)
		return a->block < b->block ? -1 : 1;
	return a->distance < b->distance ? -1 : a->distance > b->distance;
}

static int in_order_of_log(const void *left, const void *right)
{
	const struct journal_copy *a = left, *b = right;

	return a->distance < b->distance ? -1 : a->distance > b->distance;
}

static void sort(struct journal_contents *contents, int (*compare)(const void *, const void *))
{
	if (contents->copy_count)
		qsort(contents->copies, contents->copy_count, sizeof(*contents->copies), compare);
}

/* Keeps only the last copy of each block, in ascending order of blocks. */
static void keep_newest(struct journal_contents *contents)
{
	struct journal_copy *copies = contents->copies;
	size_t kept = 0;

	sort(contents, in_order_of_blocks);
	for (size_t index = 0; index < contents->copy_count; index++)
		if (index + 1 == contents->copy_count || copies[index].block != copies[index + 1].block)
			copies[kept++] = copies[index];
	contents->copy_count = kept;
}

/* If the newest copy is hidden, so are all older ones. So no table of revokes is needed, which could be large. */
static void hide(struct journal_contents *contents, bool *is_hidden, uint64_t block, uint32_t sequence)
{
	const struct journal_copy *copies = contents->copies;
	size_t index = BISECT(contents->copy_count, at, copies[at].block >= block);

	if (index < contents->copy_count && copies[index].block == block &&
	    !journal_sequence_is_later(copies[index].sequence, sequence))
		is_hidden[index] = true;
}

/* This is the second pass. It reads the block again, which may be another one by now if the filesystem is in use. */
static errcode_t read_revokes(const struct journal_log *log, const struct journal_revokes *revokes, uint8_t *block,
                              struct journal_contents *contents, bool *is_hidden, struct problem *problem)
{
	uint32_t logical = journal_log_logical(log, revokes->distance), count;
	errcode_t error = journal_log_read(log, logical, block, problem);
	struct journal_header header;

	if (error)
		return error;
	if (!journal_header_read(block, &header) || header.type != JOURNAL_REVOKE ||
	    header.sequence != revokes->sequence || !journal_tail_is_good(&log->format, block))
		return JOURNAL_DAMAGED(log, problem, "block %" PRIu32 " of the journal changes while it is read",
		                       logical);
	if (!journal_revokes_count(&log->format, block, &count))
		return JOURNAL_DAMAGED(log, problem, "the revokes in block %" PRIu32 " of the journal do not fit in it",
		                       logical);
	for (uint32_t index = 0; index < count; index++)
		hide(contents, is_hidden, journal_revokes_get(&log->format, block, index), revokes->sequence);
	return 0;
}

static errcode_t drop_revoked(const struct journal_log *log, struct journal_contents *contents, uint8_t *block,
                              struct problem *problem)
{
	SCOPE_FREE bool *is_hidden = calloc(contents->copy_count + 1, sizeof(*is_hidden));
	size_t kept = 0;

	if (!is_hidden)
		return problem_set(problem, ENOMEM, log->source->path, JOURNAL_ACTION);
	for (size_t index = 0; index < contents->revoke_count; index++) {
		errcode_t error = read_revokes(log, &contents->revokes[index], block, contents, is_hidden, problem);

		if (error)
			return error;
	}
	for (size_t index = 0; index < contents->copy_count; index++)
		if (!is_hidden[index])
			contents->copies[kept++] = contents->copies[index];
	contents->copy_count = kept;
	return 0;
}

/* This is the third pass, which copies nothing. It goes in the log's order, which is the disk's. */
static errcode_t check_copies(const struct journal_log *log, struct journal_contents *contents, uint8_t *block,
                              struct problem *problem)
{
	sort(contents, in_order_of_log);
	for (size_t index = 0; index < contents->copy_count; index++) {
		const struct journal_copy *copy = &contents->copies[index];
		const struct journal_tag_view tag = { copy->block, copy->checksum, copy->is_escaped };
		uint32_t logical = journal_log_logical(log, copy->distance);

		if (copy->block >= log->source->blocks)
			return JOURNAL_DAMAGED(log, problem,
			                       "transaction %" PRIu32 " has block %" PRIu64
			                       ", outside of the filesystem",
			                       copy->sequence, copy->block);
		if (!log->format.checksum_version)
			continue;
		errcode_t error = journal_log_read(log, logical, block, problem);

		if (error)
			return error;
		if (!journal_contents_are_good(&log->format, copy->sequence, &tag, block))
			return JOURNAL_DAMAGED(log, problem,
			                       "block %" PRIu64 " has a wrong checksum in block %" PRIu32
			                       " of the journal",
			                       copy->block, logical);
	}
	sort(contents, in_order_of_blocks);
	return 0;
}

/* The kernel (6.18) and e2fsck (1.47) leave the area's first block out. A program that does not would begin there. */
static errcode_t check_fast_commits(const struct journal_log *log, uint32_t sequence, uint8_t *block,
                                    struct problem *problem)
{
	if (!(log->super.incompat & JOURNAL_INCOMPAT_FAST_COMMIT))
		return 0;
	for (uint32_t logical = log->end; logical < log->super.blocks && logical <= log->end + 1; logical++) {
		errcode_t error = journal_log_read(log, logical, block, problem);

		if (error)
			return error;
		if (journal_fast_commit_follows(block, log->format.block_bytes, sequence))
			return problem_set_reason(problem, JOURNAL_ET_FAST_COMMIT, log->source->path, JOURNAL_ACTION,
			                          "it has fast commits, which only the kernel and e2fsck replay");
	}
	return 0;
}

static errcode_t make_overlay(const struct journal_log *log, const struct journal_contents *contents,
                              const struct journal_overlay_figures *figures, struct journal_overlay **overlay,
                              struct problem *problem)
{
	struct journal_overlay *made = malloc(sizeof(*made) + contents->copy_count * sizeof(*made->blocks));

	if (!made)
		return problem_set(problem, ENOMEM, log->source->path, JOURNAL_ACTION);
	made->count = contents->copy_count;
	made->figures = *figures;
	for (size_t index = 0; index < made->count; index++) {
		const struct journal_copy *copy = &contents->copies[index];
		uint32_t logical = journal_log_logical(log, copy->distance);

		made->blocks[index] = (struct journal_overlay_block){
			.block = copy->block,
			.physical = journal_source_physical(log->source, logical),
			.is_escaped = copy->is_escaped,
		};
	}
	*overlay = made;
	return 0;
}

static errcode_t recover(const struct journal_log *log, struct journal_contents *contents,
                         struct journal_overlay_figures *figures, struct problem *problem)
{
	SCOPE_FREE uint8_t *block = malloc(log->format.block_bytes);

	if (!block)
		return problem_set(problem, ENOMEM, log->source->path, JOURNAL_ACTION);
	errcode_t error = journal_scan(log, contents, problem);

	if (!error)
		error = check_fast_commits(log, contents->end_sequence, block, problem);
	if (error)
		return error;
	figures->transactions = contents->transactions;
	/* The one before may have blocks in the log, without a commit block that counts. */
	figures->next_sequence = contents->end_sequence + 1;
	figures->copies = contents->copy_count;
	figures->is_wrapped =
		contents->copy_count &&
		journal_log_logical(log, contents->copies[contents->copy_count - 1].distance) < log->super.start;
	keep_newest(contents);
	figures->hidden = contents->copy_count;
	error = drop_revoked(log, contents, block, problem);
	figures->hidden -= contents->copy_count;
	return error ? error : check_copies(log, contents, block, problem);
}

errcode_t journal_overlay_read(const struct journal_source *source, struct journal_overlay **overlay,
                               struct problem *problem)
{
	struct journal_overlay_figures figures = { 0 };
	struct journal_contents contents = { 0 };
	struct journal_log log;
	errcode_t error = journal_log_open(&log, source, problem);

	if (!error) {
		figures.next_sequence = log.super.sequence;
		figures.error = log.super.error;
	}
	if (!error && log.blocks)
		error = recover(&log, &contents, &figures, problem);
	if (!error)
		error = make_overlay(&log, &contents, &figures, overlay, problem);
	journal_contents_free(&contents);
	return error;
}

void journal_overlay_free(struct journal_overlay *overlay)
{
	free(overlay);
}

static size_t first_from(const struct journal_overlay *overlay, uint64_t block)
{
	return BISECT(overlay->count, at, overlay->blocks[at].block >= block);
}

bool journal_overlay_find(const struct journal_overlay *overlay, uint64_t block, struct journal_overlay_block *found)
{
	size_t index = first_from(overlay, block);

	if (index == overlay->count || overlay->blocks[index].block != block)
		return false;
	*found = overlay->blocks[index];
	return true;
}

bool journal_overlay_has(const struct journal_overlay *overlay, uint64_t block, uint64_t count)
{
	size_t index = first_from(overlay, block);

	return index < overlay->count && overlay->blocks[index].block - block < count;
}

size_t journal_overlay_count(const struct journal_overlay *overlay)
{
	return overlay->count;
}

struct journal_overlay_block journal_overlay_get(const struct journal_overlay *overlay, size_t index)
{
	return overlay->blocks[index];
}

struct journal_overlay_figures journal_overlay_figures(const struct journal_overlay *overlay)
{
	return overlay->figures;
}

errcode_t journal_overlay_apply(const struct journal_overlay *overlay, const struct journal_source *source,
                                uint64_t block, uint64_t count, void *bytes)
{
	for (size_t index = first_from(overlay, block); index < overlay->count; index++) {
		const struct journal_overlay_block *newer = &overlay->blocks[index];

		if (newer->block - block >= count)
			break;
		uint8_t *at = (uint8_t *)bytes + (newer->block - block) * source->block_bytes;
		errcode_t error =
			source->read(source->context, newer->physical * source->block_bytes, at, source->block_bytes);

		if (error)
			return error;
		if (newer->is_escaped)
			journal_unescape(at);
	}
	return 0;
}
