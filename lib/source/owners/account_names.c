/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/owners/account_names.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <string.h>
#include <sys/stat.h>

#include "tree/contents.h"
#include "support/bisect.h"
#include "support/vector.h"

/*
 * A layer's author decides how large these files are, so their size is limited. Debian's have some 2 KB; 16 MiB is
 * enough for 200 000 accounts or more. A line holds all members of a group.
 */
#define MOST_BYTES ((uint64_t)16 << 20)
#define MOST_LINE_BYTES ((size_t)1 << 20)

static const char *const file_names[ACCOUNT_KINDS] = { "etc/passwd", "etc/group" };

void account_names_destroy(struct account_names *names)
{
	for (int kind = 0; kind < ACCOUNT_KINDS; kind++)
		free(names->files[kind].list);
	arena_destroy(&names->memory);
}

static errcode_t add_account(struct account_names *names, enum account_kind kind, const char *name, uint32_t id)
{
	struct account_file *file = &names->files[kind];
	errcode_t error = vector_reserve(&file->list, &file->capacity, file->count + 1, sizeof(*file->list));
	const char *copy = arena_copy_string(&names->memory, name, strlen(name));

	if (!error && copy)
		file->list[file->count] = (struct account){ copy, id, (uint32_t)file->count };
	file->count += !error && copy;
	return copy ? error : ENOMEM;
}

/* Orders accounts by name; accounts of the same name keep the file's order. */
static int compare_accounts(const void *one, const void *other)
{
	const struct account *first = one, *second = other;
	int order = strcmp(first->name, second->name);

	return order ? order : first->number < second->number ? -1 : first->number > second->number;
}

static size_t longest_line(const char *text, size_t bytes)
{
	size_t longest = 0;

	while (bytes) {
		const char *end = memchr(text, '\n', bytes);
		size_t line = end ? (size_t)(end - text) + 1 : bytes;

		longest = line > longest ? line : longest;
		text += line;
		bytes -= line;
	}
	return longest;
}

/* Reads the accounts of a file. It skips lines that do not have the form of passwd(5) or group(5). */
static errcode_t parse_accounts(struct account_names *names, enum account_kind kind, char *text, size_t bytes)
{
	/*
	 * Beside the line, the buffer holds a pointer to each member of a group: at most one for every second byte of
	 * the line.
	 */
	const size_t room = 8 * longest_line(text, bytes) + 1024;
	SCOPE_FREE char *buffer = malloc(room);
	SCOPE_FCLOSE FILE *stream = fmemopen(text, bytes, "r");
	errcode_t error = buffer && stream ? 0 : ENOMEM;
	struct passwd user, *found_user;
	struct group group, *found_group;

	while (!error) {
		bool is_user = kind == ACCOUNT_USER;
		uint32_t id;

		error = is_user ? fgetpwent_r(stream, &user, buffer, room, &found_user) :
		                  fgetgrent_r(stream, &group, buffer, room, &found_group);
		if (error)
			break;
		id = is_user ? user.pw_uid : group.gr_gid;
		if (id != UINT32_MAX) /* "no id" to chown(2) */
			error = add_account(names, kind, is_user ? user.pw_name : group.gr_name, id);
	}
	if (error != ENOENT)
		return error;
	if (names->files[kind].count)
		qsort(names->files[kind].list, names->files[kind].count, sizeof(struct account), compare_accounts);
	return 0;
}

static errcode_t read_accounts(struct account_names *names, enum account_kind kind, uint32_t node,
                               struct problem *problem)
{
	const struct tree *tree = names->tree;
	uint64_t bytes = tree->nodes[node].size_bytes;
	SCOPE_FREE char *path = tree_path(tree, node);
	struct content_reader *reader;

	if (bytes > MOST_BYTES)
		return problem_set_reason(problem, EFBIG, path, "cannot look up names", "it has more than %u MiB",
		                          (unsigned int)(MOST_BYTES >> 20));
	SCOPE_FREE char *text = malloc(bytes + 1);
	errcode_t error = text ? content_reader_create(tree, &reader) : ENOMEM;

	if (error)
		return problem_set(problem, error, path, "cannot look up names");
	error = content_reader_open(reader, node, problem);
	if (!error)
		error = content_reader_read(reader, text, bytes, 0, problem);
	content_reader_destroy(reader);
	if (!error && longest_line(text, bytes) > MOST_LINE_BYTES)
		return problem_set_reason(problem, EFBIG, path, "cannot look up names",
		                          "one of its lines has more than %zu MiB", MOST_LINE_BYTES >> 20);
	if (!error)
		error = parse_accounts(names, kind, text, bytes);
	return error ? problem_set(problem, error, path, "cannot look up names") : 0;
}

static errcode_t read_file(struct account_names *names, enum account_kind kind, struct problem *problem)
{
	const struct tree_node *nodes = names->tree->nodes;
	struct account_file *file = &names->files[kind];
	uint32_t node;

	file->is_read = true;
	file->is_there = tree_find_path(names->tree, file_names[kind], &node) && S_ISREG(nodes[node].mode);
	return file->is_there ? read_accounts(names, kind, nodes[node].link_to, problem) : 0;
}

errcode_t account_names_find(struct account_names *names, enum account_kind kind, const char *name, const char *origin,
                             uint32_t *id, struct problem *problem)
{
	struct account_file *file = &names->files[kind];
	errcode_t error = file->is_read ? 0 : read_file(names, kind, problem);

	if (error)
		return error;
	size_t first = BISECT(file->count, index, strcmp(file->list[index].name, name) >= 0);

	if (first < file->count && !strcmp(file->list[first].name, name)) {
		*id = file->list[first].id;
		return 0;
	}
	if (!file->is_there)
		return problem_set_reason(problem, ENOENT, origin, "unknown name",
		                          "\"%s\": the source has no file %s: give a number", name, file_names[kind]);
	return problem_set_reason(problem, ENOENT, origin, "unknown name",
	                          "\"%s\" is not a %s in the source's %s: add it there, or give a number", name,
	                          account_kind_name(kind), file_names[kind]);
}
