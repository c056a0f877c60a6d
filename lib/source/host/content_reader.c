// SPDX-License-Identifier: GPL-2.0-or-later
#include "source/host/content_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "source/host/directory_reader.h"
#include "source/tree/file_flags.h"
#include "source/host/open_below.h"
#include "support/io/whole_io.h"

struct content_reader {
	const struct tree *tree;
	struct directory_reader **directories; /* by origin; made when they are needed */
	uint32_t node;                         /* the file */
	int descriptor;                        /* of a host file; owned */
	struct opener opener;
};

errcode_t content_reader_create(const struct tree *tree, struct content_reader **ret)
{
	struct content_reader *reader = calloc(1, sizeof(*reader));

	*ret = NULL;
	if (!reader)
		return ENOMEM;
	reader->tree = tree;
	reader->descriptor = -1;
	reader->directories = calloc(tree->origin_count, sizeof(*reader->directories));
	if (!reader->directories) {
		free(reader);
		return ENOMEM;
	}
	*ret = reader;
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
	for (uint32_t origin = 0; origin < reader->tree->origin_count; origin++)
		directory_reader_destroy(reader->directories[origin]);
	close_file(reader);
	free(reader->directories);
	free(reader);
}

static errcode_t refuse(errcode_t error, const char *path, struct problem *problem)
{
	return problem_set_reason(problem, error, path, "cannot read", "it is no longer a regular file");
}

static errcode_t open_with_symlinks(int directory, const char *path, int flags, int *descriptor)
{
	*descriptor = openat(directory, path, flags | O_CLOEXEC | O_NOATIME);
	if (*descriptor < 0 && errno == EPERM) /* O_NOATIME is for the owner */
		*descriptor = openat(directory, path, flags | O_CLOEXEC);
	return *descriptor < 0 ? errno : 0;
}

static errcode_t open_file(struct content_reader *reader, const struct tree_origin *origin, struct problem *problem)
{
	const char *host_path = reader->tree->nodes[reader->node].data_map->host_path;
	SCOPE_FREE char *path = tree_host_path(reader->tree, reader->node);
	int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY;
	struct stat status;

	if (!path)
		return problem_set(problem, ENOMEM, NULL, "cannot open");
	errcode_t error =
		origin->follows_symlinks ?
			open_with_symlinks(origin->descriptor, host_path, flags, &reader->descriptor) :
			open_below(&reader->opener, origin->descriptor, host_path, flags, &reader->descriptor);

	/* What open() says of a symlink and of a socket. */
	if (error == ELOOP || error == ENXIO)
		return refuse(EBUSY, path, problem);
	if (!error && fstat(reader->descriptor, &status))
		error = errno;
	if (error)
		return problem_set(problem, error, path, "cannot open");
	return S_ISREG(status.st_mode) ? 0 : refuse(EBUSY, path, problem);
}

static errcode_t need_directories(struct content_reader *reader, uint32_t origin, struct problem *problem)
{
	errcode_t error = reader->directories[origin] ?
	                          0 :
	                          directory_reader_create(reader->tree, origin, &reader->directories[origin]);

	return error ? problem_set(problem, error, reader->tree->origins[origin].path, "cannot open directory") : 0;
}

errcode_t content_reader_open(struct content_reader *reader, uint32_t node, struct problem *problem)
{
	uint32_t origin = reader->tree->nodes[node].origin;

	close_file(reader);
	reader->node = node;
	if (reader->tree->origins[origin].kind == TREE_ORIGIN_STORED)
		return 0;
	if (reader->tree->origins[origin].kind == TREE_ORIGIN_FILES)
		return open_file(reader, &reader->tree->origins[origin], problem);
	errcode_t error = need_directories(reader, origin, problem);

	return error ? error : directory_reader_open(reader->directories[origin], node, &reader->descriptor, problem);
}

int content_reader_descriptor(const struct content_reader *reader)
{
	return reader->descriptor;
}

errcode_t content_reader_locate(struct content_reader *reader, uint32_t node, int *directory, const char **name,
                                struct problem *problem)
{
	const struct tree_node *file = &reader->tree->nodes[node];
	errcode_t error = need_directories(reader, file->origin, problem);

	*name = node == TREE_ROOT ? "." : file->name;
	return error ? error :
	               directory_reader_enter(reader->directories[file->origin], file->parent, directory, problem);
}

static errcode_t read_problem(const struct content_reader *reader, errcode_t error, struct problem *problem)
{
	SCOPE_FREE char *path = tree_path(reader->tree, reader->node);

	if (error == ENODATA && path)
		return problem_set_reason(problem, error, path, "cannot read",
		                          "it has become shorter since it was scanned");
	return problem_set(problem, error, path, "cannot read");
}

/* The first segment that ends behind an offset. */
static uint32_t segment_at(const struct tree_data_map *map, uint64_t offset)
{
	uint32_t low = 0, high = map->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (map->segments[middle].start_bytes + map->segments[middle].length_bytes <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* What is stored has no holes: they are made here. */
static errcode_t read_sparse(const struct tree_data_map *map, int descriptor, char *bytes, size_t count,
                             uint64_t offset)
{
	uint64_t end = offset + count;

	memset(bytes, 0, count);
	for (uint32_t i = segment_at(map, offset); i < map->count && map->segments[i].start_bytes < end; i++) {
		const struct tree_segment *segment = &map->segments[i];
		uint64_t from = segment->start_bytes > offset ? segment->start_bytes : offset;
		uint64_t to = segment->start_bytes + segment->length_bytes;

		to = to < end ? to : end;
		errcode_t error = whole_read(descriptor, bytes + (from - offset), to - from,
		                             map->stored_starts[i] + (from - segment->start_bytes));

		if (error)
			return error;
	}
	return 0;
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
		error = read_sparse(node->data_map, origin->descriptor, bytes, count, offset);
	else
		error = whole_read(origin->descriptor, bytes, count, node->stored_start + offset);
	return error ? read_problem(reader, error, problem) : 0;
}

uint32_t content_reader_flags(const struct content_reader *reader)
{
	return reader->descriptor < 0 ? 0 : file_flags_read(reader->descriptor);
}

errcode_t content_reader_check(const struct tree *tree, struct problem *problem)
{
	for (uint32_t i = 0; i < tree->origin_count; i++) {
		const struct tree_origin *origin = &tree->origins[i];
		struct stat status;

		if (!origin->is_changeable)
			continue;
		if (fstat(origin->descriptor, &status))
			return problem_set(problem, errno, origin->path, "cannot examine");
		if ((uint64_t)status.st_size != origin->size_bytes || status.st_mtim.tv_sec != origin->mtime.tv_sec ||
		    status.st_mtim.tv_nsec != origin->mtime.tv_nsec)
			return problem_set_reason(problem, EBUSY, origin->path, "cannot read",
			                          "it has been changed meanwhile");
	}
	return 0;
}
