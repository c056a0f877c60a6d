/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/owners/account_names.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "source/host/content_reader.h"
#include "support/text/units.h"

/* Debian's has some 2 KB; one of this size is no list of accounts. */
#define MOST_BYTES ((uint64_t)64 << 20)

struct account_file {
	bool is_read;
	char *text; /* NUL-terminated; NULL: the tree has no such file */
};

struct account_names {
	const struct tree *tree;
	struct account_file files[ACCOUNT_KINDS];
};

static const char *const file_names[ACCOUNT_KINDS] = { "etc/passwd", "etc/group" };
static const char *const kind_names[ACCOUNT_KINDS] = { "user", "group" };

errcode_t account_names_create(const struct tree *tree, struct account_names **ret)
{
	*ret = calloc(1, sizeof(**ret));
	if (*ret)
		(*ret)->tree = tree;
	return *ret ? 0 : ENOMEM;
}

void account_names_destroy(struct account_names *names)
{
	if (!names)
		return;
	for (int kind = 0; kind < ACCOUNT_KINDS; kind++)
		free(names->files[kind].text);
	free(names);
}

static errcode_t read_text(const struct tree *tree, uint32_t node, char **ret, struct problem *problem)
{
	uint64_t bytes = tree->nodes[node].size_bytes;
	SCOPE_FREE char *path = tree_path(tree, node);
	struct content_reader *reader;

	if (bytes > MOST_BYTES)
		return problem_set(problem, EFBIG, path, "cannot look up names");
	SCOPE_FREE char *text = malloc(bytes + 1);
	errcode_t error = text ? content_reader_create(tree, &reader) : ENOMEM;

	if (error)
		return problem_set(problem, error, path, "cannot look up names");
	error = content_reader_open(reader, node, problem);
	if (!error)
		error = content_reader_read(reader, text, bytes, 0, problem);
	content_reader_destroy(reader);
	if (error)
		return error;
	text[bytes] = '\0';
	*ret = TAKE(text);
	return 0;
}

static errcode_t read_file(struct account_names *names, enum account_kind kind, struct problem *problem)
{
	const struct tree *tree = names->tree;
	uint32_t node;

	names->files[kind].is_read = true;
	if (!tree_find_path(tree, file_names[kind], &node) || !S_ISREG(tree->nodes[node].mode))
		return 0;
	return read_text(tree, tree->nodes[node].link_to, &names->files[kind].text, problem);
}

/* name:password:id[:...]; false where the line is not of that form. */
static bool read_id(const char *line, size_t line_bytes, uint32_t *id)
{
	SCOPE_FREE char *copy = strndup(line, line_bytes);
	uint64_t number;

	if (!copy)
		return false;
	char *rest = copy;

	strsep(&rest, ":");
	strsep(&rest, ":");
	const char *field = strsep(&rest, ":");

	if (!field || units_parse_number(field, 0, UINT32_MAX - 1, &number))
		return false;
	*id = (uint32_t)number;
	return true;
}

static bool find_line(const char *text, const char *name, uint32_t *id)
{
	size_t bytes = strlen(name);

	while (text && *text) {
		size_t line_bytes = strcspn(text, "\n");

		if (line_bytes > bytes && !memcmp(text, name, bytes) && text[bytes] == ':' &&
		    read_id(text, line_bytes, id))
			return true;
		text += line_bytes + (text[line_bytes] == '\n');
	}
	return false;
}

errcode_t account_names_find(struct account_names *names, enum account_kind kind, const char *name, const char *origin,
                             uint32_t *id, struct problem *problem)
{
	struct account_file *file = &names->files[kind];
	errcode_t error = file->is_read ? 0 : read_file(names, kind, problem);

	if (error)
		return error;
	if (find_line(file->text, name, id))
		return 0;
	if (!file->text)
		return problem_set_reason(problem, ENOENT, origin, "unknown name",
		                          "\"%s\": the source has no file %s", name, file_names[kind]);
	return problem_set_reason(problem, ENOENT, origin, "unknown name", "\"%s\" is no %s in the source's %s",
	                          name, kind_names[kind], file_names[kind]);
}
