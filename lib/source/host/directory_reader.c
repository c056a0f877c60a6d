/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/host/directory_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "source/host/descend.h"

struct directory_reader {
	const struct tree *tree;
	struct descender descender;
	int directory; /* the last one that was read from; -1: none */
	uint32_t directory_node;
};

static errcode_t fail(const struct tree *tree, uint32_t node, errcode_t error, const char *action,
                      struct problem *problem)
{
	SCOPE_FREE char *path = tree_path(tree, node);

	return problem_set(problem, error, path, action);
}

errcode_t directory_reader_create(const struct tree *tree, uint32_t origin, struct directory_reader **ret)
{
	struct directory_reader *reader = malloc(sizeof(*reader));

	*ret = NULL;
	if (!reader)
		return ENOMEM;
	reader->tree = tree;
	reader->directory = -1;
	descender_init(&reader->descender, tree->origins[origin].descriptor, tree_ascend, tree);
	*ret = reader;
	return 0;
}

void directory_reader_destroy(struct directory_reader *reader)
{
	if (!reader)
		return;
	descender_destroy(&reader->descender);
	cleanup_close_descriptor(&reader->directory);
	free(reader);
}

errcode_t directory_reader_enter(struct directory_reader *reader, uint32_t node, int *directory,
                                 struct problem *problem)
{
	int descriptor;

	*directory = reader->directory;
	if (reader->directory >= 0 && reader->directory_node == node)
		return 0;
	errcode_t error = descender_open(&reader->descender, node, &descriptor);

	if (error)
		return fail(reader->tree, node, error, "cannot open directory", problem);
	cleanup_close_descriptor(&reader->directory);
	*directory = reader->directory = descriptor;
	reader->directory_node = node;
	return 0;
}

errcode_t directory_reader_open(struct directory_reader *reader, uint32_t node, int *ret, struct problem *problem)
{
	const struct tree_node *file = &reader->tree->nodes[node];
	SCOPE_CLOSE int descriptor = -1;
	struct stat status;
	int directory;

	*ret = -1;
	errcode_t error = directory_reader_enter(reader, file->parent, &directory, problem);

	if (error)
		return error;
	error = descender_open_file(&reader->descender, directory, file->name, &descriptor);
	if (!error && fstat(descriptor, &status))
		error = errno;
	/* What open() says of a symlink and of a socket. */
	bool is_other = error == ELOOP || error == ENXIO || (!error && !S_ISREG(status.st_mode));

	if (error && !is_other)
		return fail(reader->tree, node, error, "cannot open", problem);
	if (is_other) {
		SCOPE_FREE char *path = tree_path(reader->tree, node);

		return problem_set_reason(problem, EBUSY, path, "cannot read", "it is no longer a regular file");
	}
	*ret = descriptor;
	descriptor = -1;
	return 0;
}
