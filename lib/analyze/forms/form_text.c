/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <string.h>

#include "analyze/forms/form_delta.h"
#include "analyze/forms/form_history.h"
#include "analyze/forms/forms.h"
#include "analyze/report/verdict.h"
#include "support/io/whole_io.h"
#include "support/text/units.h"
#include "support/utf8.h"

#define BAR_COLUMNS 26
#define KERNEL_COLUMNS 14

/* Sizes in text are rounded; the JSON has exact numbers. */
static struct units_text size_of(const struct report *report, uint64_t blocks)
{
	return units_bytes(blocks * report->filesystem.block_bytes);
}

static struct units_text value_of(const struct report *report, uint64_t value, bool is_size)
{
	struct units_text text = size_of(report, value);

	if (!is_size)
		snprintf(text.text, sizeof(text.text), "%" PRIu64, value);
	return text;
}

/* The mean need not be whole blocks. */
static struct units_text mean_of(const struct report *report, uint64_t blocks, uint64_t count)
{
	double bytes = count ? (double)blocks * report->filesystem.block_bytes / (double)count : 0;

	return units_bytes((uint64_t)(bytes + 0.5));
}

static void print_bar(FILE *stream, uint64_t part, uint64_t whole)
{
	unsigned int columns = (unsigned int)(report_percent(part, whole) * BAR_COLUMNS / 100 + 0.5);

	/* A part that is not empty shows at least one column. */
	if (part && !columns)
		columns = 1;
	for (unsigned int n = 0; n < columns; n++)
		fputc('#', stream);
}

static void print_filesystem(const struct report *report, FILE *stream)
{
	const struct report_filesystem *filesystem = &report->filesystem;

	utf8_print(filesystem->target, stream);
	fprintf(stream, ": %s in %" PRIu64 " blocks of %u bytes, %u group%s", size_of(report, filesystem->blocks).text,
	        filesystem->blocks, filesystem->block_bytes, filesystem->groups, units_plural(filesystem->groups));
	if (filesystem->cluster_blocks > 1)
		fprintf(stream, ", clusters of %u blocks", filesystem->cluster_blocks);
	fputc('\n', stream);
	if (filesystem->label[0]) {
		fputs("label ", stream);
		utf8_print(filesystem->label, stream);
		fputs(", ", stream);
	}
	fprintf(stream, "UUID %s\n", filesystem->uuid);
	fprintf(stream, "inodes: %u of %u free\n", filesystem->free_inodes, filesystem->inodes);
	if (filesystem->stripe_blocks)
		fprintf(stream, "stripes of %u blocks, stride %u\n", filesystem->stripe_blocks,
		        filesystem->stride_blocks);
}

static void print_percentiles(const struct report *report, FILE *stream, const struct histogram *histogram,
                              const char *name, bool is_size)
{
	static const unsigned int shown[] = { 1, 10, 25, 50, 75, 90, 99 };

	fputs("  percent:", stream);
	for (size_t n = 0; n < sizeof(shown) / sizeof(*shown); n++)
		fprintf(stream, " %8u%%", shown[n]);
	fprintf(stream, "\n%9s:", name);
	for (size_t n = 0; n < sizeof(shown) / sizeof(*shown); n++)
		fprintf(stream, "%10s", value_of(report, histogram_percentile(histogram, shown[n]), is_size).text);
	fputc('\n', stream);
}

/* Prints the distribution of sizes in blocks, or of numbers: percentiles, and a row for each power of two. */
static void print_distribution(const struct report *report, FILE *stream, const struct histogram *histogram,
                               bool is_size, const char *count_title, const char *sum_title)
{
	const char *name = is_size ? "size" : "extents";

	print_percentiles(report, stream, histogram, name, is_size);
	fprintf(stream, "  %7s from  %12s  %14s  share of the %s\n", name, count_title, sum_title, sum_title);
	for (unsigned int power = 0; power < 49; power++) {
		uint64_t count, sum;

		histogram_power(histogram, power, &count, &sum);
		if (!count)
			continue;
		fprintf(stream, "  %12s  %12" PRIu64 "  %14" PRIu64 "  %5.1f%% ",
		        value_of(report, UINT64_C(1) << power, is_size).text, count, sum,
		        report_percent(sum, histogram->sum));
		print_bar(stream, sum, histogram->sum);
		fputc('\n', stream);
	}
}

/* Prints a row of digits, one a zone: 0 is full, 9 is free. */
static void print_zones(const struct report *report, FILE *stream)
{
	const struct report_free *space = &report->free;

	fprintf(stream, "  from the first group to the last (0 full, 9 free), %u group%s a digit:\n  ",
	        space->zones[0].groups, units_plural(space->zones[0].groups));
	for (size_t n = 0; n < space->zone_count; n++)
		fputc('0' + (int)(report_ratio(space->zones[n].free_blocks, space->zones[n].blocks) * 9.99), stream);
	fputc('\n', stream);
}

/* Prints the kernel's form of mb_groups, which has 14 orders whatever the block size. */
static void print_groups(const struct report *report, FILE *stream)
{
	const struct report_free *space = &report->free;
	unsigned int columns = space->orders > KERNEL_COLUMNS ? space->orders : KERNEL_COLUMNS;

	fputs("\n#group: free  frags first [", stream);
	for (unsigned int order = 0; order < columns; order++)
		fprintf(stream, " 2^%-3u", order);
	fputs(" ]\n", stream);
	for (uint32_t number = 0; number < report->filesystem.groups; number++) {
		const struct report_group *group = &space->groups[number];

		fprintf(stream, "#%-5u: %-5u %-5u %-5u [", number, group->free_clusters, group->fragments,
		        group->first_free);
		for (unsigned int order = 0; order < columns; order++)
			fprintf(stream, " %-5u", group->orders[order]);
		fprintf(stream, " ]%s\n", group->is_unreadable ? " unknown" : "");
	}
}

static void print_free(const struct report *report, FILE *stream, bool with_groups)
{
	const struct report_free *space = &report->free;
	const struct histogram *sizes = &space->sizes;

	fprintf(stream, "\nFREE SPACE: %s (%.1f%%) in %" PRIu64 " extent%s\n", size_of(report, sizes->sum).text,
	        report_percent(sizes->sum, report->filesystem.blocks), sizes->count, units_plural(sizes->count));
	if (space->unreadable_groups)
		fprintf(stream, "  of %" PRIu64 " group%s it is unknown: bitmaps cannot be read or are wrong\n",
		        space->unreadable_groups, units_plural(space->unreadable_groups));
	if (space->unsettled_groups)
		fprintf(stream,
		        "  of %" PRIu64 " group%s bitmap and descriptor differ, as they may while it is in use\n",
		        space->unsettled_groups, units_plural(space->unsettled_groups));
	if (space->chunk_blocks)
		fprintf(stream, "  chunks of %s: %" PRIu64 " of %" PRIu64 " free (%.1f%%)\n",
		        size_of(report, space->chunk_blocks).text, space->free_chunks, space->chunks,
		        report_percent(space->free_chunks, space->chunks));
	if (!sizes->count)
		return;
	fprintf(stream, "  smallest %s, mean %s, largest %s (at block %" PRIu64 ")\n",
	        size_of(report, sizes->minimum).text, mean_of(report, sizes->sum, sizes->count).text,
	        size_of(report, sizes->maximum).text, space->largest_start);
	fprintf(stream, "  half of it in extents of %s or more; one allocation: up to %s\n",
	        size_of(report, histogram_weighted_percentile(sizes, 50)).text,
	        size_of(report, space->largest_allocatable).text);
	print_distribution(report, stream, sizes, true, "extents", "blocks");
	if (space->zone_count > 1)
		print_zones(report, stream);
	if (with_groups)
		print_groups(report, stream);
}

static void print_seeks(FILE *stream, const char *name, const struct seek_counts *seeks)
{
	fprintf(stream, "  %s: %" PRIu64 " jump%s, %" PRIu64 " far, %" PRIu64 " backward\n", name, seeks->jumps,
	        units_plural(seeks->jumps), seeks->far, seeks->backward);
}

/* Prints a line for features that only some filesystems have. */
static void print_other(const struct report *report, FILE *stream, const char *name, const struct report_sums *sums)
{
	if (sums->files)
		fprintf(stream, "  %s: %" PRIu64 " in %" PRIu64 " extent%s, %s\n", name, sums->files,
		        sums->counts.extents, units_plural(sums->counts.extents),
		        size_of(report, sums->counts.blocks).text);
}

static void print_path(FILE *stream, const char *path, uint32_t ino)
{
	if (path)
		utf8_print(path, stream);
	else
		fprintf(stream, "(no name: inode %u)", ino);
	fputc('\n', stream);
}

/* Slack is told where it is a quarter of what files own. */
static void print_room(const struct report *report, FILE *stream)
{
	const struct report_files *files = &report->files;
	const uint64_t owned_bytes = files->owned_blocks * report->filesystem.block_bytes;

	if (files->slack_bytes && files->slack_bytes >= owned_bytes / 4)
		fprintf(stream, "  slack after the ends of files: %s of %s (%.1f%%)\n",
		        units_bytes(files->slack_bytes).text, units_bytes(owned_bytes).text,
		        report_percent(files->slack_bytes, owned_bytes));
	if (files->stripe_pieces)
		fprintf(stream, "  pieces as long as a stripe: %" PRIu64 ", %" PRIu64 " begin at one\n",
		        files->stripe_pieces, files->stripe_beginning);
	for (unsigned int n = 0; n < report->preallocated.count; n++) {
		if (!n)
			fputs("  most preallocated:\n", stream);
		fprintf(stream, "  %10s  ", size_of(report, report->preallocated.most[n].blocks).text);
		print_path(stream, report->preallocated.most[n].path, report->preallocated.most[n].ino);
	}
}

static void print_files(const struct report *report, FILE *stream)
{
	const struct report_files *files = &report->files;
	const struct report_sums *sums = &files->regular;

	fprintf(stream, "\nFILES: %" PRIu64 " in %" PRIu64 " extent%s, %s\n", sums->files, sums->counts.extents,
	        units_plural(sums->counts.extents), size_of(report, sums->counts.blocks).text);
	fprintf(stream, "  ideal %" PRIu64 " extent%s; %" PRIu64 " file%s (%.1f%%) in more than that\n",
	        sums->ideal_extents, units_plural(sums->ideal_extents), sums->fragmented_files,
	        units_plural(sums->fragmented_files), report_percent(sums->fragmented_files, sums->files));
	fprintf(stream, "  mean %.3f extents a file, %s an extent; %" PRIu64 " record%s in their maps\n",
	        report_ratio(sums->counts.extents, sums->files),
	        mean_of(report, sums->counts.blocks, sums->counts.extents).text, sums->counts.records,
	        units_plural(sums->counts.records));
	fprintf(stream,
	        "  extent trees %" PRIu64 " (depth up to %u), indirect %" PRIu64 ", blocks of maps %" PRIu64 "\n",
	        files->by_extents, files->largest_depth, files->by_indirect, sums->map_blocks);
	if (files->empty || files->inline_data)
		fprintf(stream, "  not counted: %" PRIu64 " without blocks, %" PRIu64 " with inline data\n",
		        files->empty, files->inline_data);
	if (sums->counts.holes || sums->counts.unwritten_records)
		fprintf(stream, "  holes %" PRIu64 "; unwritten %s in %" PRIu64 " record%s\n", sums->counts.holes,
		        size_of(report, sums->counts.unwritten_blocks).text, sums->counts.unwritten_records,
		        units_plural(sums->counts.unwritten_records));
	print_room(report, stream);
	print_other(report, stream, "long symbolic links", &files->symlinks);
	print_other(report, stream, "inodes of xattr values", &files->xattr_values);
	if (!sums->files)
		return;
	fputs("  reading them by inode number:\n", stream);
	print_seeks(stream, "  within files", &sums->counts.seeks);
	print_seeks(stream, "  from file to file", &files->between);
	print_distribution(report, stream, &files->extents_per_file, false, "files", "extents");
	print_distribution(report, stream, &files->extent_blocks, true, "extents", "blocks");
}

static void print_directories(const struct report *report, FILE *stream)
{
	const struct report_directories *directories = &report->directories;
	const struct report_sums *sums = &directories->sums;

	fprintf(stream, "\nDIRECTORIES: %" PRIu64 " with %" PRIu64 " name%s, %" PRIu64 " extent%s, %s\n",
	        directories->count, directories->entries, units_plural(directories->entries), sums->counts.extents,
	        units_plural(sums->counts.extents), size_of(report, sums->counts.blocks).text);
	fprintf(stream, "  linear %" PRIu64 ", inside their inodes %" PRIu64 ", indexed", directories->linear,
	        directories->inline_data);
	for (unsigned int level = 0; level < REPORT_HTREE_LEVELS; level++)
		if (!level || directories->indexed[level])
			fprintf(stream, "%s %" PRIu64 " (%u %s)", level ? "," : "", directories->indexed[level],
			        level + 1, level ? "levels" : "level");
	fprintf(stream, "\n  in more extents than needed: %" PRIu64 "\n", sums->fragmented_files);
	if (directories->nearly_empty)
		fprintf(stream, "  nearly empty: %" PRIu64 ", %s\n", directories->nearly_empty,
		        size_of(report, directories->nearly_empty_blocks).text);
	for (unsigned int n = 0; n < report->nearly_empty.count; n++) {
		fprintf(stream, "  %10s  %" PRIu64 " name%s  ",
		        size_of(report, report->nearly_empty.most[n].blocks).text, report->nearly_empty.most[n].names,
		        units_plural(report->nearly_empty.most[n].names));
		print_path(stream, report->nearly_empty.most[n].path, report->nearly_empty.most[n].ino);
	}
}

static void print_worst(const struct report *report, FILE *stream)
{
	if (!report->worst.count)
		return;
	fprintf(stream, "\nWORST FILES\n  %10s %10s %7s %10s  %-9s  %s\n", "runs", "extents", "ideal", "size", "kind",
	        "path");
	for (size_t n = 0; n < report->worst.count; n++) {
		const struct report_file *file = &report->worst.files[n];

		fprintf(stream, "  %10" PRIu64 " %10" PRIu64 " %7" PRIu64 " %10s  %-9s  ", file->runs, file->extents,
		        file->ideal_extents, size_of(report, file->blocks).text, file_kind_word(file->kind));
		print_path(stream, file->path, file->ino);
	}
}

static void print_by_directory(const struct report *report, FILE *stream)
{
	fprintf(stream, "\nBY DIRECTORY\n  %5s %9s %10s %10s %9s %10s  %s\n", "score", "files", "runs", "extents",
	        "ideal", "size", "path");
	for (size_t n = 0; n < report->by_directory_count; n++) {
		const struct report_directory *directory = &report->by_directory[n];

		fprintf(stream, "  %5.0f %9" PRIu64 " %10" PRIu64 " %10" PRIu64 " %9" PRIu64 " %10s  ",
		        directory->score, directory->files, directory->runs, directory->extents,
		        directory->ideal_extents, size_of(report, directory->blocks).text);
		print_path(stream, directory->path, directory->ino);
	}
}

static void print_costly(const struct report_unlink *unlink, FILE *stream)
{
	fputs("                         block  of them    inode\n"
	      "     writes     files  bitmaps   shared  bitmaps  path\n",
	      stream);
	for (size_t n = 0; n < unlink->costly_count; n++) {
		const struct report_unlink_directory *row = &unlink->costly[n];

		fprintf(stream, "  %9" PRIu64 " %9" PRIu64 " %8" PRIu64 " %8" PRIu64 " %8" PRIu64 "  ", row->writes,
		        row->files, row->block_bitmaps, row->shared_bitmaps, row->inode_bitmaps);
		print_path(stream, row->path, row->ino);
	}
}

static void print_shared(const struct report_unlink *unlink, FILE *stream)
{
	fprintf(stream, "  block bitmaps that directories share: %" PRIu64 "\n", unlink->shared_bitmaps);
	if (unlink->shared_count)
		fprintf(stream, "  %9s %11s %9s  %s\n", "group", "directories", "files", "most of them in");
	for (size_t n = 0; n < unlink->shared_count; n++) {
		const struct report_shared_bitmap *shared = &unlink->shared[n];

		fprintf(stream, "  %9u %11u", shared->group, shared->directories);
		for (unsigned int sharer = 0; sharer < REPORT_SHARERS && shared->most[sharer].files; sharer++) {
			fprintf(stream, sharer ? "%34" PRIu64 "  " : " %9" PRIu64 "  ", shared->most[sharer].files);
			print_path(stream, shared->most[sharer].path, shared->most[sharer].ino);
		}
	}
}

static void print_unlink(const struct report *report, FILE *stream)
{
	const struct report_unlink *unlink = report->unlink;
	uint64_t bitmaps = unlink->block_bitmaps + unlink->inode_bitmaps;

	fprintf(stream, "\nUNLINK COST, in transactions of %u file%s\n", unlink->batch_files,
	        units_plural(unlink->batch_files));
	fprintf(stream,
	        "  all %" PRIu64 " file%s of %" PRIu64 " director%s: %" PRIu64 " block bitmap%s, %" PRIu64
	        " inode bitmap%s\n",
	        unlink->files, units_plural(unlink->files), unlink->directories, unlink->directories == 1 ? "y" : "ies",
	        unlink->block_bitmaps, units_plural(unlink->block_bitmaps), unlink->inode_bitmaps,
	        units_plural(unlink->inode_bitmaps));
	fprintf(stream, "  %" PRIu64 " bitmap write%s, %.1f per bitmap\n", unlink->writes, units_plural(unlink->writes),
	        report_ratio(unlink->writes, bitmaps));
	if (!unlink->costly_count)
		return;
	print_costly(unlink, stream);
	print_shared(unlink, stream);
}

void form_damage(const struct report *report, const char *indent, FILE *stream)
{
	const struct damage_list *list = &report->damage;

	for (unsigned int n = 0; n < list->kept; n++) {
		const struct image_damage *damage = &list->first[n];

		fputs(indent, stream);
		if (damage->is_of_group)
			fprintf(stream, "group %u: ", damage->group);
		fputs(damage->what, stream);
		if (damage->ino)
			fprintf(stream, " of inode %u", damage->ino);
		if (damage->block)
			fprintf(stream, " at block %" PRIu64, damage->block);
		fputc('\n', stream);
	}
	if (list->count > list->kept)
		fprintf(stream, "%sand %" PRIu64 " more\n", indent, list->count - list->kept);
}

static void print_kind(const struct report *report, FILE *stream, enum file_kind which, const struct report_kind *kind,
                       const char *how)
{
	const struct report_kind *all = &report->files.kinds.all;

	if (kind->files)
		fprintf(stream, "  %s: %" PRIu64 " file%s in %s, %s (%.1f%%)\n", file_kind_word(which), kind->files,
		        units_plural(kind->files), how, size_of(report, kind->blocks).text,
		        report_percent(kind->blocks, all->blocks));
}

/* The kernel remembers a file's extents, whatever its map, once it has read them. */
static void print_first_score(const struct report_files *files, FILE *stream)
{
	const struct report_sums *sums = &files->regular;
	double first = score_of(sums->counts.runs + files->map_borders, sums->ideal_extents, sums->counts.blocks);
	char words[8], first_words[8];

	snprintf(words, sizeof(words), "%.0f", files->score);
	snprintf(first_words, sizeof(first_words), "%.0f", first);
	if (strcmp(words, first_words) != 0)
		fprintf(stream,
		        "  Its first run after a mount says %s: each block of an indirect map ends an extent there.\n",
		        first_words);
}

static void print_verdict(const struct report *report, FILE *stream)
{
	const struct report_verdict *verdict = &report->verdict;
	const struct report_kinds *kinds = &report->files.kinds;

	/* Half of a report knows half of it. */
	fprintf(stream, "\nVERDICT%s: %s\n",
	        !report->has_free  ? " of files alone" :
	        !report->has_files ? " of free space alone" :
	                             "",
	        verdict_words(verdict->kind));
	print_kind(report, stream, FILE_SCATTERED, &kinds->scattered, "many short pieces");
	print_kind(report, stream, FILE_SPARSE, &kinds->sparse, "pieces by holes and unwritten parts");
	print_kind(report, stream, FILE_SPLIT, &kinds->split, "a few short pieces");
	if (verdict->kind == VERDICT_FREE_SPACE || verdict->kind == VERDICT_BOTH)
		fprintf(stream, "  half of the free space is in extents of up to %s; %s would be good\n",
		        size_of(report, histogram_weighted_percentile(&report->free.sizes, 50)).text,
		        size_of(report, verdict->free_limit_blocks).text);
	for (unsigned int n = 0; n < verdict->advice_count; n++)
		fprintf(stream, "  %s\n", verdict->advice[n]);
	if (!report->has_files)
		return;
	fprintf(stream, "e4defrag's score: %.0f of 100, %s (0-30 fine, 56- defragment)\n", verdict->score,
	        score_band_words(verdict->band));
	print_first_score(&report->files, stream);
}

static void print_outlook(const struct report *report, FILE *stream)
{
	const struct report_outlook *outlook = report->outlook;
	const struct histogram *sizes = &outlook->free.sizes;

	fputs("\nOUTLOOK\n", stream);
	if (outlook->worst_files)
		fprintf(stream,
		        "  score %.0f instead of %.0f if the worst file%s named above (%" PRIu64 ") were mended\n",
		        outlook->worst_score, report->files.score, units_plural(outlook->worst_files),
		        outlook->worst_files);
	fprintf(stream, "  score %.0f instead of %.0f if all scattered files (%" PRIu64 ") were mended\n",
	        outlook->scattered_score, report->files.score, outlook->scattered_files);
	if (!outlook->asked_blocks)
		return;
	fprintf(stream, "  if files of %s (%" PRIu64 ", chosen as if by lot) were deleted:\n",
	        size_of(report, outlook->deleted_blocks).text, outlook->deleted_files);
	fprintf(stream, "    %s free in %" PRIu64 " extent%s instead of %s in %" PRIu64 "\n",
	        size_of(report, sizes->sum).text, sizes->count, units_plural(sizes->count),
	        size_of(report, report->free.sizes.sum).text, report->free.sizes.count);
	fprintf(stream, "    half of it in extents of %s or more instead of %s\n",
	        size_of(report, histogram_weighted_percentile(sizes, 50)).text,
	        size_of(report, histogram_weighted_percentile(&report->free.sizes, 50)).text);
	fprintf(stream, "    one allocation: up to %s instead of %s\n",
	        size_of(report, outlook->free.largest_allocatable).text,
	        size_of(report, report->free.largest_allocatable).text);
}

errcode_t form_text(const struct report *report, const struct form_parts *parts, FILE *stream)
{
	print_filesystem(report, stream);
	if (parts->free_space)
		print_free(report, stream, parts->groups);
	if (parts->files) {
		print_files(report, stream);
		if (!report->quick.seconds)
			print_directories(report, stream);
		print_worst(report, stream);
		if (parts->by_directory)
			print_by_directory(report, stream);
		if (parts->unlink)
			print_unlink(report, stream);
	}
	if (report->delta)
		form_delta_text(report->delta, "\nAGAINST ", stream);
	if (report->history)
		form_history_text(report, parts, stream);
	if (report->outlook)
		print_outlook(report, stream);
	if (report->damage.count) {
		fprintf(stream, "\nNOT READABLE: %" PRIu64 "\n", report->damage.count);
		form_damage(report, "  ", stream);
	}
	print_verdict(report, stream);
	return flush_output(stream);
}
