/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/host/host_contents.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "source/host/host_flags.h"
#include "source/host/open_below.h"
#include "support/io/whole_io.h"
#include "support/vector.h"

struct host_origin {
	int directory;
	bool follows_symlinks;
	const char **paths; /* in the arena of the tree to which they were added */
	size_t path_count, path_capacity;
};

/* The reader of one origin. */
struct host_reader {
	const struct tree *tree;
	const struct host_origin *origin;
	uint32_t node;
	int descriptor;        /* the file's; owned */
	uint32_t flags;        /* of that */
	errcode_t flags_error; /* of asking for them */
	struct opener opener;
	struct descender descender;
	/* The directory of the last file stays open, since the files of a directory are adjacent in the tree. */
	int parent; /* -1: none */
	uint32_t parent_node;
};

static const struct host_origin *origin_of(const struct tree *tree, uint32_t node)
{
	return tree->origins[tree->nodes[node].origin].data;
}

/* Returns the path of a file's contents; NULL: the file is found by its place in the tree. */
static const char *own_path(const struct tree *tree, uint32_t node)
{
	uint64_t number = S_ISREG(tree->nodes[node].mode) ? tree_contents(&tree->nodes[node]) : 0;

	return number ? origin_of(tree, node)->paths[number - 1] : NULL;
}

static errcode_t create(const struct tree *tree, uint32_t origin, void **state)
{
	struct host_reader *reader = calloc(1, sizeof(*reader));

	*state = reader;
	if (!reader)
		return ENOMEM;
	reader->tree = tree;
	reader->origin = tree->origins[origin].data;
	reader->descriptor = reader->parent = -1;
	descender_init(&reader->descender, reader->origin->directory, tree_ascend, tree);
	return 0;
}

static void destroy(void *state)
{
	struct host_reader *reader = state;

	descender_destroy(&reader->descender);
	cleanup_close_descriptor(&reader->parent);
	cleanup_close_descriptor(&reader->descriptor);
	free(reader);
}

/* Opens the directory of a file that is found by its place in the tree. */
static errcode_t enter(struct host_reader *reader, uint32_t file, int *ret, struct problem *problem)
{
	const struct tree_node *node = &reader->tree->nodes[file];

	if (reader->parent < 0 || reader->parent_node != node->parent) {
		int descriptor;
		errcode_t error = descender_open(&reader->descender, node->parent, &descriptor);

		if (error) {
			SCOPE_FREE char *path = tree_path(reader->tree, node->parent);

			return problem_set(problem, error, path, "cannot open directory");
		}
		cleanup_close_descriptor(&reader->parent);
		reader->parent = descriptor;
		reader->parent_node = node->parent;
	}
	*ret = reader->parent;
	return 0;
}

static errcode_t open_with_symlinks(int directory, const char *path, int flags, int *descriptor)
{
	*descriptor = openat(directory, path, flags | O_CLOEXEC | O_NOATIME);
	if (*descriptor < 0 && errno == EPERM) /* only the owner may use O_NOATIME */
		*descriptor = openat(directory, path, flags | O_CLOEXEC);
	return *descriptor < 0 ? errno : 0;
}

/*
 * Reads the flags, and checks that the file is regular. Filesystems give flags only for files and directories, and
 * nearly always some caller wants them (content_reader_flags()). Asking here saves fstat(2), 4 % of the whole cost of a
 * small file. Reading detects a directory, unless the tree's file is empty.
 */
static errcode_t examine(struct host_reader *reader)
{
	struct stat status;

	reader->flags_error = file_flags_ask(reader->descriptor, &reader->flags);
	/* EIO is not a matter of permissions, as other errors are. */
	if (reader->flags_error == EIO)
		return EIO;
	if (!reader->flags_error && reader->tree->nodes[reader->node].size_bytes)
		return 0;
	if (fstat(reader->descriptor, &status))
		return errno;
	return S_ISREG(status.st_mode) ? 0 : EISDIR;
}

/*
 * True for the errors that open(2) gives for a symlink and for a socket, read(2) for a directory, and examine() for all
 * else.
 */
static bool is_no_file(errcode_t error)
{
	return error == ELOOP || error == ENXIO || error == EISDIR;
}

static void close_file(struct host_reader *reader)
{
	cleanup_close_descriptor(&reader->descriptor);
	reader->descriptor = -1;
}

static errcode_t open_file(void *state, uint32_t number, struct problem *problem)
{
	struct host_reader *reader = state;
	const char *path = own_path(reader->tree, number);
	const char *name = path ? path : reader->tree->nodes[number].name;
	const int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY;
	int directory = reader->origin->directory;

	close_file(reader);
	reader->node = number;
	errcode_t error = path ? 0 : enter(reader, number, &directory, problem);

	if (error)
		return error;
	error = reader->origin->follows_symlinks ?
	                open_with_symlinks(directory, name, flags, &reader->descriptor) :
	                open_below(&reader->opener, directory, name, flags, &reader->descriptor);
	if (!error)
		error = examine(reader);
	if (!error)
		return 0;
	close_file(reader);
	SCOPE_FREE char *shown = tree_path(reader->tree, number);

	return is_no_file(error) ? contents_replaced(shown, problem) :
	                           problem_set(problem, error, shown, "cannot open");
}

static errcode_t read_at(void *state, void *bytes, size_t count, uint64_t offset_bytes)
{
	const struct host_reader *reader = state;

	return whole_read(reader->descriptor, bytes, count, offset_bytes);
}

/* The whole file is data here: the tree knows the holes, if the scan has asked for them. */
static void map(const void *state, uint64_t from_bytes, struct content_range *range)
{
	const struct host_reader *reader = state;

	*range = (struct content_range){
		.logical_bytes = from_bytes,
		.length_bytes = reader->tree->nodes[reader->node].size_bytes - from_bytes,
		.kind = CONTENT_DATA,
		.descriptor = reader->descriptor,
		.place_bytes = from_bytes,
	};
}

static uint32_t flags(void *state)
{
	const struct host_reader *reader = state;

	return reader->flags_error ? file_flags_otherwise(reader->descriptor, reader->flags_error) : reader->flags;
}

errcode_t host_contents_add_path(struct tree *tree, uint32_t number, const char *path, uint64_t *contents)
{
	struct host_origin *origin = tree->origins[number].data;
	const char *copy = arena_copy_string(&tree->memory, path, strlen(path));
	errcode_t error =
		vector_reserve(&origin->paths, &origin->path_capacity, origin->path_count + 1, sizeof(*origin->paths));

	if (error || !copy)
		return ENOMEM;
	origin->paths[origin->path_count++] = copy;
	*contents = origin->path_count;
	return 0;
}

static errcode_t fix(struct tree *tree, uint32_t number)
{
	struct tree_node *node = &tree->nodes[number];
	uint64_t contents;

	if (!S_ISREG(node->mode) || own_path(tree, number))
		return 0;
	SCOPE_FREE char *path = path_text("", tree_ascend, tree, number, NULL);
	errcode_t error =
		path ? host_contents_add_path(tree, node->origin, path + strspn(path, "/"), &contents) : ENOMEM;

	if (!error)
		tree_set_contents(node, contents);
	return error;
}

static char *path_of(const struct tree *tree, uint32_t node)
{
	const char *origin = tree->origins[tree->nodes[node].origin].path, *path = own_path(tree, node);

	return path ? path_from(origin, path) : path_text(origin, tree_ascend, tree, node, NULL);
}

static void close_origin(void *data)
{
	struct host_origin *origin = data;

	cleanup_close_descriptor(&origin->directory);
	free(origin->paths);
	free(origin);
}

static const struct contents host_contents = {
	.create = create,
	.destroy = destroy,
	.open = open_file,
	.read_at = read_at,
	.map = map,
	.flags = flags,
	.fix = fix,
	.path = path_of,
	.close = close_origin,
	.begins_in_blocks = true,
};

errcode_t host_contents_add(struct tree *tree, const char *path, int directory, bool follows_symlinks, uint32_t *number)
{
	SCOPE_CLOSE int owned = directory;
	struct host_origin *origin = calloc(1, sizeof(*origin));

	if (!origin)
		return ENOMEM;
	*origin = (struct host_origin){ .directory = directory, .follows_symlinks = follows_symlinks };
	owned = -1;
	return tree_add_origin(tree, &host_contents, origin, path, number);
}
