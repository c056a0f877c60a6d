/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyze/directories/unlink_cost.h"

#include <errno.h>
#include <string.h>

#include "analyze/read/paths.h"
#include "support/vector.h"

#define NO_SLOT UINT32_MAX

/* Notes that a file of a directory has blocks in a group. */
struct presence {
	uint32_t place; /* index of the directory in scan->directories */
	uint32_t ino;
	uint32_t group;
};

/* The same, sorted by directory. */
struct part {
	uint32_t ino;
	uint32_t group;
};

struct worker {
	struct presence *presences;
	size_t count, capacity;
	size_t file_from; /* where the present file's parts begin */
	uint32_t ino;     /* the present file */
	uint32_t *seen;   /* by group: the last file with blocks there; NULL before the first file */
	errcode_t error;
};

/* The directory and the transaction in which a bitmap was last changed, all counted from 1. */
struct stamps {
	uint32_t directory;
	uint32_t batch;     /* of this directory, which begins a transaction */
	uint32_t all_batch; /* of the whole tree, one directory after the other */
};

struct unlink_cost {
	struct inode_scan *scan;
	uint32_t batch_files;
	size_t limit;
	unsigned int worker_count;
	struct worker *workers;

	/* After the scan. */
	uint64_t *ends; /* by directory: the end of its parts */
	struct part *parts;
	struct stamps *blocks, *inodes; /* by group */
	uint32_t *sharing;              /* by group: how many directories have blocks there */
	uint32_t batch, all_batch;
};

static void free_worker(struct worker *worker)
{
	free(worker->presences);
	free(worker->seen);
	*worker = (struct worker){ 0 };
}

static errcode_t add_presence(struct worker *worker, uint32_t group)
{
	if (worker->seen[group] == worker->ino)
		return 0;
	worker->seen[group] = worker->ino;
	return vector_add(&worker->presences, &worker->count, &worker->capacity,
	                  &(struct presence){ .ino = worker->ino, .group = group }, sizeof(struct presence));
}

static void add_record(void *context, unsigned int index, uint32_t ino, const struct map_record *record)
{
	struct unlink_cost *cost = context;
	const struct geometry *geometry = &cost->scan->volume->geometry;
	struct worker *worker = &cost->workers[index];
	uint64_t group_blocks = (uint64_t)geometry->clusters_per_group << geometry->cluster_bits;

	if (worker->error)
		return;
	if (!worker->seen)
		worker->seen = calloc(geometry->groups, sizeof(*worker->seen));
	if (!worker->seen) {
		worker->error = ENOMEM;
		return;
	}
	if (ino != worker->ino)
		worker->file_from = worker->count;
	worker->ino = ino;
	uint64_t first = (record->physical - geometry->first_block) / group_blocks;
	uint64_t last = (record->physical + record->count - 1 - geometry->first_block) / group_blocks;

	for (uint64_t group = first; group <= last && !worker->error; group++)
		worker->error = add_presence(worker, (uint32_t)group);
}

static void add_file(void *context, unsigned int index, uint32_t ino, uint32_t directory,
                     const struct file_layout *layout UNUSED)
{
	struct unlink_cost *cost = context;
	struct worker *worker = &cost->workers[index];
	size_t place = inode_scan_place(cost->scan, directory);

	if (worker->error || worker->ino != ino)
		return;
	if (place == SIZE_MAX)
		worker->count = worker->file_from;
	for (size_t n = worker->file_from; n < worker->count; n++)
		worker->presences[n].place = (uint32_t)place;
	worker->file_from = worker->count;
}

static int by_inode(const void *left, const void *right)
{
	const struct part *a = left, *b = right;

	return a->ino != b->ino ? (a->ino > b->ino) - (a->ino < b->ino) : (a->group > b->group) - (a->group < b->group);
}

static errcode_t allocate(struct unlink_cost *cost, uint64_t part_count)
{
	size_t groups = cost->scan->volume->geometry.groups;

	cost->ends = calloc(cost->scan->directory_count + 1, sizeof(*cost->ends));
	cost->parts = malloc((part_count + 1) * sizeof(*cost->parts));
	cost->blocks = calloc(groups, sizeof(*cost->blocks));
	cost->inodes = calloc(groups, sizeof(*cost->inodes));
	cost->sharing = calloc(groups, sizeof(*cost->sharing));
	return cost->ends && cost->parts && cost->blocks && cost->inodes && cost->sharing ? 0 : ENOMEM;
}

/* Sorts with a counting sort by directory, then sorts each directory: 10 million parts take a second, and many
 * seconds with qsort(3) alone. */
static errcode_t sort_parts(struct unlink_cost *cost)
{
	size_t directories = cost->scan->directory_count;
	uint64_t part_count = 0, end = 0;

	for (unsigned int index = 0; index < cost->worker_count; index++) {
		if (cost->workers[index].error)
			return cost->workers[index].error;
		part_count += cost->workers[index].count;
	}
	errcode_t error = allocate(cost, part_count);

	if (error)
		return error;
	for (unsigned int index = 0; index < cost->worker_count; index++)
		for (size_t n = 0; n < cost->workers[index].count; n++)
			cost->ends[cost->workers[index].presences[n].place]++;
	for (size_t place = 0; place < directories; place++) {
		uint64_t count = cost->ends[place];

		cost->ends[place] = end;
		end += count;
	}
	for (unsigned int index = 0; index < cost->worker_count; index++) {
		struct worker *worker = &cost->workers[index];

		for (size_t n = 0; n < worker->count; n++)
			cost->parts[cost->ends[worker->presences[n].place]++] =
				(struct part){ worker->presences[n].ino, worker->presences[n].group };
		free_worker(worker);
	}
	for (size_t place = 0; place < directories; place++) {
		uint64_t from = place ? cost->ends[place - 1] : 0;

		qsort(cost->parts + from, cost->ends[place] - from, sizeof(*cost->parts), by_inode);
	}
	return 0;
}

static bool is_first(uint32_t *stamp, uint32_t now)
{
	bool differs = *stamp != now;

	*stamp = now;
	return differs;
}

/* Notes that a bitmap changes: the directory counts it once, and each transaction writes it once. */
static void change(const struct unlink_cost *cost, struct stamps *stamps, uint32_t directory, uint64_t *bitmaps,
                   uint64_t *all_bitmaps, struct report_unlink_directory *row, struct report_unlink *unlink)
{
	*all_bitmaps += !stamps->directory;
	*bitmaps += is_first(&stamps->directory, directory);
	row->writes += is_first(&stamps->batch, cost->batch);
	unlink->writes += is_first(&stamps->all_batch, cost->all_batch);
}

static void add_directory(struct unlink_cost *cost, size_t place, struct report_unlink *unlink,
                          struct report_unlink_directory *row)
{
	uint32_t per_group = cost->scan->volume->geometry.inodes_per_group;
	uint32_t number = (uint32_t)place + 1, last = 0;

	for (uint64_t n = place ? cost->ends[place - 1] : 0; n < cost->ends[place]; n++) {
		const struct part *part = &cost->parts[n];

		if (part->ino != last) {
			cost->batch += row->files++ % cost->batch_files == 0;
			cost->all_batch += unlink->files++ % cost->batch_files == 0;
			change(cost, &cost->inodes[(part->ino - 1) / per_group], number, &row->inode_bitmaps,
			       &unlink->inode_bitmaps, row, unlink);
			last = part->ino;
		}
		cost->sharing[part->group] += cost->blocks[part->group].directory != number;
		change(cost, &cost->blocks[part->group], number, &row->block_bitmaps, &unlink->block_bitmaps, row,
		       unlink);
	}
}

/* Called after all were added: counts a directory's bitmaps that other directories' files use, too. */
static uint64_t count_shared(struct unlink_cost *cost, uint32_t mark, size_t place)
{
	uint64_t shared = 0;

	for (uint64_t n = place ? cost->ends[place - 1] : 0; n < cost->ends[place]; n++) {
		uint32_t group = cost->parts[n].group;

		shared += is_first(&cost->blocks[group].batch, mark) && cost->sharing[group] > 1;
	}
	return shared;
}

static int costly_first(const void *left, const void *right)
{
	const struct report_unlink_directory *a = left, *b = right;

	return a->writes != b->writes ? (a->writes < b->writes) - (a->writes > b->writes) :
	                                (a->ino > b->ino) - (a->ino < b->ino);
}

static errcode_t find_costly(struct unlink_cost *cost, struct report_unlink *unlink)
{
	const struct inode_scan *scan = cost->scan;
	size_t count = 0;

	unlink->costly = malloc((scan->directory_count + 1) * sizeof(*unlink->costly));
	if (!unlink->costly)
		return ENOMEM;
	for (size_t place = 0; place < scan->directory_count; place++) {
		if (cost->ends[place] == (place ? cost->ends[place - 1] : 0))
			continue;
		unlink->costly[count] = (struct report_unlink_directory){ .ino = scan->directories[place] };
		add_directory(cost, place, unlink, &unlink->costly[count++]);
	}
	unlink->directories = count;
	qsort(unlink->costly, count, sizeof(*unlink->costly), costly_first);
	unlink->costly_count = count < cost->limit ? count : cost->limit;
	for (size_t n = 0; n < unlink->costly_count; n++) {
		struct report_unlink_directory *row = &unlink->costly[n];

		row->shared_bitmaps = count_shared(cost, ++cost->batch, inode_scan_place(scan, row->ino));
	}
	void *fitting = realloc(unlink->costly, (unlink->costly_count + 1) * sizeof(*unlink->costly));

	unlink->costly = fitting ? fitting : unlink->costly;
	return 0;
}

static int shared_first(const void *left, const void *right)
{
	const struct report_shared_bitmap *a = left, *b = right;

	return a->directories != b->directories ?
	               (a->directories < b->directories) - (a->directories > b->directories) :
	               (a->group > b->group) - (a->group < b->group);
}

static errcode_t find_shared(struct unlink_cost *cost, struct report_unlink *unlink)
{
	uint32_t groups = cost->scan->volume->geometry.groups;
	size_t count = 0;

	unlink->shared = malloc(((size_t)groups + 1) * sizeof(*unlink->shared));
	if (!unlink->shared)
		return ENOMEM;
	for (uint32_t group = 0; group < groups; group++)
		if (cost->sharing[group] > 1)
			unlink->shared[count++] = (struct report_shared_bitmap){
				.group = group,
				.directories = cost->sharing[group],
			};
	unlink->shared_bitmaps = count;
	qsort(unlink->shared, count, sizeof(*unlink->shared), shared_first);
	unlink->shared_count = count < cost->limit ? count : cost->limit;
	return 0;
}

/* Keeps the directories with the most files there; among equals, the first. */
static void add_sharer(struct report_shared_bitmap *shared, uint32_t ino, uint64_t files)
{
	struct report_sharer sharer = { .ino = ino, .files = files };

	for (unsigned int n = 0; n < REPORT_SHARERS; n++) {
		struct report_sharer other = shared->most[n];

		if (other.files >= sharer.files)
			continue;
		shared->most[n] = sharer;
		sharer = other;
	}
}

/* Finds the directories that share the named bitmaps; slots has the numbers of these. */
static errcode_t find_sharers(struct unlink_cost *cost, struct report_unlink *unlink)
{
	const struct inode_scan *scan = cost->scan;
	uint32_t *slots = cost->sharing; /* no longer needed as counts */
	SCOPE_FREE uint64_t *files = calloc(unlink->shared_count + 1, sizeof(*files));
	SCOPE_FREE uint32_t *touched = malloc((unlink->shared_count + 1) * sizeof(*touched));

	if (!files || !touched)
		return ENOMEM;
	memset(slots, 0xff, scan->volume->geometry.groups * sizeof(*slots));
	for (size_t slot = 0; slot < unlink->shared_count; slot++)
		slots[unlink->shared[slot].group] = (uint32_t)slot;
	for (size_t place = 0; place < scan->directory_count; place++) {
		size_t count = 0;

		for (uint64_t n = place ? cost->ends[place - 1] : 0; n < cost->ends[place]; n++) {
			uint32_t slot = slots[cost->parts[n].group];

			if (slot != NO_SLOT && !files[slot]++)
				touched[count++] = slot;
		}
		while (count) {
			uint32_t slot = touched[--count];

			add_sharer(&unlink->shared[slot], scan->directories[place], files[slot]);
			files[slot] = 0;
		}
	}
	return 0;
}

static errcode_t name_directories(struct unlink_cost *cost, struct report_unlink *unlink)
{
	size_t most = unlink->costly_count + unlink->shared_count * REPORT_SHARERS, count = 0;
	SCOPE_FREE struct path_wanted *wanted = calloc(most + 1, sizeof(*wanted));

	if (!wanted)
		return ENOMEM;
	for (size_t n = 0; n < unlink->costly_count; n++)
		wanted[count++] = (struct path_wanted){ unlink->costly[n].ino, &unlink->costly[n].path };
	for (size_t n = 0; n < unlink->shared_count; n++)
		for (unsigned int place = 0; place < REPORT_SHARERS; place++) {
			struct report_sharer *sharer = &unlink->shared[n].most[place];

			if (sharer->files)
				wanted[count++] = (struct path_wanted){ sharer->ino, &sharer->path };
		}
	return paths_find(cost->scan, wanted, count);
}

static errcode_t finish(void *context)
{
	struct unlink_cost *cost = context;
	struct report_unlink *unlink = calloc(1, sizeof(*unlink));

	cost->scan->report->unlink = unlink;
	if (!unlink)
		return ENOMEM;
	unlink->batch_files = cost->batch_files;
	errcode_t error = sort_parts(cost);

	if (!error)
		error = find_costly(cost, unlink);
	if (!error)
		error = find_shared(cost, unlink);
	if (!error)
		error = find_sharers(cost, unlink);
	return error ? error : name_directories(cost, unlink);
}

static void close_cost(void *context)
{
	struct unlink_cost *cost = context;

	for (unsigned int index = 0; index < cost->worker_count; index++)
		free_worker(&cost->workers[index]);
	free(cost->workers);
	free(cost->ends);
	free(cost->parts);
	free(cost->blocks);
	free(cost->inodes);
	free(cost->sharing);
	free(cost);
}

errcode_t unlink_cost_open(struct inode_scan *scan, uint32_t batch_files, struct inode_visitor *visitor)
{
	struct unlink_cost *cost = calloc(1, sizeof(*cost));

	if (!cost)
		return ENOMEM;
	*cost = (struct unlink_cost){
		.scan = scan,
		.batch_files = batch_files,
		.limit = scan->report->worst.limit,
		.worker_count = pool_workers(scan->pool),
		.workers = calloc(pool_workers(scan->pool), sizeof(*cost->workers)),
	};
	if (!cost->workers) {
		free(cost);
		return ENOMEM;
	}
	*visitor = (struct inode_visitor){
		.record = add_record,
		.file = add_file,
		.finish = finish,
		.close = close_cost,
		.context = cost,
	};
	return 0;
}
