/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyze/forms/file_extents.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "analyze/read/inode_scan.h"
#include "support/utf8.h"

/* A row is printed once the next one is known: only then is it the last one or not. */
struct rows {
	FILE *stream; /* NULL: no rows */
	struct file_layout layout;
	uint64_t size_blocks;
	uint64_t number;
	struct map_record pending;
	uint64_t expected; /* where pending should have been; 0: there it is */
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

static void take_record(void *context, const struct map_record *record)
{
	struct rows *rows = context;
	uint64_t extents = rows->layout.extents;
	uint64_t expected = rows->layout.last.physical + (record->logical - rows->layout.last.logical);

	if (rows->stream && rows->layout.records)
		print_row(rows, false);
	rows->number = rows->layout.records;
	layout_add(&rows->layout, record, 0, NULL);
	/* The first one may begin anywhere, but after a hole filefrag expects even that one further on. */
	rows->expected = rows->layout.extents > extents && (extents || record->logical) ? expected : 0;
	rows->pending = *record;
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
	error = map_walker_open(volume, damage, &blocks_read, &walker);
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
		map_walk(&walker, ino, &inode, take_record, &rows, &shape);
	if (with_rows && rows.layout.records)
		print_row(&rows, true);
	if (inode.flags & EXT4_INLINE_DATA_FL)
		fprintf(stream, "%s: inside its inode\n", shown);
	else
		fprintf(stream, "%s: %" PRIu64 " extent%s found\n", shown, rows.layout.extents,
		        rows.layout.extents == 1 ? "" : "s");
	map_walker_close(&walker);
	return 0;
}
