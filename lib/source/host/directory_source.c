/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A host directory as a source: the whole tree below its path, scanned in parallel. The path itself may be a symlink;
 * everything else is read with the caller's rights, without following symlinks. The xattrs user.*, trusted.*,
 * security.* and POSIX ACLs are kept, except those that cannot be read; sets are numbered in the order in which nodes
 * use them. A file that vanishes meanwhile is an error. Errors name the path that could not be read. The result does
 * not depend on the pool or the host's order.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "source/host/entry_names.h"
#include "source/host/folder_look.h"
#include "source/host/host_contents.h"
#include "source/host/large_directory.h"
#include "source/kind/run_files.h"
#include "support/vector.h"

/* A part of a large directory. */
struct chunk {
	uint32_t directory, first;
};

/* The directories of the same depth. */
struct level {
	struct scan *scan;
	uint32_t start, end;
	struct chunk *chunks;
	size_t chunk_count, chunk_capacity;
	/*
	 * The first failure in entries of large directories, and its directory's number. An earlier directory may have
	 * another failure.
	 */
	struct problem failure;
	uint32_t failed_directory; /* UINT32_MAX: none */
};

static errcode_t list_task(void *context, unsigned int worker, size_t index, struct problem *problem)
{
	const struct level *level = context;

	return scan_list(level->scan, worker, level->start + (uint32_t)index, problem);
}

/* Lists a directory, which may be large. The indexes after the directories are helpers. */
static errcode_t list_or_help_task(void *context, unsigned int worker, size_t index, struct problem *problem)
{
	const struct level *level = context;
	struct large_directories *large = level->scan->large;
	errcode_t error = 0;

	if (index < level->end - level->start) {
		error = list_task(context, worker, index, problem);
		large_directories_listed(large, error);
	} else {
		large_directories_help(large, worker);
	}
	return error;
}

/*
 * There are so many helpers that every worker becomes one, however large the steps are in which the pool hands out a
 * job's indexes.
 */
#define HELPERS_PER_WORKER 16

static errcode_t list_with_helpers(struct level *level, struct problem *problem)
{
	struct scan *scan = level->scan;
	uint32_t count = level->end - level->start;
	errcode_t error = large_directories_create(scan, count, &scan->large);

	if (!error)
		error = pool_run(scan->readers, count + (size_t)HELPERS_PER_WORKER * scan->worker_count,
		                 list_or_help_task, level, problem);
	if (!error && !large_directories_failed(scan->large, &level->failed_directory, &level->failure))
		error = large_directories_finish(scan->large, problem);
	large_directories_destroy(TAKE(scan->large));
	return error;
}

static errcode_t list(struct level *level, struct problem *problem)
{
	struct scan *scan = level->scan;
	bool has_large = scan->has_found_large && scan->worker_count > 1;

	scan->has_found_large = false;
	return has_large ? list_with_helpers(level, problem) :
	                   pool_run(scan->readers, level->end - level->start, list_task, level, problem);
}

static errcode_t chunk_task(void *context, unsigned int worker, size_t index, struct problem *problem)
{
	const struct level *level = context;
	const struct chunk *chunk = &level->chunks[index];
	const struct scan_directory *directory = &level->scan->directories[chunk->directory];
	uint32_t left = directory->child_count - chunk->first, most = scan_chunk(directory);
	SCOPE_CLOSE int descriptor = -1;
	errcode_t error = descender_open(&level->scan->workers[worker].descender, chunk->directory, &descriptor);

	if (error)
		return scan_problem(level->scan, chunk->directory, NULL, error, "cannot open directory", problem);
	return scan_examine(level->scan, worker, chunk->directory, descriptor, directory->children + chunk->first,
	                    left < most ? left : most, problem);
}

static errcode_t cut_large_directories(struct level *level)
{
	level->chunk_count = 0;
	for (uint32_t i = level->start; i < level->end && i < level->failed_directory; i++) {
		const struct scan_directory *directory = &level->scan->directories[i];
		uint32_t child_count = directory->child_count, most = scan_chunk(directory);

		if (directory->is_examined || child_count <= most)
			continue;
		errcode_t error = vector_reserve(&level->chunks, &level->chunk_capacity,
		                                 level->chunk_count + child_count / most + 1, sizeof(*level->chunks));

		if (error)
			return error;
		for (uint64_t first = 0; first < child_count; first += most)
			level->chunks[level->chunk_count++] = (struct chunk){ i, (uint32_t)first };
	}
	return 0;
}

static void drop_left_out(struct scan_directory *directory)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < directory->child_count; i++)
		if (directory->children[i].node.mode)
			directory->children[kept++] = directory->children[i];
	directory->child_count = kept;
}

static errcode_t add_subdirectories(struct scan *scan, uint32_t number)
{
	uint32_t count = scan->directories[number].subdirectory_count;

	if (scan->directory_count + count > UINT32_MAX)
		return EOVERFLOW;
	errcode_t error = vector_reserve(&scan->directories, &scan->directory_capacity, scan->directory_count + count,
	                                 sizeof(*scan->directories));

	if (error)
		return error;
	struct scan_directory *directory = &scan->directories[number];

	directory->first_subdirectory = (uint32_t)scan->directory_count;
	for (uint32_t i = 0; count && i < directory->child_count; i++) {
		struct scan_entry *entry = &directory->children[i];

		if (!S_ISDIR(entry->node.mode))
			continue;
		scan->directories[scan->directory_count++] = (struct scan_directory){
			.entry = entry,
			.parent = number,
			.key = folder_sum_key(directory->key, entry->node.name, entry->node.name_bytes),
		};
	}
	return 0;
}

static errcode_t scan_levels(struct scan *scan, struct problem *problem)
{
	struct level level = { .scan = scan, .end = 1, .failed_directory = UINT32_MAX };
	errcode_t error = 0;

	while (!error && level.start < level.end) {
		progress_survey_level(scan->options->progress);
		error = list(&level, problem);
		if (!error)
			error = cut_large_directories(&level);
		if (!error)
			error = pool_run(scan->readers, level.chunk_count, chunk_task, &level, problem);
		if (!error && level.failure.error) {
			problem_move(problem, &level.failure);
			error = problem->error;
		}
		for (uint32_t i = level.start; !error && i < level.end; i++) {
			if (scan->directories[i].has_left_out)
				drop_left_out(&scan->directories[i]);
			error = add_subdirectories(scan, i);
		}
		level.start = level.end;
		level.end = (uint32_t)scan->directory_count;
	}
	free(level.chunks);
	problem_clear(&level.failure);
	return error ? problem_set(problem, error, scan->root_path, "cannot read directory") : 0;
}

/* Returns the directory after `number` in the order of the tree's runs; ASCEND_ROOT after the last one. */
static uint32_t next_directory(const struct scan *scan, uint32_t number)
{
	const struct scan_directory *directories = scan->directories;

	if (directories[number].subdirectory_count)
		return directories[number].first_subdirectory;
	while (number != ASCEND_ROOT) {
		const struct scan_directory *parent = &directories[directories[number].parent];

		if (number + 1 < parent->first_subdirectory + parent->subdirectory_count)
			return number + 1;
		number = directories[number].parent;
	}
	return ASCEND_ROOT;
}

/*
 * Sets where each directory's run begins. This depends on the runs before it, so it is done serially; it visits
 * directories only.
 */
static errcode_t place_runs(struct scan *scan, uint32_t *node_count)
{
	uint64_t next = 1;
	uint32_t number = ASCEND_ROOT;

	do {
		struct scan_directory *directory = &scan->directories[number];

		const struct scan_directory *parent = &scan->directories[directory->parent];

		directory->own_node =
			number ? parent->first_node + (uint32_t)(directory->entry - parent->children) : TREE_ROOT;
		directory->first_node = (uint32_t)next;
		next += directory->child_count;
		number = next_directory(scan, number);
	} while (number != ASCEND_ROOT && next <= UINT32_MAX);
	*node_count = (uint32_t)next;
	return next > UINT32_MAX ? EOVERFLOW : 0;
}

static void finish_directory(struct tree_node *node, const struct scan_directory *directory)
{
	node->child_count = directory->child_count;
	node->first_child = directory->child_count ? directory->first_node : 0;
	node->links = 2 + directory->subdirectory_count;
}

static errcode_t move_run(void *context, unsigned int worker, size_t index, struct problem *problem)
{
	struct scan *scan = context;
	struct scan_directory *directory = &scan->directories[index];
	struct tree_node *run = scan->tree->nodes + directory->first_node;
	uint32_t subdirectory = directory->first_subdirectory;

	(void)worker;
	(void)problem;
	for (uint32_t i = 0; i < directory->child_count; i++) {
		struct tree_node *node = &run[i];
		const struct scan_entry *entry = &directory->children[i];
		uint32_t number = directory->first_node + i;

		*node = entry->node;
		node->links = 1;
		if (S_ISDIR(node->mode))
			finish_directory(node, &scan->directories[subdirectory++]);
		else if (entry->linked.worker)
			scan->workers[entry->linked.worker - 1].linked[entry->linked.index].node = number;
		node->parent = directory->own_node;
		node->link_to = number;
	}
	children_chunk_release(TAKE(directory->chunk));
	return 0;
}

/* Orders names so that those of the same file are adjacent, its first name in front. */
static int compare_linked(const void *one, const void *other)
{
	const struct scan_linked *first = one, *second = other;

	if (first->inode != second->inode)
		return first->inode < second->inode ? -1 : 1;
	if (first->device != second->device)
		return first->device < second->device ? -1 : 1;
	if (first->type != second->type)
		return first->type < second->type ? -1 : 1;
	return first->node < second->node ? -1 : first->node > second->node;
}

static bool is_same_file(const struct scan_linked *one, const struct scan_linked *other)
{
	return one->inode == other->inode && one->device == other->device && one->type == other->type;
}

static errcode_t join_links(struct scan *scan)
{
	struct tree *tree = scan->tree;
	size_t count = 0;

	for (unsigned int i = 0; i < scan->worker_count; i++)
		count += scan->workers[i].linked_count;
	if (!count)
		return 0;
	SCOPE_FREE struct scan_linked *all = malloc(count * sizeof(*all));

	if (!all)
		return ENOMEM;
	count = 0;
	for (unsigned int i = 0; i < scan->worker_count; i++) {
		const struct scan_worker *worker = &scan->workers[i];

		if (worker->linked_count)
			memcpy(all + count, worker->linked, worker->linked_count * sizeof(*all));
		count += worker->linked_count;
	}
	qsort(all, count, sizeof(*all), compare_linked);
	for (size_t i = 0, first = 0; i < count; i++) {
		/* The host gave this name twice, so it was dropped. It comes before the other names of its file. */
		if (all[i].node == TREE_ROOT) {
			first = i + 1;
			continue;
		}
		if (!is_same_file(&all[i], &all[first]))
			first = i;
		tree->nodes[all[i].node].link_to = all[first].node;
		tree->nodes[all[i].node].links = 0;
		tree->nodes[all[i].node].detail = tree->nodes[all[first].node].detail;
		tree->nodes[all[first].node].links++;
	}
	return 0;
}

/* Makes the tree from the scanned directories. */
static errcode_t number_nodes(struct scan *scan, struct pool *pool, struct problem *problem)
{
	struct tree *tree = scan->tree;
	errcode_t error = place_runs(scan, &tree->node_count);

	if (error)
		return problem_set_reason(problem, error, scan->root_path, "cannot number its files",
		                          "there are more than 2^32");
	tree->nodes = malloc(tree->node_count * sizeof(*tree->nodes));
	if (!tree->nodes)
		return problem_set(problem, ENOMEM, scan->root_path, "cannot number its files");
	tree->nodes[TREE_ROOT] = scan->root_entry.node;
	finish_directory(&tree->nodes[TREE_ROOT], &scan->directories[ASCEND_ROOT]);
	error = pool_run(pool, scan->directory_count, move_run, scan, problem);
	if (error)
		return error;
	error = join_links(scan);
	if (!error)
		error = xattr_table_finish(scan->xattr_table, tree);
	if (error)
		return problem_set(problem, error, scan->root_path, "cannot number its files");
	for (unsigned int i = 0; i < scan->worker_count; i++)
		arena_join(&tree->memory, &scan->workers[i].memory);
	return 0;
}

static void scan_destroy(struct scan *scan)
{
	for (size_t number = 0; scan->directories && number < scan->directory_count; number++)
		children_chunk_release(scan->directories[number].chunk);
	for (unsigned int i = 0; scan->workers && i < scan->worker_count; i++) {
		struct scan_worker *worker = &scan->workers[i];

		descender_destroy(&worker->descender);
		arena_destroy(&worker->memory);
		children_chunk_release(worker->chunk);
		host_xattrs_destroy(&worker->xattrs);
		free(worker->linked);
		free(worker->entries);
		free(worker->listing);
		free(worker->names);
		free(worker->segments.list);
	}
	free(scan->workers);
	free(scan->directories);
	free(scan->outputs.list);
	xattr_table_destroy(scan->xattr_table);
	if (scan->root >= 0)
		close(scan->root);
}

static errcode_t prepare(struct scan *scan)
{
	size_t bytes = scan->worker_count * sizeof(*scan->workers);

	scan->workers = aligned_alloc(alignof(struct scan_worker), bytes);
	if (!scan->workers)
		return ENOMEM;
	memset(scan->workers, 0, bytes);
	for (unsigned int i = 0; i < scan->worker_count; i++) {
		struct scan_worker *worker = &scan->workers[i];

		descender_init(&worker->descender, scan->root, scan_step, scan);
		worker->entries = malloc(2 * SCAN_ENTRIES_BYTES);
		errcode_t error = worker->entries ? host_xattrs_init(&worker->xattrs) : ENOMEM;

		if (error)
			return error;
	}
	errcode_t error = vector_reserve(&scan->directories, &scan->directory_capacity, 1, sizeof(*scan->directories));

	if (error)
		return error;
	scan->directories[0] = (struct scan_directory){ .entry = &scan->root_entry };
	scan->directory_count = 1;
	return xattr_table_create(&scan->xattr_table);
}

static errcode_t warn_of_unread(struct scan *scan, struct problem *problem)
{
	struct problem first = { 0 };
	struct scan_unread unread = { 0 };

	for (unsigned int i = 0; i < scan->worker_count; i++)
		scan_add_unread(&unread, &scan->workers[i].unread);
	if (unread.count && scan->options->needs_xattrs)
		return scan_problem(scan, unread.directory, unread.name, unread.error,
		                    "cannot read extended attributes", problem);
	if (!unread.count || !scan->options->warnings)
		return 0;
	scan_problem(scan, unread.directory, unread.name, unread.error,
	             "extended attributes that cannot be read are left out", &first);
	errcode_t error = warnings_add(scan->options->warnings, &first, unread.count);

	return error ? problem_set(problem, error, scan->root_path, "cannot read directory") : 0;
}

static errcode_t note_folder(const struct scan *scan)
{
	struct folder_sum sum = { 0 };

	if (!scan->options->files)
		return 0;
	for (unsigned int i = 0; i < scan->worker_count; i++)
		folder_sum_join(&sum, &scan->workers[i].sum);
	return run_files_read_folder(scan->options->files, "source", scan->root_path, &sum);
}

static errcode_t scan_tree(struct scan *scan, struct pool *pool, struct problem *problem)
{
	uint32_t origin;
	int root = fcntl(scan->root, F_DUPFD_CLOEXEC, 0);
	errcode_t error = root < 0 ? errno : host_contents_add(scan->tree, scan->root_path, root, false, &origin);

	if (!error) {
		scan->tree->origins[origin].is_host = true;
		error = prepare(scan);
	}
	if (!error)
		error = output_folders_find(scan->options, &scan->outputs);
	if (error)
		return problem_set(problem, error, scan->root_path, "cannot read directory");
	error = scan_examine_root(scan, problem);
	if (!error)
		error = scan_levels(scan, problem);
	if (!error)
		error = warn_of_unread(scan, problem);
	if (!error && (error = note_folder(scan)))
		problem_set(problem, error, scan->root_path, "cannot read directory");
	return error ? error : number_nodes(scan, pool, problem);
}

/* Without a tree. */
static errcode_t look(const struct source *source, const struct scan_options *options, struct problem *problem)
{
	struct folder_sum sum = { 0 };
	errcode_t error = folder_look(source->path, options, &sum, problem);

	return error ? error : run_files_read_folder(options->files, "source", source->path, &sum);
}

/*
 * Explains why a path cannot be opened. skopeo reads some prefixes that no source has; the message says what to do
 * about them.
 */
static errcode_t open_problem(const char *path, errcode_t error, struct problem *problem)
{
	static const char *const transports[] = { "containers-storage", "dir", "docker", "docker-daemon" };
	size_t prefix_bytes = strspn(path, "abcdefghijklmnopqrstuvwxyz-");

	/* A path that does not exist need not have been meant as a directory. */
	if (error != ENOENT)
		return problem_set(problem, error, path, "cannot open directory");
	for (size_t i = 0; path[prefix_bytes] == ':' && i < sizeof(transports) / sizeof(*transports); i++)
		if (strlen(transports[i]) == prefix_bytes && !memcmp(path, transports[i], prefix_bytes))
			return problem_set_reason(problem, error, path, "cannot open",
			                          "there is no such file, and \"%s:\" is not read here: skopeo copy "
			                          "%s oci:DIR makes what -d oci:DIR reads",
			                          transports[i], path);
	return problem_set(problem, error, path, "cannot open");
}

static errcode_t scan_directory(struct source *source, const struct scan_options *options, struct pool *pool,
                                struct tree *tree, struct problem *problem)
{
	struct pool *readers = options->readers ? options->readers : pool;
	struct scan scan = {
		.tree = tree,
		.root_path = source->path,
		.root = open(source->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
		.options = options,
		.readers = readers,
		.worker_count = pool_workers(readers),
		.detail_lock = PTHREAD_MUTEX_INITIALIZER,
	};

	if (scan.root < 0)
		return open_problem(source->path, errno, problem);
	if (options->only_looks) {
		close(scan.root);
		return look(source, options, problem);
	}
	errcode_t error = scan_tree(&scan, pool, problem);

	scan_destroy(&scan);
	return error;
}

/* A path that does not exist is taken by this kind, which then reports it. */
static bool is_directory(struct source *source)
{
	struct stat status;

	return strcmp(source->path, "-") && (stat(source->path, &status) || S_ISDIR(status.st_mode));
}

static bool has_file(const char *folder, const char *name)
{
	SCOPE_FREE char *path = path_from(folder, name);

	return path && access(path, F_OK) == 0;
}

/* Not what skopeo calls dir:, an image in a form that is not read here; then the whole name is that of no file. */
static bool has_prefix(struct source *source)
{
	const char *whole = source->path;

	if (!source_cut_prefix(source, "dir"))
		return false;
	if (!has_file(source->path, "manifest.json") || !has_file(source->path, "version"))
		return true;
	source->path = whole;
	return false;
}

const struct source_kind directory_source = {
	.takes_prefix = has_prefix,
	.takes_name = is_directory,
	.scan = scan_directory,
	.is_host = true,
	.names_files = true,
	.scans_in_parallel = true,
};
