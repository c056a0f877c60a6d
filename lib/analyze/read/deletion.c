/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyze/read/deletion.h"

#include <errno.h>
#include <stdlib.h>

#include "analyze/read/free_space.h"
#include "image/map_walk.h"
#include "ondisk/xattr_share.h"
#include "support/random.h"
#include "support/vector.h"

struct candidate {
	uint32_t ino;
	uint64_t blocks; /* its own, without its map and the rest of its clusters */
};

struct candidates {
	struct candidate *list;
	size_t count, capacity;
	errcode_t error;
};

struct deletion {
	struct inode_scan *scan;
	uint64_t most_blocks;
	struct candidates *workers;
	struct block_run *runs; /* of the chosen files */
	size_t run_count, run_capacity;
	errcode_t error; /* of adding a run */
};

static void add_file(void *context, unsigned int worker, uint32_t ino, uint32_t directory UNUSED,
                     const struct file_layout *layout)
{
	struct candidates *mine = &((struct deletion *)context)->workers[worker];
	const struct candidate candidate = { ino, layout->counts.blocks };

	if (!mine->error)
		mine->error = vector_add(&mine->list, &mine->count, &mine->capacity, &candidate, sizeof(candidate));
}

/*
 * Draws each file independently of its neighbours. An order that spreads inodes evenly leaves shorter free extents than
 * people do, who also delete neighbours.
 */
static uint64_t lot(uint32_t ino)
{
	uint64_t state = ino;

	return random_next(&state);
}

static int by_lot(const void *left, const void *right)
{
	uint64_t a = lot(((const struct candidate *)left)->ino), b = lot(((const struct candidate *)right)->ino);

	return (a > b) - (a < b);
}

static int by_start(const void *left, const void *right)
{
	uint64_t a = ((const struct block_run *)left)->start, b = ((const struct block_run *)right)->start;

	return (a > b) - (a < b);
}

static errcode_t gather(const struct deletion *deletion, struct candidates *all)
{
	for (unsigned int worker = 0; worker < pool_workers(deletion->scan->pool); worker++) {
		const struct candidates *some = &deletion->workers[worker];

		if (some->error)
			return some->error;
		for (size_t n = 0; n < some->count; n++) {
			errcode_t error = vector_add(&all->list, &all->count, &all->capacity, &some->list[n],
			                             sizeof(*some->list));

			if (error)
				return error;
		}
	}
	if (all->count)
		qsort(all->list, all->count, sizeof(*all->list), by_lot);
	return 0;
}

static bool add_run(struct deletion *deletion, uint64_t start, uint64_t count)
{
	const struct block_run run = { start, count };

	deletion->error = vector_add(&deletion->runs, &deletion->run_count, &deletion->run_capacity, &run, sizeof(run));
	return !deletion->error;
}

static bool add_record(void *context, const struct map_record *record)
{
	return add_run(context, record->physical, record->count);
}

static bool add_map_block(void *context, uint64_t block)
{
	return add_run(context, block, 1);
}

/* The blocks of the clusters of all runs from `first` on. Records of one cluster are neighbours. */
static uint64_t allocated_blocks(const struct deletion *deletion, size_t first)
{
	const unsigned int bits = deletion->scan->volume->format.cluster_bits;
	uint64_t clusters = 0, last = UINT64_MAX;

	for (size_t n = first; n < deletion->run_count; n++) {
		const struct block_run *run = &deletion->runs[n];
		uint64_t begin = run->start >> bits, end = (run->start + run->count - 1) >> bits;

		clusters += end - begin + (begin != last);
		last = end;
	}
	return clusters << bits;
}

/* An xattr block that other inodes share stays. */
static void add_xattr_block(struct deletion *deletion, uint64_t block, uint8_t *bytes)
{
	if (block && !deletion->error && volume_has_blocks(deletion->scan->volume, block, 1) &&
	    !volume_read(deletion->scan->volume, block, 1, bytes) && xattr_block_references(bytes) == 1)
		add_run(deletion, block, 1);
}

/* Files that do not fit into what is left to delete stay. The scan has told of what cannot be read. */
static errcode_t choose(struct deletion *deletion, const struct candidates *all)
{
	const struct volume *volume = deletion->scan->volume;
	struct report_outlook *outlook = deletion->scan->report->outlook;
	SCOPE_FREE uint8_t *raw = malloc(volume->format.inode_bytes), *bytes = malloc(volume->format.block_bytes);
	uint64_t blocks_read = 0;
	const struct map_visitor visitor = { .record = add_record, .block = add_map_block, .context = deletion };
	struct map_walker walker;

	if (!raw || !bytes)
		return ENOMEM;
	errcode_t error = map_walker_open(volume, (struct damage_listener){ 0 }, &blocks_read, &walker);

	if (error)
		return error;
	for (size_t n = 0; n < all->count && !deletion->error; n++) {
		const struct candidate *file = &all->list[n];
		struct inode_view inode;
		struct map_shape shape;
		size_t first = deletion->run_count;

		if (outlook->deleted_blocks + file->blocks > deletion->most_blocks ||
		    volume_read_inode(volume, file->ino, raw, &inode))
			continue;
		map_visit(&walker, file->ino, &inode, &visitor, &shape);
		add_xattr_block(deletion, inode.xattr_block, bytes);
		uint64_t blocks = allocated_blocks(deletion, first);

		if (outlook->deleted_blocks + blocks > deletion->most_blocks) {
			deletion->run_count = first;
			continue;
		}
		outlook->deleted_blocks += blocks;
		outlook->deleted_files++;
	}
	map_walker_close(&walker);
	return deletion->error;
}

static errcode_t finish(void *context)
{
	struct deletion *deletion = context;
	struct report *report = deletion->scan->report;
	struct candidates all = { 0 };
	errcode_t error = gather(deletion, &all);

	report->outlook->asked_blocks = deletion->most_blocks;
	if (!error)
		error = choose(deletion, &all);
	free(all.list);
	if (error)
		return error;
	if (deletion->run_count)
		qsort(deletion->runs, deletion->run_count, sizeof(*deletion->runs), by_start);
	return free_space_read_without(deletion->scan->volume, deletion->scan->pool, deletion->runs,
	                               deletion->run_count, &report->outlook->free);
}

static void close_deletion(void *context)
{
	struct deletion *deletion = context;

	for (unsigned int worker = 0; worker < pool_workers(deletion->scan->pool); worker++)
		free(deletion->workers[worker].list);
	free(deletion->workers);
	free(deletion->runs);
	free(deletion);
}

errcode_t deletion_open(struct inode_scan *scan, uint64_t most_blocks, struct inode_visitor *visitor)
{
	struct deletion *deletion = calloc(1, sizeof(*deletion));

	if (!deletion)
		return ENOMEM;
	*deletion = (struct deletion){
		.scan = scan,
		.most_blocks = most_blocks,
		.workers = calloc(pool_workers(scan->pool), sizeof(*deletion->workers)),
	};
	if (!deletion->workers) {
		free(deletion);
		return ENOMEM;
	}
	*visitor = (struct inode_visitor){
		.file = add_file,
		.finish = finish,
		.close = close_deletion,
		.context = deletion,
	};
	return 0;
}
