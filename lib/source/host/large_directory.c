/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/host/large_directory.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "source/host/entry_names.h"
#include "support/bisect.h"
#include "support/run/condition.h"
#include "support/run/interrupt.h"
#include "support/vector.h"

/*
 * So many pieces may wait (20 MB). Beyond that the worker that lists examines some of them before it reads on; else all
 * names would be in memory twice. (With 256, the number of names was known so late that at a fifth of the time the
 * estimated time left was off by 30 % instead of 18 %.)
 */
#define MOST_WAITING 4096
/* A task moves so many nodes. */
#define MOVED_AT_ONCE 1024

/* An entry that has been examined. */
struct item {
	uint64_t prefix; /* scan_prefix() of its name */
	struct scan_entry *entry;
};

/* Entries that one worker examines in one go. */
struct piece {
	struct piece *next;
	uint32_t directory;
	char *entries; /* the kernel's struct dirent64, until the nodes are made; owned */
	size_t bytes;
	struct children_chunk *chunk; /* the chunk that holds the nodes; NULL: there are none */
	struct item *items;           /* sorted by name, until they are merged; owned */
	size_t item_count;
};

/* Sorted items of one directory. */
struct sorted_items {
	uint32_t directory;
	const struct item *items;
	size_t count;
};

struct large_directories {
	struct scan *scan;
	pthread_mutex_t lock; /* protects the members up to failed_directory */
	struct piece *waiting, **waiting_end;
	struct piece *examined; /* pieces that are examined or taken, in any order */
	size_t piece_count, waiting_count;
	uint32_t listings; /* listings that are not finished */
	bool is_over;      /* a listing has failed */
	struct problem failure;
	uint32_t failed_directory;
	pthread_cond_t changed; /* a piece waits, or none will any more */

	/* Merging: each pass reads the runs of one side and writes the other. */
	struct sorted_items *runs, *next_runs;
	size_t run_count, next_count;
	struct item *sides[2];
	size_t *tasks; /* the first run of each task; there are as many tasks as next_runs */
};

errcode_t large_directories_create(struct scan *scan, uint32_t listings, struct large_directories **ret)
{
	struct large_directories *large = calloc(1, sizeof(*large));

	*ret = large;
	if (!large)
		return ENOMEM;
	*large = (struct large_directories){ .scan = scan,
		                             .lock = PTHREAD_MUTEX_INITIALIZER,
		                             .waiting_end = &large->waiting,
		                             .listings = listings,
		                             .changed = PTHREAD_COND_INITIALIZER };
	return 0;
}

static void free_pieces(struct piece *piece)
{
	while (piece) {
		struct piece *next = piece->next;

		children_chunk_release(piece->chunk);
		free(piece->entries);
		free(piece->items);
		free(piece);
		piece = next;
	}
}

void large_directories_destroy(struct large_directories *large)
{
	if (!large)
		return;
	free_pieces(large->waiting);
	free_pieces(large->examined);
	problem_clear(&large->failure);
	pthread_cond_destroy(&large->changed);
	pthread_mutex_destroy(&large->lock);
	free(large->runs);
	free(large->next_runs);
	free(large->sides[0]);
	free(large->sides[1]);
	free(large->tasks);
	free(large);
}

static errcode_t add_piece(struct large_directories *large, uint32_t directory, const char *entries, size_t bytes)
{
	struct piece *piece = malloc(sizeof(*piece));
	char *copy = malloc(bytes);

	if (!piece || !copy) {
		free(piece);
		free(copy);
		return ENOMEM;
	}
	memcpy(copy, entries, bytes);
	*piece = (struct piece){ .directory = directory, .entries = copy, .bytes = bytes };
	pthread_mutex_lock(&large->lock);
	*large->waiting_end = piece;
	large->waiting_end = &piece->next;
	large->piece_count++;
	/* If pieces are waiting already, the first of them has woken the threads. */
	if (!large->waiting_count++)
		condition_wake(&large->changed);
	pthread_mutex_unlock(&large->lock);
	return 0;
}

errcode_t large_directory_add(struct large_directories *large, uint32_t directory, const char *entries, size_t bytes,
                              uint64_t *count)
{
	size_t start = 0, at = 0;
	errcode_t error = 0;
	uint32_t names = 0, gathered = 0;

	while (!error && at < bytes) {
		const struct dirent64 *entry = (const struct dirent64 *)(entries + at);

		at += entry->d_reclen;
		names += strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..");
		if (++gathered % SCAN_CHUNK && at < bytes)
			continue;
		error = add_piece(large, directory, entries + start, at - start);
		start = at;
	}
	*count += names;
	return error || *count < UINT32_MAX ? error : EOVERFLOW;
}

void large_directories_listed(struct large_directories *large, errcode_t error)
{
	pthread_mutex_lock(&large->lock);
	large->listings--;
	large->is_over |= error != 0;
	condition_wake(&large->changed);
	pthread_mutex_unlock(&large->lock);
}

/* Moves the first waiting piece to those that are examined, and returns it; NULL: no piece waits. The lock is held. */
static struct piece *pop_piece(struct large_directories *large)
{
	struct piece *piece = large->waiting;

	if (!piece)
		return NULL;
	large->waiting = piece->next;
	if (!large->waiting)
		large->waiting_end = &large->waiting;
	large->waiting_count--;
	piece->next = large->examined;
	large->examined = piece;
	return piece;
}

/* Waits for a piece and takes it. NULL: there will be no more pieces, or the scan is over. */
static struct piece *wait_for_piece(struct large_directories *large)
{
	struct piece *piece = NULL;

	pool_pause(large->scan->readers);
	pthread_mutex_lock(&large->lock);
	while (!large->is_over && !interrupt_pending() && !(piece = pop_piece(large)) && large->listings)
		condition_wait_or_look(&large->changed, &large->lock);
	pthread_mutex_unlock(&large->lock);
	pool_resume(large->scan->readers);
	return piece;
}

static errcode_t make_items(struct scan_worker *worker, struct piece *piece, struct scan_entry **entries)
{
	size_t names = 0, used = 0;
	errcode_t error = scan_add_names(worker, piece->entries, piece->bytes, &names, &used);

	free(TAKE(piece->entries));
	if (error || !names)
		return error;
	*entries = children_chunk_next(worker, names * sizeof(**entries), &piece->chunk);
	piece->items = malloc(names * sizeof(*piece->items));
	if (!*entries || !piece->items)
		return ENOMEM;
	uint32_t made;

	error = scan_make_entries(worker, names, *entries, &made);
	if (error)
		return error;
	for (uint32_t i = 0; i < made; i++) {
		struct scan_entry *entry = &(*entries)[i];

		piece->items[i] = (struct item){ scan_prefix(entry->node.name, entry->node.name_bytes), entry };
	}
	piece->item_count = made;
	return 0;
}

static errcode_t examine_piece(struct large_directories *large, unsigned int worker, struct piece *piece,
                               struct problem *problem)
{
	struct scan *scan = large->scan;
	SCOPE_CLOSE int descriptor = -1;
	struct scan_entry *entries = NULL;
	errcode_t error = make_items(&scan->workers[worker], piece, &entries);

	if (error)
		return scan_problem(scan, piece->directory, NULL, error, "cannot read directory", problem);
	if (!piece->item_count)
		return 0;
	error = descender_open(&scan->workers[worker].descender, piece->directory, &descriptor);
	if (error)
		return scan_problem(scan, piece->directory, NULL, error, "cannot open directory", problem);
	return scan_examine(scan, worker, piece->directory, descriptor, entries, (uint32_t)piece->item_count, problem);
}

/* True if this failure comes before the known one. A directory's own failure comes before those of its entries. */
static bool is_first_failure(const struct large_directories *large, uint32_t directory, const struct problem *problem)
{
	const struct problem *known = &large->failure;

	if (!known->error || directory != large->failed_directory)
		return !known->error || directory < large->failed_directory;
	return known->path && (!problem->path || strcmp(problem->path, known->path) < 0);
}

static void keep_failure(struct large_directories *large, uint32_t directory, struct problem *problem)
{
	pthread_mutex_lock(&large->lock);
	if (is_first_failure(large, directory, problem)) {
		problem_move(&large->failure, problem);
		large->failed_directory = directory;
	}
	pthread_mutex_unlock(&large->lock);
	problem_clear(problem);
}

static void examine(struct large_directories *large, unsigned int worker, struct piece *piece)
{
	struct problem problem = { 0 };

	if (examine_piece(large, worker, piece, &problem))
		keep_failure(large, piece->directory, &problem);
}

void large_directories_help(struct large_directories *large, unsigned int worker)
{
	struct piece *piece;

	while ((piece = wait_for_piece(large)))
		examine(large, worker, piece);
}

void large_directories_relieve(struct large_directories *large, unsigned int worker)
{
	struct piece *piece;

	do {
		pthread_mutex_lock(&large->lock);
		piece = large->waiting_count > MOST_WAITING ? pop_piece(large) : NULL;
		pthread_mutex_unlock(&large->lock);
		if (piece)
			examine(large, worker, piece);
	} while (piece);
}

/* --- Merging --------------------------------------------------------------------------------------------------------
 */

static bool is_after(const struct item *one, const struct item *other)
{
	if (one->prefix != other->prefix)
		return one->prefix > other->prefix;
	return strcmp(one->entry->node.name, other->entry->node.name) > 0;
}

static int compare_runs(const void *one, const void *other)
{
	const struct sorted_items *first = one, *second = other;

	return first->directory < second->directory ? -1 : first->directory > second->directory;
}

static errcode_t begin_merge(struct large_directories *large)
{
	large->runs = calloc(large->piece_count, sizeof(*large->runs));
	large->next_runs = calloc(large->piece_count, sizeof(*large->next_runs));
	large->tasks = calloc(large->piece_count, sizeof(*large->tasks));
	if (!large->runs || !large->next_runs || !large->tasks)
		return ENOMEM;
	for (const struct piece *piece = large->examined; piece; piece = piece->next)
		if (piece->item_count)
			large->runs[large->run_count++] =
				(struct sorted_items){ piece->directory, piece->items, piece->item_count };
	qsort(large->runs, large->run_count, sizeof(*large->runs), compare_runs);
	return 0;
}

/*
 * Pairs neighbouring runs of a directory, each pair becoming one; a single run stays alone. False: each directory has
 * only one run.
 */
static bool pair_runs(struct large_directories *large, struct item *into)
{
	large->next_count = 0;
	for (size_t i = 0; i < large->run_count;) {
		const struct sorted_items *run = &large->runs[i];
		bool is_pair = i + 1 < large->run_count && run[1].directory == run->directory;
		size_t count = run->count + (is_pair ? run[1].count : 0);

		large->tasks[large->next_count] = i;
		large->next_runs[large->next_count++] = (struct sorted_items){ run->directory, into, count };
		into += count;
		i += is_pair ? 2 : 1;
	}
	return large->next_count < large->run_count;
}

static errcode_t merge_task(void *context, unsigned int worker, size_t index, struct problem *problem)
{
	const struct large_directories *large = context;
	const struct sorted_items *merged = &large->next_runs[index], *run = &large->runs[large->tasks[index]];
	const struct item *one = run->items, *one_end = one + run->count;
	struct item *into = (struct item *)merged->items;

	(void)worker;
	(void)problem;
	if (merged->count > run->count) {
		const struct item *other = run[1].items, *other_end = other + run[1].count;

		while (one < one_end && other < other_end)
			*into++ = is_after(one, other) ? *other++ : *one++;
		memcpy(into, other, (size_t)(other_end - other) * sizeof(*into));
		into += other_end - other;
	}
	memcpy(into, one, (size_t)(one_end - one) * sizeof(*into));
	return 0;
}

/* Frees the pieces' items, which are merged and no longer needed: 80 MB for five million names. */
static void free_items(struct large_directories *large)
{
	for (struct piece *piece = large->examined; piece; piece = piece->next)
		free(TAKE(piece->items));
}

static errcode_t merge_runs(struct large_directories *large, struct problem *problem)
{
	size_t items = 0;
	unsigned int passes = 0;
	errcode_t error = 0;

	for (size_t i = 0; i < large->run_count; i++)
		items += large->runs[i].count;
	for (unsigned int side = 0; !error; side = !side) {
		if (!large->sides[side])
			large->sides[side] = malloc(items * sizeof(**large->sides));
		if (!large->sides[side])
			return ENOMEM;
		if (!pair_runs(large, large->sides[side])) {
			free(TAKE(large->sides[side]));
			return 0;
		}
		error = pool_run(large->scan->readers, large->next_count, merge_task, large, problem);
		if (!passes++)
			free_items(large);
		struct sorted_items *runs = large->runs;

		large->runs = large->next_runs;
		large->next_runs = runs;
		large->run_count = large->next_count;
	}
	return error;
}

/* --- Moving to the directories --------------------------------------------------------------------------------------
 */

/* Drops an entry whose name the host gave twice. */
static void drop_double(struct scan_directory *directory, struct scan_entry *entry)
{
	if (S_ISDIR(entry->node.mode))
		__atomic_fetch_sub(&directory->subdirectory_count, 1, __ATOMIC_RELAXED);
	entry->node.mode = 0;
	__atomic_store_n(&directory->has_left_out, true, __ATOMIC_RELAXED);
}

static errcode_t move_task(void *context, unsigned int worker, size_t index, struct problem *problem)
{
	const struct large_directories *large = context;
	/* The task moves a part of a run. tasks[] holds the number of each run's first part. */
	size_t number = BISECT(large->run_count, later, large->tasks[later] > index) - 1;
	const struct sorted_items *run = &large->runs[number];
	struct scan_directory *directory = &large->scan->directories[run->directory];
	size_t first = (index - large->tasks[number]) * MOVED_AT_ONCE;

	(void)worker;
	(void)problem;
	for (size_t i = first; i < run->count && i < first + MOVED_AT_ONCE; i++) {
		directory->children[i] = *run->items[i].entry;
		if (i && run->items[i].prefix == run->items[i - 1].prefix &&
		    !is_after(&run->items[i], &run->items[i - 1]))
			drop_double(directory, &directory->children[i]);
	}
	return 0;
}

static errcode_t move_nodes(struct large_directories *large, struct problem *problem)
{
	size_t tasks = 0;

	for (size_t i = 0; i < large->run_count; i++) {
		const struct sorted_items *run = &large->runs[i];
		struct scan_directory *directory = &large->scan->directories[run->directory];

		directory->children = children_chunk_next(&large->scan->workers[0],
		                                          run->count * sizeof(*directory->children), &directory->chunk);
		if (!directory->children)
			return ENOMEM;
		directory->child_count = (uint32_t)run->count;
		directory->is_examined = true;
		large->tasks[i] = tasks;
		tasks += (run->count + MOVED_AT_ONCE - 1) / MOVED_AT_ONCE;
	}
	return pool_run(large->scan->readers, tasks, move_task, large, problem);
}

bool large_directories_failed(struct large_directories *large, uint32_t *directory, struct problem *failure)
{
	if (!large->failure.error)
		return false;
	problem_move(failure, &large->failure);
	*directory = large->failed_directory;
	return true;
}

errcode_t large_directories_finish(struct large_directories *large, struct problem *problem)
{
	if (!large->piece_count)
		return 0;
	errcode_t error = begin_merge(large);

	if (!error)
		error = merge_runs(large, problem);
	return error ? error : move_nodes(large, problem);
}
