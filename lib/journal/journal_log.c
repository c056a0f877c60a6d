/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "journal/journal_log.h"

#include "support/bisect.h"

#define LEAST_BLOCK_BYTES 1024
#define MOST_BLOCK_BYTES 65536
/* Kernels do not agree on where a shorter log with fast commits ends; e2fsck refuses it. */
#define LEAST_WITH_FAST_COMMITS 1024

static errcode_t refuse(const struct journal_source *source, struct problem *problem, const char *reason)
{
	return problem_set_reason(problem, JOURNAL_ET_SUPERBLOCK, source->path, JOURNAL_ACTION, "%s", reason);
}

static errcode_t refuse_features(const struct journal_source *source, const struct journal_superblock *super,
                                 struct problem *problem)
{
	uint32_t incompat = super->incompat & ~JOURNAL_INCOMPAT_KNOWN,
		 compat = super->compat & ~JOURNAL_COMPAT_CHECKSUM;
	const char *kind = incompat ? "incompat feature" : super->ro_compat ? "ro_compat feature" : "compat feature";
	uint32_t bits = incompat ? incompat : super->ro_compat ? super->ro_compat : compat;

	if (!bits)
		return problem_set_reason(problem, JOURNAL_ET_FEATURES, source->path, JOURNAL_ACTION,
		                          "its checksums are of an unknown type");
	return problem_set_reason(problem, JOURNAL_ET_FEATURES, source->path, JOURNAL_ACTION,
	                          "it has the unknown %s 0x%x", kind, bits);
}

/*
 * Returns how many blocks the ranges have, one after another from 0 on; 0 if they have holes or lie outside of the
 * filesystem.
 */
static uint64_t count_blocks(const struct journal_source *source)
{
	uint64_t next = 0;

	for (size_t index = 0; index < source->range_count; index++) {
		const struct journal_range *range = &source->ranges[index];

		if (range->logical != next || !range->count || range->physical >= source->blocks ||
		    range->count > source->blocks - range->physical || range->count > UINT32_MAX - next)
			return 0;
		next += range->count;
	}
	return next;
}

static errcode_t check_state(const struct journal_source *source, const struct journal_superblock *super,
                             enum journal_superblock_state state, struct problem *problem)
{
	switch (state) {
	case JOURNAL_SUPERBLOCK_GOOD:
		return 0;
	case JOURNAL_SUPERBLOCK_BAD_MAGIC:
		return refuse(source, problem, "its first block is no superblock of a journal");
	case JOURNAL_SUPERBLOCK_BAD_CHECKSUM:
		return refuse(source, problem, "its superblock has a wrong checksum");
	case JOURNAL_SUPERBLOCK_UNKNOWN_FEATURES:
		return refuse_features(source, super, problem);
	case JOURNAL_SUPERBLOCK_BAD_VALUES:
		break;
	}
	return refuse(source, problem, "the values in its superblock contradict each other");
}

/*
 * Checks the same conditions as the kernel when it loads a journal. The log reaches to the end, even if the
 * superblock has a number of fast-commit blocks, unless the feature is set: tune2fs -O ^fast_commit leaves the number
 * of its blocks there.
 */
static errcode_t check_values(struct journal_log *log, uint64_t blocks, struct problem *problem)
{
	const struct journal_superblock *super = &log->super;
	bool has_later = super->incompat & (JOURNAL_INCOMPAT_CSUM_V2 | JOURNAL_INCOMPAT_CSUM_V3);

	if (super->block_bytes != log->source->block_bytes)
		return refuse(log->source, problem, "its blocks have another size than the filesystem's");
	if (super->blocks > blocks)
		return refuse(log->source, problem, "its superblock says that it is longer than its file");
	if (has_later && super->compat & JOURNAL_COMPAT_CHECKSUM)
		return refuse(log->source, problem, "its superblock has two versions of checksums");
	log->end = super->incompat & JOURNAL_INCOMPAT_FAST_COMMIT ? journal_log_end(super) : super->blocks;
	if (super->incompat & JOURNAL_INCOMPAT_FAST_COMMIT && log->end < LEAST_WITH_FAST_COMMITS)
		return refuse(log->source, problem, "its fast-commit area leaves too little for the log");
	if (!super->start)
		return 0;
	if (super->start < super->first || super->start >= log->end)
		return refuse(log->source, problem, "its superblock says that the log begins outside of it");
	log->blocks = log->end - super->first;
	return 0;
}

errcode_t journal_log_open(struct journal_log *log, const struct journal_source *source, struct problem *problem)
{
	uint8_t bytes[JOURNAL_SUPERBLOCK_BYTES];

	*log = (struct journal_log){ .source = source };
	if (source->is_external)
		return problem_set_reason(problem, JOURNAL_ET_EXTERNAL, source->path, JOURNAL_ACTION,
		                          "it is on another device");
	if (source->block_bytes < LEAST_BLOCK_BYTES || source->block_bytes > MOST_BLOCK_BYTES ||
	    source->block_bytes & (source->block_bytes - 1) ||
	    source->blocks > (uint64_t)INT64_MAX / source->block_bytes)
		return refuse(source, problem, "the filesystem's sizes are not ext4's");
	uint64_t blocks = count_blocks(source);

	if (!blocks)
		return refuse(source, problem, "its file has holes, or blocks outside of the filesystem");
	errcode_t error =
		source->read(source->context, source->ranges[0].physical * source->block_bytes, bytes, sizeof(bytes));

	if (error)
		return problem_set(problem, error, source->path, JOURNAL_ACTION);
	error = check_state(source, &log->super, journal_superblock_read(bytes, &log->super), problem);
	if (error)
		return error;
	log->format = journal_format_of(&log->super);
	return check_values(log, blocks, problem);
}

uint32_t journal_log_logical(const struct journal_log *log, uint32_t distance)
{
	uint32_t until_end = log->end - log->super.start;

	return distance < until_end ? log->super.start + distance : log->super.first + (distance - until_end);
}

uint64_t journal_source_physical(const struct journal_source *source, uint64_t logical)
{
	const struct journal_range *ranges = source->ranges;
	size_t index = BISECT(source->range_count, at, ranges[at].logical + ranges[at].count > logical);

	return ranges[index].physical + (logical - ranges[index].logical);
}

errcode_t journal_log_read(const struct journal_log *log, uint32_t logical, void *bytes, struct problem *problem)
{
	const struct journal_source *source = log->source;
	uint64_t offset_bytes = journal_source_physical(source, logical) * source->block_bytes;
	errcode_t error = source->read(source->context, offset_bytes, bytes, source->block_bytes);

	return error ? problem_set(problem, error, source->path, JOURNAL_ACTION) : 0;
}
