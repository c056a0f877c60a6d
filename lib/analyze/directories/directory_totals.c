/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyze/directories/directory_totals.h"

#include <errno.h>
#include <string.h>

#include "analyze/read/paths.h"

#define NO_ROW UINT32_MAX
#define UNKNOWN UINT32_MAX /* depth */
#define OPEN (UINT32_MAX - 1)

struct row {
	uint32_t parent; /* row; NO_ROW: none */
	struct report_directory sums;
};

struct by_directory {
	struct inode_scan *scan;
	uint32_t *depths; /* by directory: its place in scan->directories; the root has 0 */
	uint32_t *row_of; /* by directory: its own row or that of its nearest ancestor with one; NO_ROW: not below the
	                   * root */
	struct row *rows;
	uint32_t row_count;
};

/* Goes up to the first directory with a known depth, and down again from there. A damaged filesystem may have a
 * circle of directories. */
static void settle(struct by_directory *totals, size_t place, size_t *way, unsigned int depth)
{
	const struct inode_scan *scan = totals->scan;
	size_t length = 0;

	while (place != SIZE_MAX && totals->depths[place] == UNKNOWN) {
		totals->depths[place] = OPEN;
		way[length++] = place;
		place = scan->directories[place] == EXT2_ROOT_INO ?
		                SIZE_MAX :
		                inode_scan_place(scan, scan->parents[scan->directories[place]]);
	}
	bool is_root = length && scan->directories[way[length - 1]] == EXT2_ROOT_INO;
	bool is_lost =
		!is_root && (place == SIZE_MAX || totals->depths[place] == OPEN || totals->row_of[place] == NO_ROW);

	while (length--) {
		size_t below = way[length];

		if (is_lost) {
			totals->depths[below] = 0;
			continue;
		}
		uint32_t own = place == SIZE_MAX ? 0 : totals->depths[place] + 1;
		uint32_t parent = place == SIZE_MAX ? NO_ROW : totals->row_of[place];

		totals->depths[below] = own;
		totals->row_of[below] = own <= depth ? totals->row_count : parent;
		if (own <= depth)
			totals->rows[totals->row_count++] =
				(struct row){ .parent = parent, .sums = { .ino = scan->directories[below] } };
		place = below;
	}
}

/* Any thread. */
static void add_sums(struct report_directory *to, const struct report_directory *from)
{
	__atomic_fetch_add(&to->files, from->files, __ATOMIC_RELAXED);
	__atomic_fetch_add(&to->blocks, from->blocks, __ATOMIC_RELAXED);
	__atomic_fetch_add(&to->extents, from->extents, __ATOMIC_RELAXED);
	__atomic_fetch_add(&to->runs, from->runs, __ATOMIC_RELAXED);
	__atomic_fetch_add(&to->ideal_extents, from->ideal_extents, __ATOMIC_RELAXED);
}

static void add_file(void *context, unsigned int worker UNUSED, uint32_t ino UNUSED, uint32_t directory,
                     const struct file_layout *layout)
{
	struct by_directory *totals = context;
	size_t place = inode_scan_place(totals->scan, directory);
	uint32_t number = place == SIZE_MAX ? NO_ROW : totals->row_of[place];

	if (number == NO_ROW)
		return;
	add_sums(&totals->rows[number].sums,
	         &(struct report_directory){
			 .files = 1,
			 .blocks = layout->counts.blocks,
			 .extents = layout->counts.extents,
			 .runs = layout->counts.runs,
			 .ideal_extents =
				 score_ideal(layout->counts.blocks, totals->scan->report->filesystem.span_blocks),
		 });
}

/* Every row comes after that of its parent. */
static void add_up(struct by_directory *totals)
{
	for (uint32_t number = totals->row_count; number-- > 0;) {
		const struct row *row = &totals->rows[number];

		if (row->parent != NO_ROW)
			add_sums(&totals->rows[row->parent].sums, &row->sums);
	}
}

/* The order of a listed tree: a slash sorts before all other bytes. */
static int by_path(const void *left, const void *right)
{
	const unsigned char *a = (const unsigned char *)((const struct report_directory *)left)->path;
	const unsigned char *b = (const unsigned char *)((const struct report_directory *)right)->path;

	while (*a && *a == *b)
		a++, b++;
	int first = *a == '/' ? 1 : *a, second = *b == '/' ? 1 : *b;

	return first - second;
}

/* Adds each row to its parent, and passes the rows with files to the report, by path. */
static errcode_t finish(void *context)
{
	struct by_directory *totals = context;
	struct report *report = totals->scan->report;
	SCOPE_FREE struct path_wanted *wanted = calloc((size_t)totals->row_count + 1, sizeof(*wanted));
	size_t count = 0, named = 0;

	report->by_directory = malloc(((size_t)totals->row_count + 1) * sizeof(*report->by_directory));
	if (!wanted || !report->by_directory)
		return ENOMEM;
	add_up(totals);
	for (uint32_t number = 0; number < totals->row_count; number++) {
		struct report_directory *sums = &totals->rows[number].sums;

		if (!sums->files)
			continue;
		sums->score = score_of(sums->runs, sums->ideal_extents, sums->blocks);
		wanted[count] = (struct path_wanted){ sums->ino, &report->by_directory[count].path };
		report->by_directory[count++] = *sums;
	}
	errcode_t error = paths_find(totals->scan, wanted, count);

	if (error)
		return error;
	for (size_t n = 0; n < count; n++)
		if (report->by_directory[n].path)
			report->by_directory[named++] = report->by_directory[n];
	report->by_directory_count = named;
	qsort(report->by_directory, named, sizeof(*report->by_directory), by_path);
	return 0;
}

static void close_totals(void *context)
{
	struct by_directory *totals = context;

	free(totals->depths);
	free(totals->row_of);
	free(totals->rows);
	free(totals);
}

errcode_t by_directory_open(struct inode_scan *scan, unsigned int depth, struct inode_visitor *visitor)
{
	size_t count = scan->directory_count;
	SCOPE_FREE size_t *way = malloc((count + 1) * sizeof(*way));
	struct by_directory *totals = calloc(1, sizeof(*totals));

	if (!totals || !way) {
		free(totals);
		return ENOMEM;
	}
	*totals = (struct by_directory){
		.scan = scan,
		.depths = malloc((count + 1) * sizeof(*totals->depths)),
		.row_of = malloc((count + 1) * sizeof(*totals->row_of)),
		.rows = malloc((count + 1) * sizeof(*totals->rows)),
	};
	if (!totals->depths || !totals->row_of || !totals->rows) {
		close_totals(totals);
		return ENOMEM;
	}
	memset(totals->depths, 0xff, count * sizeof(*totals->depths));
	memset(totals->row_of, 0xff, count * sizeof(*totals->row_of));
	for (size_t place = 0; place < count; place++)
		settle(totals, place, way, depth);
	*visitor = (struct inode_visitor){
		.file = add_file,
		.finish = finish,
		.close = close_totals,
		.context = totals,
	};
	return 0;
}
