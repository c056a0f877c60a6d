/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyze/read/map_files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/read/paths.h"

/* The part of the present file that lies in a cell. */
struct part {
	uint64_t extents, blocks;
};

struct worker {
	struct report_map_cell *cells;
	struct part *parts; /* by cell */
	uint32_t *touched;  /* the cells in which the file has blocks */
	uint32_t touched_count;
	uint64_t end; /* where the file's last record ended */
};

struct map_files {
	struct inode_scan *scan;
	uint32_t cell_count;
	uint64_t cell_blocks;
	struct worker *workers;
};

/* The most extents first, then the lower inode number. */
static bool is_before(const struct report_map_file *left, const struct report_map_file *right)
{
	return left->extents != right->extents ? left->extents > right->extents : left->ino < right->ino;
}

/* Keeps a file that is among the first of its cell. */
static void keep(struct report_map_cell *cell, const struct report_map_file *file)
{
	unsigned int place = 0;

	while (place < REPORT_MAP_FILES - 1 && cell->most[place].extents)
		place++;
	if (cell->most[place].extents && !is_before(file, &cell->most[place]))
		return;
	for (; place && is_before(file, &cell->most[place - 1]); place--)
		cell->most[place] = cell->most[place - 1];
	cell->most[place] = *file;
}

static void see_record(void *context, unsigned int index, uint32_t ino UNUSED, const struct map_record *record)
{
	const struct map_files *map = context;
	struct worker *worker = &map->workers[index];
	uint64_t cell = (record->physical - map->scan->report->filesystem.first_block) / map->cell_blocks;

	if (cell >= map->cell_count)
		return;
	struct part *part = &worker->parts[cell];

	if (!part->extents)
		worker->touched[worker->touched_count++] = (uint32_t)cell;
	part->extents += !part->extents || record->physical != worker->end;
	part->blocks += record->count;
	worker->end = record->physical + record->count;
}

static void end_file(void *context, unsigned int index, uint32_t ino, uint32_t directory UNUSED,
                     const struct file_layout *layout UNUSED)
{
	struct worker *worker = &((struct map_files *)context)->workers[index];

	while (worker->touched_count) {
		uint32_t cell = worker->touched[--worker->touched_count];
		struct part *part = &worker->parts[cell];

		keep(&worker->cells[cell],
		     &(struct report_map_file){ .ino = ino, .extents = part->extents, .blocks = part->blocks });
		*part = (struct part){ 0 };
	}
}

static errcode_t name_files(const struct map_files *map, struct report_map_cell *cells)
{
	SCOPE_FREE struct path_wanted *wanted = calloc((size_t)map->cell_count * REPORT_MAP_FILES + 1, sizeof(*wanted));
	size_t count = 0;

	if (!wanted)
		return ENOMEM;
	for (uint32_t cell = 0; cell < map->cell_count; cell++)
		for (unsigned int n = 0; n < REPORT_MAP_FILES && cells[cell].most[n].extents; n++)
			wanted[count++] = (struct path_wanted){ cells[cell].most[n].ino, &cells[cell].most[n].path };
	return paths_find(map->scan, wanted, count);
}

static errcode_t finish(void *context)
{
	struct map_files *map = context;
	struct report *report = map->scan->report;
	struct report_map_cell *cells = map->workers[0].cells;

	for (unsigned int index = 1; index < pool_workers(map->scan->pool); index++)
		for (uint32_t cell = 0; cell < map->cell_count; cell++)
			for (unsigned int n = 0; n < REPORT_MAP_FILES; n++)
				if (map->workers[index].cells[cell].most[n].extents)
					keep(&cells[cell], &map->workers[index].cells[cell].most[n]);
	report->map_cells = TAKE(map->workers[0].cells);
	report->map_cell_count = map->cell_count;
	return name_files(map, report->map_cells);
}

static void close_map(void *context)
{
	struct map_files *map = context;

	for (unsigned int index = 0; map->workers && index < pool_workers(map->scan->pool); index++) {
		free(map->workers[index].cells);
		free(map->workers[index].parts);
		free(map->workers[index].touched);
	}
	free(map->workers);
	free(map);
}

errcode_t map_files_open(struct inode_scan *scan, uint32_t most_cells, struct inode_visitor *visitor)
{
	const struct report_filesystem *filesystem = &scan->report->filesystem;
	uint32_t groups_per_cell = report_map_groups(filesystem, most_cells);
	struct map_files *map = calloc(1, sizeof(*map));
	bool has_all = map;

	if (!map)
		return ENOMEM;
	*map = (struct map_files){
		.scan = scan,
		.cell_count = (filesystem->groups + groups_per_cell - 1) / groups_per_cell,
		.cell_blocks = (uint64_t)groups_per_cell * filesystem->blocks_per_group,
		.workers = calloc(pool_workers(scan->pool), sizeof(*map->workers)),
	};
	for (unsigned int index = 0; map->workers && index < pool_workers(scan->pool); index++) {
		struct worker *worker = &map->workers[index];

		worker->cells = calloc(map->cell_count, sizeof(*worker->cells));
		worker->parts = calloc(map->cell_count, sizeof(*worker->parts));
		worker->touched = calloc(map->cell_count, sizeof(*worker->touched));
		has_all = has_all && worker->cells && worker->parts && worker->touched;
	}
	if (!map->workers || !has_all) {
		close_map(map);
		return ENOMEM;
	}
	*visitor = (struct inode_visitor){
		.record = see_record,
		.file = end_file,
		.finish = finish,
		.close = close_map,
		.context = map,
	};
	return 0;
}
