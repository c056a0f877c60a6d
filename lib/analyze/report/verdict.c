/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyze/report/verdict.h"

static void advise(struct report_verdict *verdict, const char *sentence)
{
	if (verdict->advice_count < sizeof(verdict->advice) / sizeof(*verdict->advice))
		verdict->advice[verdict->advice_count++] = sentence;
}

/*
 * Free space is scattered if half of it lies in pieces smaller than files that are worth defragmenting have; where the
 * groups themselves are as small as that, than half a group.
 */
static bool is_scattered(const struct report *report)
{
	uint64_t weighted_median = histogram_weighted_percentile(&report->free.sizes, 50);

	uint64_t half_group = (uint64_t)report->filesystem.blocks_per_group / 2 * report->filesystem.block_bytes;
	uint64_t limit = half_group < 1u << 20 ? half_group : 1u << 20;

	return report->free.sizes.count && weighted_median * report->filesystem.block_bytes < limit;
}

/* e4defrag counts what holes and unwritten blocks part as parted, though it lies together: joining it gains nothing. */
static bool lies_well(const struct report_sums *files)
{
	return score_band(score_of(files->extents, files->ideal_extents, files->blocks)) == SCORE_FINE;
}

/* What helps files that the score says are fragmented. */
static const char *help_for_files(const struct report *report)
{
	if (lies_well(&report->files.regular))
		return "Holes and unwritten blocks make this score: the files lie well.";
	if (!report->free.sizes.sum)
		return "Nothing is free to join extents with: free some space first.";
	if (is_scattered(report))
		return "Half of the free space lies in pieces below 1 MiB: free some first, or copy everything.";
	return "e4defrag on the worst files (mounted) can join them.";
}

void verdict_make(struct report *report)
{
	const struct report_files *files = &report->files;
	struct report_verdict *verdict = &report->verdict;

	*verdict = (struct report_verdict){ .score = files->score, .band = score_band(files->score) };
	if (report->damage.count)
		advise(verdict, "Parts of it cannot be read: run e2fsck first.");
	if (verdict->band != SCORE_FINE)
		advise(verdict, help_for_files(report));
	if (files->by_indirect && report->filesystem.has_extents)
		advise(verdict,
		       "Files with indirect maps take fewer blocks once they are copied, or chattr +e is run.");
	if (verdict->band == SCORE_FINE && !verdict->advice_count)
		advise(verdict, "Nothing needs to be done.");
}
