/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyze/report/report.h"

#include <stdlib.h>
#include <string.h>

#include "support/vector.h"

void report_destroy(struct report *report)
{
	free(report->free.groups);
	free(report->free.zones);
	free(report->worst.files);
	free(report->by_directory);
	if (report->unlink) {
		free(report->unlink->costly);
		free(report->unlink->shared);
	}
	free(report->unlink);
	arena_destroy(&report->arena);
}

/* --- The worst files ---------------------------------------------------------------------------------------- */

static int worse_first(const void *left, const void *right)
{
	const struct report_file *a = left, *b = right;
	uint64_t excess = a->runs - a->ideal_extents, other = b->runs - b->ideal_extents;

	return excess != other ? (excess < other) - (excess > other) : (a->ino > b->ino) - (a->ino < b->ino);
}

void worst_sort(struct worst_files *worst)
{
	if (worst->count)
		qsort(worst->files, worst->count, sizeof(*worst->files), worse_first);
	worst->count = worst->count < worst->limit ? worst->count : worst->limit;
}

errcode_t worst_add(struct worst_files *worst, const struct report_file *file)
{
	if (!worst->limit || file->runs <= file->ideal_extents)
		return 0;
	/* Sorted only now and then, a file costs no more than its place in a heap would. */
	if (worst->count == 2 * worst->limit)
		worst_sort(worst);
	errcode_t error = vector_reserve(&worst->files, &worst->capacity, worst->count + 1, sizeof(*worst->files));

	if (!error)
		worst->files[worst->count++] = *file;
	return error;
}

/* --- Damage ------------------------------------------------------------------------------------------------- */

static bool is_before(const struct report_damage *left, const struct report_damage *right)
{
	if (left->ino != right->ino)
		return left->ino < right->ino;
	if (left->block != right->block)
		return left->block < right->block;
	return strcmp(left->what, right->what) < 0;
}

/* Keeps it if it is among the first. */
static void keep(struct damage_list *list, const struct report_damage *damage)
{
	unsigned int place = list->kept;

	if (place == REPORT_MAX_DAMAGE) {
		if (!is_before(damage, &list->first[place - 1]))
			return;
		place--;
	} else {
		list->kept++;
	}
	for (; place && is_before(damage, &list->first[place - 1]); place--)
		list->first[place] = list->first[place - 1];
	list->first[place] = *damage;
}

void damage_add(struct damage_list *list, uint32_t ino, uint64_t block, const char *what)
{
	list->count++;
	keep(list, &(struct report_damage){ .ino = ino, .block = block, .what = what });
}

void damage_merge(struct damage_list *to, const struct damage_list *from)
{
	to->count += from->count;
	for (unsigned int n = 0; n < from->kept; n++)
		keep(to, &from->first[n]);
}

/* --- The verdict -------------------------------------------------------------------------------------------- */

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
