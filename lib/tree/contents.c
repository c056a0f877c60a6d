/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/contents.h"

#include <errno.h>

#include "support/cleanup.h"

struct content_reader {
	const struct tree *tree;
	uint32_t node;                   /* the file */
	const struct contents *contents; /* of its origin */
	void *state;
	void *states[]; /* by origin; NULL: none of the origin's files has been opened */
};

errcode_t content_reader_create(const struct tree *tree, struct content_reader **ret)
{
	struct content_reader *reader = calloc(1, sizeof(*reader) + tree->origin_count * sizeof(*reader->states));

	*ret = reader;
	if (!reader)
		return ENOMEM;
	reader->tree = tree;
	return 0;
}

void content_reader_destroy(struct content_reader *reader)
{
	if (!reader)
		return;
	for (uint32_t origin = 0; origin < reader->tree->origin_count; origin++)
		if (reader->states[origin])
			reader->tree->origins[origin].contents->destroy(reader->states[origin]);
	free(reader);
}

static errcode_t state_of(struct content_reader *reader, uint32_t origin, void **state)
{
	const struct contents *contents = reader->tree->origins[origin].contents;
	errcode_t error = 0;

	if (!contents)
		return EINVAL;
	if (!reader->states[origin])
		error = contents->create(reader->tree, origin, &reader->states[origin]);
	*state = reader->states[origin];
	return error;
}

errcode_t content_reader_open(struct content_reader *reader, uint32_t node, struct problem *problem)
{
	uint32_t origin = reader->tree->nodes[node].origin;
	errcode_t error = state_of(reader, origin, &reader->state);

	reader->node = node;
	reader->contents = reader->tree->origins[origin].contents;
	if (!error)
		return reader->contents->open(reader->state, node, problem);
	SCOPE_FREE char *path = tree_path(reader->tree, node);

	return problem_set(problem, error, path, "cannot open");
}

errcode_t contents_replaced(const char *path, struct problem *problem)
{
	return problem_set_reason(problem, EBUSY, path, "cannot read", "it is no longer a regular file");
}

errcode_t contents_changed(const char *path, struct problem *problem)
{
	return problem_set_reason(problem, EBUSY, path, "cannot read", "it has been changed meanwhile");
}

errcode_t content_reader_read(struct content_reader *reader, void *bytes, size_t count, uint64_t offset_bytes,
                              struct problem *problem)
{
	errcode_t error = reader->contents->read_at(reader->state, bytes, count, offset_bytes);

	if (!error)
		return 0;
	SCOPE_FREE char *path = tree_path(reader->tree, reader->node);

	if (error == ENODATA && path)
		return problem_set_reason(problem, error, path, "cannot read",
		                          "it has become shorter since it was scanned");
	return error == EISDIR ? contents_replaced(path, problem) : problem_set(problem, error, path, "cannot read");
}

struct content_range content_reader_map(const struct content_reader *reader, uint64_t from_bytes)
{
	struct content_range range;

	reader->contents->map(reader->state, from_bytes, &range);
	return range;
}

void content_reader_release(const struct content_reader *reader, uint64_t offset_bytes, size_t count)
{
	if (reader->contents->release)
		reader->contents->release(reader->state, offset_bytes, count);
}

uint32_t content_reader_flags(const struct content_reader *reader)
{
	return reader->contents->flags ? reader->contents->flags(reader->state) : 0;
}

errcode_t contents_check(const struct tree *tree, struct problem *problem)
{
	for (uint32_t i = 0; i < tree->origin_count; i++) {
		const struct tree_origin *origin = &tree->origins[i];
		errcode_t error =
			origin->contents && origin->contents->check ? origin->contents->check(origin, problem) : 0;

		if (error)
			return error;
	}
	return 0;
}
