/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of the forms, and the forms of other tools. */
#include "analyze/forms/forms.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "image/map_walk.h"
#include "support/io/whole_io.h"
#include "support/utf8.h"

/* --- e2freefrag(8), with right numbers where it is wrong (bigalloc, the number of chunks) --------------------- */

/* The index of the unit K, M, G ...: the end of a row has the same unit as its start. */
static unsigned int unit_of(uint64_t kilobytes)
{
	unsigned int unit = 0;

	for (; kilobytes >= 1024; kilobytes /= 1024)
		unit++;
	return unit;
}

static void print_free_extents(const struct report *report, FILE *stream)
{
	const struct histogram *sizes = &report->free.sizes;
	static const char units[] = "KMGTPE";
	uint32_t block_bytes = report->filesystem.block_bytes;

	fputs("\nHISTOGRAM OF FREE EXTENT SIZES:\n", stream);
	fprintf(stream, "%s :  %12s  %12s  %7s\n", "Extent Size Range", "Free extents", "Free Blocks", "Percent");
	/* No filesystem has 2^49 blocks. */
	for (unsigned int power = 0; power < 49; power++) {
		uint64_t count, blocks;

		histogram_power(sizes, power, &count, &blocks);
		if (!count)
			continue;
		uint64_t kilobytes = (uint64_t)(block_bytes / 1024) << power;
		unsigned int unit = unit_of(kilobytes);
		uint64_t first = kilobytes >> (10 * unit);

		fprintf(stream, "%5" PRIu64 "%c...%5" PRIu64 "%c-  :  %12" PRIu64 "  %12" PRIu64 "  %6.2f%%\n", first,
		        units[unit], 2 * first, units[unit], count, blocks, report_percent(blocks, sizes->sum));
	}
}

static errcode_t form_e2freefrag(const struct report *report, const struct form_parts *parts UNUSED, FILE *stream)
{
	const struct report_free *space = &report->free;
	const struct report_filesystem *filesystem = &report->filesystem;
	uint64_t block_kilobytes = filesystem->block_bytes / 1024;
	uint64_t mean = space->sizes.count ? space->sizes.sum / space->sizes.count : 0;

	fputs("Device: ", stream);
	utf8_print(filesystem->target, stream);
	fprintf(stream, "\nBlocksize: %u bytes\nTotal blocks: %" PRIu64 "\n", filesystem->block_bytes,
	        filesystem->blocks);
	fprintf(stream, "Free blocks: %" PRIu64 " (%0.1f%%)\n", space->sizes.sum,
	        report_percent(space->sizes.sum, filesystem->blocks));
	if (space->chunk_blocks) {
		fprintf(stream, "\nChunksize: %" PRIu64 " bytes (%" PRIu64 " blocks)\n",
		        space->chunk_blocks * filesystem->block_bytes, space->chunk_blocks);
		fprintf(stream, "Total chunks: %" PRIu64 "\nFree chunks: %" PRIu64 " (%0.1f%%)\n", space->chunks,
		        space->free_chunks, report_percent(space->free_chunks, space->chunks));
	}
	fprintf(stream, "\nMin. free extent: %" PRIu64 " KB \nMax. free extent: %" PRIu64 " KB\n",
	        space->sizes.minimum * block_kilobytes, space->sizes.maximum * block_kilobytes);
	fprintf(stream, "Avg. free extent: %" PRIu64 " KB\nNum. free extent: %" PRIu64 "\n", mean * block_kilobytes,
	        space->sizes.count);
	print_free_extents(report, stream);
	return flush_output(stream);
}

/* --- e4defrag(8) -c for a whole filesystem ------------------------------------------------------------------- */

#define SHOWN_FILES 5

static void print_file(const struct report *report, size_t number, FILE *stream)
{
	const struct report_file *file = &report->worst.files[number];
	const char *path = file->path ? file->path : "(no name)";
	SCOPE_FREE char *shown = utf8_printable(path);
	uint64_t kilobytes = file->blocks * (report->filesystem.block_bytes / 1024) / file->runs;

	fprintf(stream, "%zu. %-40s%7" PRIu64 "/%-10" PRIu64 "%6" PRIu64 " KB\n", number + 1, shown ? shown : "",
	        file->runs, file->ideal_extents, kilobytes);
}

static errcode_t form_e4defrag(const struct report *report, const struct form_parts *parts UNUSED, FILE *stream)
{
	const struct report_sums *sums = &report->files.regular;
	uint64_t mean = sums->counts.runs ?
	                        sums->counts.blocks * (report->filesystem.block_bytes / 1024) / sums->counts.runs :
	                        0;

	fputs("<Fragmented files>                             now/best       size/ext\n", stream);
	for (size_t number = 0; number < report->worst.count && number < SHOWN_FILES; number++)
		print_file(report, number, stream);
	fprintf(stream, "\n Total/best extents\t\t\t\t%" PRIu64 "/%" PRIu64 "\n", sums->counts.runs,
	        sums->ideal_extents);
	fprintf(stream, " Average size per extent\t\t\t%" PRIu64 " KB\n", mean);
	fprintf(stream, " Fragmentation score\t\t\t\t%.0f\n", report->files.score);
	fputs(" [0-30 no problem: 31-55 a little bit fragmented: 56- needs defrag]\n", stream);
	fputs(" This filesystem (", stream);
	utf8_print(report->filesystem.target, stream);
	fprintf(stream, ") %s.\n",
	        score_band(report->files.score) == SCORE_DEFRAGMENT ? "needs defragmentation" :
	                                                              "does not need defragmentation");
	fputs(" Done.\n", stream);
	return flush_output(stream);
}

/* --- filefrag(8), for one file ------------------------------------------------------------------------------- */

/* A row is printed when the next one comes, because the last one is marked. */
struct rows {
	FILE *stream; /* NULL: no rows */
	struct file_layout layout;
	uint64_t size_blocks;
	uint64_t number;
	struct map_record pending;
	uint64_t expected; /* where pending should be; 0: it is there */
};

static void print_row(const struct rows *rows, bool is_last)
{
	const struct map_record *record = &rows->pending;
	uint64_t logical_end = record->logical + record->count;
	char expected[32] = "";
	char flags[32] = "";

	if (rows->expected)
		snprintf(expected, sizeof(expected), "%10" PRIu64 ":", rows->expected);
	if (is_last)
		strcat(flags, "last,");
	if (record->is_unwritten)
		strcat(flags, "unwritten,");
	if (logical_end >= rows->size_blocks)
		strcat(flags, "eof,");
	if (*flags)
		flags[strlen(flags) - 1] = '\0';
	fprintf(rows->stream, "%4" PRIu64 ": %8" PRIu64 "..%8" PRIu64 ": %10" PRIu64 "..%10" PRIu64 ": %6u: %11s %s\n",
	        rows->number, record->logical, logical_end - 1, record->physical, record->physical + record->count - 1,
	        record->count, expected, flags);
}

static bool read_record(void *context, const struct map_record *record)
{
	struct rows *rows = context;
	uint64_t extents = rows->layout.counts.extents;
	uint64_t expected = rows->layout.last.physical + (record->logical - rows->layout.last.logical);

	if (rows->stream && rows->layout.counts.records)
		print_row(rows, false);
	rows->number = rows->layout.counts.records;
	layout_add(&rows->layout, record, 0, NULL);
	/* The first extent may begin anywhere, but after a hole filefrag expects even that one further on. */
	rows->expected = rows->layout.counts.extents > extents && (extents || record->logical) ? expected : 0;
	rows->pending = *record;
	return true;
}

errcode_t file_extents_print(const struct volume *volume, uint32_t ino, const char *name, bool with_rows,
                             struct damage_list *damage, FILE *stream)
{
	SCOPE_FREE uint8_t *raw = malloc(volume->format.inode_bytes);
	SCOPE_FREE char *shown = utf8_printable(name);
	uint64_t blocks_read = 0;
	struct inode_view inode;
	struct map_walker walker;
	struct map_shape shape;

	if (!raw || !shown)
		return ENOMEM;
	errcode_t error = volume_read_inode(volume, ino, raw, &inode);

	if (error)
		return error;
	if (!inode.links && ino >= volume->geometry.first_inode)
		return ENOENT;
	error = map_walker_open(volume, damage_list_listener(damage), &blocks_read, &walker);
	if (error)
		return error;
	struct rows rows = {
		.stream = with_rows ? stream : NULL,
		.size_blocks = (inode.size_bytes + volume->format.block_bytes - 1) >> volume->format.block_bits,
	};
	bool has_map =
		(S_ISREG(inode.mode) || S_ISDIR(inode.mode) || (S_ISLNK(inode.mode) && inode.size_bytes >= 60)) &&
		!(inode.flags & EXT4_INLINE_DATA_FL);

	if (with_rows) {
		fprintf(stream, "File size of %s is %" PRIu64 " (%" PRIu64 " block%s of %u bytes)\n", shown,
		        inode.size_bytes, rows.size_blocks, rows.size_blocks == 1 ? "" : "s",
		        volume->format.block_bytes);
		fputs(" ext:     logical_offset:        physical_offset: length:   expected: flags:\n", stream);
	}
	if (has_map)
		map_walk(&walker, ino, &inode, read_record, &rows, &shape);
	if (with_rows && rows.layout.counts.records)
		print_row(&rows, true);
	if (inode.flags & EXT4_INLINE_DATA_FL)
		fprintf(stream, "%s: inside its inode\n", shown);
	else
		fprintf(stream, "%s: %" PRIu64 " extent%s found\n", shown, rows.layout.counts.extents,
		        rows.layout.counts.extents == 1 ? "" : "s");
	map_walker_close(&walker);
	return 0;
}

/* --- All of them --------------------------------------------------------------------------------------------- */

/* In the order in which --help names them; the first is the default. */
const struct report_form report_forms[] = {
	{ .name = "text",
	  .has_free_space = true,
	  .has_files = true,
	  .print = form_text,
	  .print_file = file_extents_print,
	  .compare = form_compare,
	  .print_all = form_all_text },
	{ .name = "json",
	  .has_free_space = true,
	  .has_files = true,
	  .print = form_json,
	  .compare = form_compare_json,
	  .print_all = form_all_json },
	{ .name = "e2freefrag", .has_free_space = true, .print = form_e2freefrag },
	{ .name = "e4defrag", .has_files = true, .print = form_e4defrag },
	{ .name = "openmetrics",
	  .has_free_space = true,
	  .has_files = true,
	  .print = form_openmetrics,
	  .print_all = form_all_openmetrics },
	{ .name = "filefrag", .has_files = true, .print_file = file_extents_print },
	{ 0 },
};
