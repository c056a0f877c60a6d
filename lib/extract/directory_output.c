/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A directory of the host as output. First all directories are made, level by level; no other user can enter them yet.
 * Then workers make the files, with all but the data of long ones. Then these data are written, cut into parts, and
 * long files get their metadata. Then further names of files are made, and files get their flags. The directories get
 * their metadata last, the deepest first: making a file in one changes its times, and its permissions may forbid it.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "extract/directory_contents.h"
#include "extract/directory_metadata.h"
#include "support/run/interrupt.h"

#define CHUNK_DIRECTORIES 64u
#define CHUNK_NODES 1024u

struct directory_run {
	struct extraction *extraction;
	struct place place;
	uint32_t *directories; /* directories that are made, by depth; the first is the root */
	uint32_t directory_count;
	uint32_t *levels; /* where each depth begins in `directories`; level_count + 1 numbers */
	uint32_t level_count;
	uint32_t level; /* the level at work */
	pthread_mutex_t lock;
	struct piece_cursor cursor; /* under the lock */
};

static const struct tree_node *node_at(const struct directory_run *run, uint32_t node)
{
	return &run->extraction->tree->nodes[node];
}

static errcode_t fail(struct directory_run *run, unsigned int worker, uint32_t node, errcode_t error,
                      struct problem *problem)
{
	return place_fail(&run->place, worker, node, error, "cannot create", problem);
}

/* --- Directories -------------------------------------------------------------------------------------------------- */

static bool is_made(const struct directory_run *run, uint32_t node)
{
	uint8_t mark = run->extraction->selection.marks[node];

	return S_ISDIR(node_at(run, node)->mode) && (mark == SELECTION_IN || mark == SELECTION_ABOVE);
}

/* Sorts the directories by depth; the root has depth 0. */
static errcode_t list_directories(struct directory_run *run)
{
	uint32_t node_count = run->extraction->tree->node_count, deepest = 0;
	SCOPE_FREE uint32_t *depths = calloc(node_count, sizeof(*depths));

	if (!depths)
		return ENOMEM;
	for (uint32_t node = 1; node < node_count; node++) {
		depths[node] = depths[node_at(run, node)->parent] + 1;
		if (!is_made(run, node))
			continue;
		run->directory_count++;
		deepest = depths[node] > deepest ? depths[node] : deepest;
	}
	run->directory_count++;
	run->level_count = deepest + 1;
	run->levels = calloc((size_t)run->level_count + 2, sizeof(*run->levels));
	run->directories = malloc(run->directory_count * sizeof(*run->directories));
	if (!run->levels || !run->directories)
		return ENOMEM;
	/*
	 * Each depth is counted one place further on, and the counts are summed. Filling then moves each start to its
	 * place.
	 */
	run->levels[2] = 1;
	for (uint32_t node = 1; node < node_count; node++)
		if (is_made(run, node) && depths[node] + 2 <= run->level_count)
			run->levels[depths[node] + 2]++;
	for (uint32_t level = 2; level <= run->level_count; level++)
		run->levels[level] += run->levels[level - 1];
	run->directories[run->levels[1]++] = TREE_ROOT;
	for (uint32_t node = 1; node < node_count; node++)
		if (is_made(run, node))
			run->directories[run->levels[depths[node] + 1]++] = node;
	return 0;
}

/* With --force an existing directory is used as it is, and any other existing file is removed. */
static errcode_t use_existing(const struct directory_run *run, int parent, const char *name)
{
	SCOPE_CLOSE int descriptor = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (!run->extraction->options->has_force)
		return EEXIST;
	if (descriptor >= 0)
		return fchmod(descriptor, 0700) && errno != EPERM ? errno : 0;
	if (errno != ENOTDIR && errno != ELOOP)
		return errno;
	return unlinkat(parent, name, 0) || mkdirat(parent, name, 0700) ? errno : 0;
}

static errcode_t make_directory(struct directory_run *run, unsigned int worker, uint32_t number,
                                struct problem *problem)
{
	const struct tree_node *node = node_at(run, number);
	int parent;

	if (!place_has(&run->place, node->parent) || !place_has(&run->place, number)) {
		place_forget(&run->place, number);
		return 0;
	}
	errcode_t error = place_parent(&run->place, worker, number, &parent);

	if (!error && mkdirat(parent, node->name, 0700))
		error = errno == EEXIST ? use_existing(run, parent, node->name) : errno;
	return error ? fail(run, worker, number, error, problem) : 0;
}

static uint32_t level_chunk(const struct directory_run *run, size_t index, uint32_t *end)
{
	uint32_t first = run->levels[run->level] + (uint32_t)index * CHUNK_DIRECTORIES;
	uint32_t left = run->levels[run->level + 1] - first;

	*end = first + (left < CHUNK_DIRECTORIES ? left : CHUNK_DIRECTORIES);
	return first;
}

static errcode_t make_directories(void *context, unsigned int worker, size_t index, struct problem *problem)
{
	struct directory_run *run = context;
	errcode_t error = 0;
	uint32_t end;

	for (uint32_t i = level_chunk(run, index, &end); !error && i < end; i++)
		if (run->directories[i] != TREE_ROOT)
			error = make_directory(run, worker, run->directories[i], problem);
	return error;
}

static errcode_t finish_directory(struct directory_run *run, unsigned int worker, uint32_t number)
{
	int descriptor;

	if (!place_has(&run->place, number))
		return 0;
	errcode_t error = place_directory(&run->place, worker, number, &descriptor);

	if (error)
		return error;
	error = metadata_set(&run->place, worker, number, descriptor, false);
	if (!error && metadata_has_flags(&run->place, number))
		error = metadata_set_flags(&run->place, worker, number, descriptor);
	return error;
}

static errcode_t finish_directories(void *context, unsigned int worker, size_t index, struct problem *problem)
{
	struct directory_run *run = context;
	uint32_t end;

	for (uint32_t i = level_chunk(run, index, &end); i < end; i++) {
		uint32_t number = run->directories[i];
		bool is_own = number != TREE_ROOT || selection_has(&run->extraction->selection, TREE_ROOT);
		errcode_t error = is_own ? finish_directory(run, worker, number) : 0;

		if (error)
			error = fail(run, worker, number, error, problem);
		if (error)
			return error;
	}
	return 0;
}

static errcode_t each_level(struct directory_run *run, pool_task task, bool from_below, struct problem *problem)
{
	errcode_t error = 0;

	for (uint32_t i = 0; !error && i < run->level_count; i++) {
		run->level = from_below ? run->level_count - 1 - i : i;
		uint32_t count = run->levels[run->level + 1] - run->levels[run->level];

		error = pool_run(run->extraction->pool, (count + CHUNK_DIRECTORIES - 1) / CHUNK_DIRECTORIES, task, run,
		                 problem);
	}
	return error;
}

/* --- Files -------------------------------------------------------------------------------------------------------- */

/* Makes a file without contents; *descriptor is -1 if it is not a regular file. */
static errcode_t make_node(const struct tree_node *node, int parent, const char *name, int *descriptor)
{
	*descriptor = -1;
	if (S_ISLNK(node->mode))
		return symlinkat(node->target, parent, name) ? errno : 0;
	if (!S_ISREG(node->mode)) {
		bool is_device = S_ISCHR(node->mode) || S_ISBLK(node->mode);
		dev_t device = is_device ? makedev(node->device.major, node->device.minor) : 0;

		return mknodat(parent, name, (node->mode & S_IFMT) | 0600, device) ? errno : 0;
	}
	*descriptor = openat(parent, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	return *descriptor < 0 ? errno : 0;
}

static errcode_t make_in_place(const struct directory_run *run, const struct tree_node *node, int parent,
                               const char *name, int *descriptor)
{
	errcode_t error = make_node(node, parent, name, descriptor);

	if (error != EEXIST || !run->extraction->options->has_force)
		return error;
	return unlinkat(parent, name, 0) ? errno : make_node(node, parent, name, descriptor);
}

/* Sets the size, because a file may end in a hole and the parts of a long file are written in any order. */
static errcode_t set_size(const struct tree_node *node, bool is_long, int descriptor)
{
	return (is_long || node->is_sparse) && ftruncate(descriptor, (off_t)node->size_bytes) ? errno : 0;
}

/* Reports a file whose contents cannot be read, and leaves it out. */
static errcode_t leave_out(struct directory_run *run, unsigned int worker, uint32_t node, errcode_t error,
                           struct problem *own, struct problem *problem)
{
	if (!loaded_error_is_of_file(error)) {
		problem_move(problem, own);
		return error;
	}
	if (!own->reason)
		problem_set_reason(own, error, NULL, NULL, "%s", error_message(error));
	problem_add(own, "; it is left out");
	return extraction_damaged(run->extraction, worker, node, DAMAGE_LEFT_OUT, own);
}

static errcode_t fill_file(struct directory_run *run, unsigned int worker, uint32_t number, const struct piece *piece,
                           int descriptor, struct problem *problem)
{
	struct problem own = { 0 };
	bool is_source;
	errcode_t error = directory_copy(&run->place, worker, number, piece, descriptor, &is_source, &own);

	if (error && is_source)
		return leave_out(run, worker, number, error, &own, problem);
	problem_clear(&own);
	return error ? place_fail(&run->place, worker, number, error, "cannot write", problem) : 0;
}

static errcode_t fill_regular(struct directory_run *run, unsigned int worker, uint32_t number, int parent,
                              int descriptor, struct problem *problem)
{
	const struct tree_node *node = node_at(run, node_at(run, number)->link_to);
	bool is_long = piece_is_long(&run->extraction->selection, number);
	errcode_t error = set_size(node, is_long, descriptor);

	if (error)
		return fail(run, worker, number, error, problem);
	if (is_long)
		return 0;
	if (node->size_bytes)
		error = fill_file(run, worker, number, &(const struct piece){ .stop = node->size_bytes }, descriptor,
		                  problem);
	if (!error && place_has(&run->place, number))
		return metadata_set(&run->place, worker, number, descriptor, false);
	unlinkat(parent, node_at(run, number)->name, 0);
	return error;
}

static errcode_t finish_special(struct directory_run *run, unsigned int worker, uint32_t number, int parent,
                                struct problem *problem)
{
	SCOPE_CLOSE int descriptor = openat(parent, node_at(run, number)->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	return descriptor < 0 ? fail(run, worker, number, errno, problem) :
	                        metadata_set(&run->place, worker, number, descriptor, true);
}

static errcode_t make_file(struct directory_run *run, unsigned int worker, uint32_t number, struct problem *problem)
{
	const struct tree_node *node = node_at(run, node_at(run, number)->link_to);
	SCOPE_CLOSE int descriptor = -1;
	int parent = -1;

	if (!place_has(&run->place, node_at(run, number)->parent)) {
		place_forget(&run->place, number);
		return 0;
	}
	errcode_t error = place_parent(&run->place, worker, number, &parent);

	if (!error)
		error = make_in_place(run, node, parent, node_at(run, number)->name, &descriptor);
	if (error == EPERM && (S_ISCHR(node->mode) || S_ISBLK(node->mode))) {
		place_forget(&run->place, number);
		return losses_note(&run->extraction->workers[worker].losses, LOSS_DEVICE, number, EPERM);
	}
	if (error)
		return fail(run, worker, number, error, problem);
	return S_ISREG(node->mode) ? fill_regular(run, worker, number, parent, descriptor, problem) :
	                             finish_special(run, worker, number, parent, problem);
}

static bool is_file(const struct directory_run *run, uint32_t number)
{
	return selection_has(&run->extraction->selection, number) && !S_ISDIR(node_at(run, number)->mode);
}

static bool is_first_name(const struct directory_run *run, uint32_t number)
{
	return selection_first_name(&run->extraction->selection, number) == number;
}

static errcode_t make_files(struct directory_run *run, unsigned int worker, const struct piece *piece,
                            struct problem *problem)
{
	errcode_t error = 0;
	uint64_t bytes = 0;

	for (uint32_t number = piece->first; !error && number < piece->end; number++) {
		if (!is_file(run, number) || !is_first_name(run, number))
			continue;
		error = make_file(run, worker, number, problem);
		if (!piece_is_long(&run->extraction->selection, number))
			bytes += selection_data_bytes(node_at(run, node_at(run, number)->link_to));
	}
	progress_add(run->extraction->options->progress, bytes, piece->end - piece->first);
	return error;
}

static errcode_t open_file(struct directory_run *run, unsigned int worker, uint32_t number, int flags, int *descriptor)
{
	int parent;
	errcode_t error = place_parent(&run->place, worker, number, &parent);

	if (error)
		return error;
	*descriptor = openat(parent, node_at(run, number)->name, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	return *descriptor < 0 ? errno : 0;
}

static errcode_t fill_part(struct directory_run *run, unsigned int worker, const struct piece *piece,
                           struct problem *problem)
{
	SCOPE_CLOSE int descriptor = -1;

	if (!place_has(&run->place, piece->first))
		return 0;
	errcode_t error = open_file(run, worker, piece->first, O_RDWR, &descriptor);

	if (error)
		return fail(run, worker, piece->first, error, problem);
	error = fill_file(run, worker, piece->first, piece, descriptor, problem);
	progress_add(run->extraction->options->progress, piece->stop - piece->start, 0);
	return error;
}

static bool take_piece(struct directory_run *run, struct piece *piece)
{
	pthread_mutex_lock(&run->lock);
	bool is_there = !interrupt_pending() && piece_cursor_next(&run->cursor, piece);

	pthread_mutex_unlock(&run->lock);
	return is_there;
}

static errcode_t take_pieces(void *context, unsigned int worker, size_t index, struct problem *problem)
{
	struct directory_run *run = context;
	struct piece piece;
	errcode_t error = 0;

	(void)index;
	while (!error && take_piece(run, &piece))
		error = piece.is_part ? fill_part(run, worker, &piece, problem) :
		                        make_files(run, worker, &piece, problem);
	return error ? error : interrupt_pending() ? problem_set(problem, EINTR, NULL, "stopped") : 0;
}

static errcode_t each_piece(struct directory_run *run, enum piece_contents contents, struct problem *problem)
{
	piece_cursor_start(&run->cursor, &run->extraction->selection, contents);
	return pool_run(run->extraction->pool, pool_workers(run->extraction->pool), take_pieces, run, problem);
}

/* --- After the contents ------------------------------------------------------------------------------------------- */

static errcode_t make_link(struct directory_run *run, unsigned int worker, uint32_t number, struct problem *problem)
{
	uint32_t first = selection_first_name(&run->extraction->selection, number);
	const char *name = node_at(run, number)->name;
	int from, to;

	if (!place_has(&run->place, first) || !place_has(&run->place, node_at(run, number)->parent))
		return 0;
	errcode_t error = place_parent(&run->place, worker, first, &from);

	if (!error)
		error = place_parent(&run->place, worker, number, &to);
	if (!error && linkat(from, node_at(run, first)->name, to, name, 0))
		error = errno;
	if (error == EEXIST && run->extraction->options->has_force)
		error = unlinkat(to, name, 0) || linkat(from, node_at(run, first)->name, to, name, 0) ? errno : 0;
	return error ? fail(run, worker, number, error, problem) : 0;
}

static errcode_t finish_long(struct directory_run *run, unsigned int worker, uint32_t number, struct problem *problem)
{
	SCOPE_CLOSE int descriptor = -1;
	int parent;

	if (!place_has(&run->place, number)) {
		/* If the contents could not be read, the file has been made and is removed. */
		if (!place_parent(&run->place, worker, number, &parent))
			unlinkat(parent, node_at(run, number)->name, 0);
		return 0;
	}
	errcode_t error = open_file(run, worker, number, O_RDWR, &descriptor);

	return error ? fail(run, worker, number, error, problem) :
	               metadata_set(&run->place, worker, number, descriptor, false);
}

static errcode_t set_flags(struct directory_run *run, unsigned int worker, uint32_t number, struct problem *problem)
{
	SCOPE_CLOSE int descriptor = -1;

	/* Linux has flags only for regular files and directories. */
	if (!place_has(&run->place, number) || !metadata_has_flags(&run->place, number))
		return 0;
	if (!S_ISREG(node_at(run, number)->mode))
		return losses_note(&run->extraction->workers[worker].losses, LOSS_FLAGS, number, EOPNOTSUPP);
	errcode_t error = open_file(run, worker, number, O_RDONLY, &descriptor);

	return error ? fail(run, worker, number, error, problem) :
	               metadata_set_flags(&run->place, worker, number, descriptor);
}

static errcode_t each_node(struct directory_run *run, pool_task task, struct problem *problem)
{
	uint32_t count = run->extraction->tree->node_count;

	return pool_run(run->extraction->pool, (count + CHUNK_NODES - 1) / CHUNK_NODES, task, run, problem);
}

static uint32_t chunk_end(const struct directory_run *run, size_t index)
{
	uint32_t count = run->extraction->tree->node_count, first = (uint32_t)index * CHUNK_NODES;

	return count - first < CHUNK_NODES ? count : first + CHUNK_NODES;
}

/*
 * Called after each_piece(PIECES_OF_LONG) and before links are made, so a file that has to be removed has only one
 * name.
 */
static errcode_t finish_all_long(void *context, unsigned int worker, size_t index, struct problem *problem)
{
	struct directory_run *run = context;
	uint32_t end = chunk_end(run, index);
	errcode_t error = 0;

	for (uint32_t number = (uint32_t)index * CHUNK_NODES; !error && number < end; number++)
		if (piece_is_long(&run->extraction->selection, number))
			error = finish_long(run, worker, number, problem);
	return error;
}

static errcode_t make_links(void *context, unsigned int worker, size_t index, struct problem *problem)
{
	struct directory_run *run = context;
	uint32_t end = chunk_end(run, index);
	errcode_t error = 0;

	for (uint32_t number = (uint32_t)index * CHUNK_NODES; !error && number < end; number++)
		if (is_file(run, number) && !is_first_name(run, number))
			error = make_link(run, worker, number, problem);
	return error;
}

static errcode_t set_all_flags(void *context, unsigned int worker, size_t index, struct problem *problem)
{
	struct directory_run *run = context;
	uint32_t end = chunk_end(run, index);
	errcode_t error = 0;

	for (uint32_t number = (uint32_t)index * CHUNK_NODES; !error && number < end; number++)
		if (is_file(run, number) && is_first_name(run, number))
			error = set_flags(run, worker, number, problem);
	return error;
}

/*
 * Gives the output directory the permissions of any new directory, if the tree's root is not among the selected files.
 */
static void open_to_others(const struct place *place)
{
	if (!place->is_new || selection_has(&place->extraction->selection, TREE_ROOT))
		return;
	mode_t mask = umask(0);

	umask(mask);
	/* If this fails, only the user has access to it, as before. */
	if (fchmod(place->root, 0777 & ~mask))
		return;
}

static errcode_t write_all(struct directory_run *run, struct problem *problem)
{
	errcode_t error = list_directories(run);

	if (!error)
		error = each_level(run, make_directories, false, problem);
	if (!error)
		error = each_piece(run, PIECES_WITHOUT_LONG, problem);
	if (!error)
		error = each_piece(run, PIECES_OF_LONG, problem);
	if (!error)
		error = each_node(run, finish_all_long, problem);
	if (!error)
		error = each_node(run, make_links, problem);
	if (!error)
		error = each_node(run, set_all_flags, problem);
	if (!error)
		error = contents_check(run->extraction->tree, problem);
	if (!error)
		error = each_level(run, finish_directories, true, problem);
	return error;
}

static errcode_t directory_write(struct extraction *extraction, struct problem *problem)
{
	struct directory_run run = { .extraction = extraction, .lock = PTHREAD_MUTEX_INITIALIZER };
	errcode_t error = place_open(&run.place, extraction, problem);

	if (!error)
		error = write_all(&run, problem);
	if (!error)
		open_to_others(&run.place);
	place_close(&run.place);
	free(run.directories);
	free(run.levels);
	return error;
}

static uint64_t directory_lacks(const struct tree *tree, const struct tree_node *node)
{
	(void)tree;
	return node->has_lost_acl || node->has_lost_xattr ? LOSS_BIT(LOSS_XATTR_UNKNOWN) : 0;
}

const struct tree_output directory_output = { .name = "a directory",
	                                      .lacks = directory_lacks,
	                                      .write = directory_write };
