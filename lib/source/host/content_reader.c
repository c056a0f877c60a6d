/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/host/content_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "source/host/open_below.h"
#include "source/tree/file_flags.h"
#include "source/tree/source_kind.h"
#include "source/unpack/unpacked_store.h"
#include "support/bisect.h"
#include "support/io/whole_io.h"

/* The last directory of an origin stays open, since the files of a directory are neighbours in the tree. */
struct open_directory {
	struct descender descender;
	int descriptor; /* -1: none */
	uint32_t node;
};

struct content_reader {
	const struct tree *tree;
	uint32_t node;  /* the file */
	int descriptor; /* of a host file; owned */
	int stored;     /* of what holds the contents of one that is stored; borrowed, of the origin or of: */
	int late;       /* one that is opened late, the last one; owned */
	uint32_t late_origin;
	uint32_t flags;        /* of that */
	errcode_t flags_error; /* of asking for them */
	struct opener opener;
	struct open_directory directories[]; /* by origin */
};

errcode_t content_reader_create(const struct tree *tree, struct content_reader **ret)
{
	struct content_reader *reader = calloc(1, sizeof(*reader) + tree->origin_count * sizeof(*reader->directories));

	*ret = reader;
	if (!reader)
		return ENOMEM;
	reader->tree = tree;
	reader->descriptor = reader->stored = reader->late = -1;
	for (uint32_t i = 0; i < tree->origin_count; i++) {
		descender_init(&reader->directories[i].descender, tree->origins[i].descriptor, tree_ascend, tree);
		reader->directories[i].descriptor = -1;
	}
	return 0;
}

static void close_file(struct content_reader *reader)
{
	cleanup_close_descriptor(&reader->descriptor);
	reader->descriptor = -1;
}

void content_reader_destroy(struct content_reader *reader)
{
	if (!reader)
		return;
	for (uint32_t origin = 0; origin < reader->tree->origin_count; origin++) {
		descender_destroy(&reader->directories[origin].descender);
		cleanup_close_descriptor(&reader->directories[origin].descriptor);
	}
	close_file(reader);
	cleanup_close_descriptor(&reader->late);
	free(reader);
}

/* Opens the directory of a file of a TREE_ORIGIN_DIRECTORY. */
static errcode_t enter(struct content_reader *reader, uint32_t file, int *ret, struct problem *problem)
{
	const struct tree_node *node = &reader->tree->nodes[file];
	struct open_directory *directory = &reader->directories[node->origin];

	if (directory->descriptor < 0 || directory->node != node->parent) {
		int descriptor;
		errcode_t error = descender_open(&directory->descender, node->parent, &descriptor);

		if (error) {
			SCOPE_FREE char *path = tree_path(reader->tree, node->parent);

			return problem_set(problem, error, path, "cannot open directory");
		}
		cleanup_close_descriptor(&directory->descriptor);
		directory->descriptor = descriptor;
		directory->node = node->parent;
	}
	*ret = directory->descriptor;
	return 0;
}

static errcode_t open_with_symlinks(int directory, const char *path, int flags, int *descriptor)
{
	*descriptor = openat(directory, path, flags | O_CLOEXEC | O_NOATIME);
	if (*descriptor < 0 && errno == EPERM) /* O_NOATIME is for the owner */
		*descriptor = openat(directory, path, flags | O_CLOEXEC);
	return *descriptor < 0 ? errno : 0;
}

/*
 * Filesystems answer for the flags of files and directories alone, and nearly always somebody wants to know them
 * (content_reader_flags()); so they are asked for here, which saves fstat(2), 4 % of all that a small file costs.
 * Reading tells a directory, but not of an empty file.
 */
static errcode_t examine(struct content_reader *reader)
{
	struct stat status;

	reader->flags_error = file_flags_ask(reader->descriptor, &reader->flags);
	/* No matter of rights, as others are. */
	if (reader->flags_error == EIO)
		return EIO;
	if (!reader->flags_error && reader->tree->nodes[reader->node].size_bytes)
		return 0;
	if (fstat(reader->descriptor, &status))
		return errno;
	return S_ISREG(status.st_mode) ? 0 : EISDIR;
}

/* What open(2) says of a symlink and of a socket, reading of a directory, and examine() of all else. */
static bool is_no_file(errcode_t error)
{
	return error == ELOOP || error == ENXIO || error == EISDIR;
}

static errcode_t has_been_replaced(const char *path, struct problem *problem)
{
	return problem_set_reason(problem, EBUSY, path, "cannot read", "it is no longer a regular file");
}

static errcode_t has_been_changed(const char *path, struct problem *problem)
{
	return problem_set_reason(problem, EBUSY, path, "cannot read", "it has been changed meanwhile");
}

/* What a file of a TREE_ORIGIN_STORED is stored in, unless that has been unpacked. */
static errcode_t open_stored(struct content_reader *reader, uint32_t number, struct problem *problem)
{
	const struct tree_origin *origin = &reader->tree->origins[number];
	struct stat status;

	reader->stored = origin->descriptor;
	if (!origin->is_opened_late)
		return 0;
	if (reader->late < 0 || reader->late_origin != number) {
		SCOPE_CLOSE int opened = source_file_open_path(origin->path);

		if (opened < 0 || fstat(opened, &status))
			return problem_set(problem, errno, origin->path, "cannot open");
		if (!file_version_is(&origin->version, &status))
			return has_been_changed(origin->path, problem);
		cleanup_close_descriptor(&reader->late);
		reader->late = opened;
		reader->late_origin = number;
		opened = -1;
	}
	reader->stored = reader->late;
	return 0;
}

errcode_t content_reader_open(struct content_reader *reader, uint32_t number, struct problem *problem)
{
	const struct tree_node *node = &reader->tree->nodes[number];
	const struct tree_origin *origin = &reader->tree->origins[node->origin];
	const char *name = origin->kind == TREE_ORIGIN_FILES ? node->data_map->host_path : node->name;
	const int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY;
	int directory = origin->descriptor;
	errcode_t error = 0;

	close_file(reader);
	reader->node = number;
	if (origin->kind == TREE_ORIGIN_STORED)
		return open_stored(reader, node->origin, problem);
	if (origin->kind == TREE_ORIGIN_DIRECTORY)
		error = enter(reader, number, &directory, problem);
	if (error)
		return error;
	error = origin->follows_symlinks ? open_with_symlinks(directory, name, flags, &reader->descriptor) :
	                                   open_below(&reader->opener, directory, name, flags, &reader->descriptor);
	if (!error)
		error = examine(reader);
	if (!error)
		return 0;
	close_file(reader);
	SCOPE_FREE char *path = tree_path(reader->tree, number);

	return is_no_file(error) ? has_been_replaced(path, problem) : problem_set(problem, error, path, "cannot open");
}

int content_reader_descriptor(const struct content_reader *reader)
{
	return reader->descriptor;
}

errcode_t content_reader_locate(struct content_reader *reader, uint32_t node, int *directory, const char **name,
                                struct problem *problem)
{
	*name = node == TREE_ROOT ? "." : reader->tree->nodes[node].name;
	return enter(reader, node, directory, problem);
}

static errcode_t read_problem(const struct content_reader *reader, errcode_t error, struct problem *problem)
{
	SCOPE_FREE char *path = tree_path(reader->tree, reader->node);

	if (error == ENODATA && path)
		return problem_set_reason(problem, error, path, "cannot read",
		                          "it has become shorter since it was scanned");
	return error == EISDIR ? has_been_replaced(path, problem) : problem_set(problem, error, path, "cannot read");
}

/* The first segment that ends after an offset. */
static uint32_t segment_at(const struct tree_data_map *map, uint64_t offset)
{
	return (uint32_t)BISECT(map->count, segment,
	                        map->segments[segment].start_bytes + map->segments[segment].length_bytes > offset);
}

static errcode_t read_stored(const struct content_reader *reader, const struct tree_origin *origin, void *bytes,
                             size_t count, uint64_t at)
{
	return origin->unpacked ? unpacked_store_read(origin->unpacked, bytes, count, at) :
	                          whole_read(reader->stored, bytes, count, at);
}

/* What a segment has of bytes [offset, end) of its file. */
struct stored_part {
	uint64_t start_bytes, length_bytes; /* in the file */
	uint64_t stored_start;
};

static struct stored_part part_of(const struct tree_data_map *map, uint32_t number, uint64_t offset, uint64_t end)
{
	const struct tree_segment *segment = &map->segments[number];
	uint64_t from = segment->start_bytes > offset ? segment->start_bytes : offset;
	uint64_t to = segment->start_bytes + segment->length_bytes;

	return (struct stored_part){ from, (to < end ? to : end) - from,
		                     map->stored_starts[number] + (from - segment->start_bytes) };
}

/* What is stored has no holes: they are made here. */
static errcode_t read_sparse(const struct content_reader *reader, const struct tree_data_map *map,
                             const struct tree_origin *origin, char *bytes, size_t count, uint64_t offset)
{
	uint64_t end = offset + count;

	memset(bytes, 0, count);
	for (uint32_t i = segment_at(map, offset); i < map->count && map->segments[i].start_bytes < end; i++) {
		struct stored_part part = part_of(map, i, offset, end);
		errcode_t error = read_stored(reader, origin, bytes + (part.start_bytes - offset), part.length_bytes,
		                              part.stored_start);

		if (error)
			return error;
	}
	return 0;
}

bool content_reader_lies_at(const struct content_reader *reader, uint64_t offset, uint64_t count, int *descriptor,
                            uint64_t *place)
{
	const struct tree_node *node = &reader->tree->nodes[reader->node];
	const struct tree_origin *origin = &reader->tree->origins[node->origin];

	*descriptor = reader->descriptor;
	*place = offset;
	if (origin->kind != TREE_ORIGIN_STORED)
		return true;
	*descriptor = reader->stored;
	*place = node->stored_start + offset;
	if (origin->unpacked || !node->is_sparse)
		return !origin->unpacked;
	const struct tree_data_map *map = node->data_map;
	uint32_t number = segment_at(map, offset);
	const struct tree_segment *segment = &map->segments[number];

	if (number == map->count || segment->start_bytes > offset ||
	    segment->start_bytes + segment->length_bytes - offset < count)
		return false;
	*place = map->stored_starts[number] + (offset - segment->start_bytes);
	return true;
}

errcode_t content_reader_read(struct content_reader *reader, void *bytes, size_t count, uint64_t offset,
                              struct problem *problem)
{
	const struct tree_node *node = &reader->tree->nodes[reader->node];
	const struct tree_origin *origin = &reader->tree->origins[node->origin];
	errcode_t error;

	if (origin->kind != TREE_ORIGIN_STORED)
		error = whole_read(reader->descriptor, bytes, count, offset);
	else if (node->is_sparse)
		error = read_sparse(reader, node->data_map, origin, bytes, count, offset);
	else
		error = read_stored(reader, origin, bytes, count, node->stored_start + offset);
	return error ? read_problem(reader, error, problem) : 0;
}

void content_reader_release(const struct content_reader *reader, size_t count, uint64_t offset)
{
	const struct tree_node *node = &reader->tree->nodes[reader->node];
	const struct unpacked_store *store = reader->tree->origins[node->origin].unpacked;
	const struct tree_data_map *map = node->is_sparse ? node->data_map : NULL;
	uint64_t end = offset + count;

	if (store && !map)
		unpacked_store_release(store, node->stored_start + offset, count);
	for (uint32_t i = store && map ? segment_at(map, offset) : 0;
	     store && map && i < map->count && map->segments[i].start_bytes < end; i++) {
		struct stored_part part = part_of(map, i, offset, end);

		unpacked_store_release(store, part.stored_start, part.length_bytes);
	}
}

uint32_t content_reader_flags(const struct content_reader *reader)
{
	if (reader->descriptor < 0)
		return 0;
	return reader->flags_error ? file_flags_otherwise(reader->descriptor, reader->flags_error) : reader->flags;
}

/* A further name changes the ctime of a file that is open; what was opened by its name must have that, too. */
static bool is_as_it_was(const struct tree_origin *origin, const struct stat *status)
{
	const struct file_version *version = &origin->version;

	return origin->is_opened_late ?
	               file_version_is(version, status) :
	               version->bytes == status->st_size && times_are_equal(version->mtime, status->st_mtim);
}

errcode_t content_reader_check(const struct tree *tree, struct problem *problem)
{
	for (uint32_t i = 0; i < tree->origin_count; i++) {
		const struct tree_origin *origin = &tree->origins[i];
		struct stat status;

		if (!origin->is_changeable)
			continue;
		if (origin->is_opened_late ? stat(origin->path, &status) : fstat(origin->descriptor, &status))
			return problem_set(problem, errno, origin->path, "cannot examine");
		if (!is_as_it_was(origin, &status))
			return has_been_changed(origin->path, problem);
	}
	return 0;
}
