/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/exclude.h"

#include <errno.h>
#include <fnmatch.h>
#include <string.h>

#include "support/arena.h"
#include "support/text/text_line.h"
#include "support/vector.h"

enum component_kind { COMPONENT_LITERAL, COMPONENT_GLOB, COMPONENT_ANY_DEPTH };

struct component {
	const char *text;
	size_t bytes;
	enum component_kind kind;
};

struct pattern {
	struct component *components;
	size_t count;
	bool keeps;            /* begins with ! */
	bool directories_only; /* ends in a slash */
	bool has_path;         /* the pattern is a path from the root; false: it is for the name alone */
};

struct exclude {
	struct pattern *patterns;
	size_t count, capacity;
	struct arena memory;
};

errcode_t exclude_create(struct exclude **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : ENOMEM;
}

void exclude_destroy(struct exclude *exclude)
{
	if (!exclude)
		return;
	arena_destroy(&exclude->memory);
	free(exclude->patterns);
	free(exclude);
}

static errcode_t refuse(struct problem *problem, const char *origin, const char *pattern, const char *why)
{
	return problem_set_reason(problem, EINVAL, origin, "bad pattern", "\"%s\" %s", pattern, why);
}

/* True for an odd number of backslashes: the last one has nothing to make literal. */
static bool ends_in_backslash(const char *text, size_t bytes)
{
	size_t count = 0;

	while (count < bytes && text[bytes - 1 - count] == '\\')
		count++;
	return count % 2;
}

static const char *component_problem(const struct component *component)
{
	if (!strcmp(component->text, ".."))
		return "leads out of the source";
	if (ends_in_backslash(component->text, component->bytes))
		return "has a component that ends in a backslash";
	return NULL;
}

/* Cuts text, which it changes, into components; it skips empty ones and ".". */
static void cut(struct pattern *pattern, char *text)
{
	char *rest = text;

	for (char *word = strsep(&rest, "/"); word; word = strsep(&rest, "/")) {
		struct component *component = &pattern->components[pattern->count];

		if (!*word || !strcmp(word, "."))
			continue;
		*component = (struct component){ .text = word, .bytes = strlen(word) };
		if (!strcmp(word, "**"))
			component->kind = COMPONENT_ANY_DEPTH;
		else if (strpbrk(word, "*?[\\"))
			component->kind = COMPONENT_GLOB;
		pattern->count++;
	}
	/* A ** at the end stands for at least one component. */
	if (pattern->count && pattern->components[pattern->count - 1].kind == COMPONENT_ANY_DEPTH)
		pattern->components[pattern->count++] =
			(struct component){ .text = "*", .bytes = 1, .kind = COMPONENT_GLOB };
}

errcode_t exclude_add(struct exclude *exclude, const char *text, const char *origin, struct problem *problem)
{
	struct pattern pattern = { .keeps = *text == '!' };
	const char *body = text + pattern.keeps;
	size_t bytes = strlen(body);
	const char *slash = strchr(body, '/');

	pattern.directories_only = bytes && body[bytes - 1] == '/';
	pattern.has_path = slash && slash + 1 < body + bytes;
	char *copy = arena_copy_string(&exclude->memory, body, bytes);

	pattern.components = arena_alloc(&exclude->memory, (bytes / 2 + 2) * sizeof(*pattern.components));
	if (!copy || !pattern.components)
		return problem_set(problem, ENOMEM, origin, "cannot add pattern");
	cut(&pattern, copy);
	if (!pattern.count)
		return refuse(problem, origin, text, "names nothing");
	for (size_t i = 0; i < pattern.count; i++) {
		const char *why = component_problem(&pattern.components[i]);

		if (why)
			return refuse(problem, origin, text, why);
	}
	errcode_t error =
		vector_reserve(&exclude->patterns, &exclude->capacity, exclude->count + 1, sizeof(*exclude->patterns));

	if (error)
		return problem_set(problem, error, origin, "cannot add pattern");
	exclude->patterns[exclude->count++] = pattern;
	return 0;
}

static errcode_t add_line(void *exclude, const char *origin, char *line, size_t bytes, struct problem *problem)
{
	if (bytes && line[bytes - 1] == '\n')
		line[--bytes] = '\0';
	if (!bytes || *line == '#')
		return 0;
	if (strlen(line) != bytes)
		return refuse(problem, origin, line, "is followed by a NUL");
	return exclude_add(exclude, line, origin, problem);
}

errcode_t exclude_add_file(struct exclude *exclude, const char *path, struct problem *problem)
{
	return text_line_each(path, add_line, exclude, problem);
}

/* Compares the component that begins at `at`. It ends at the next slash or at the string's end. */
static bool component_matches(const struct component *component, const char *at)
{
	if (component->kind == COMPONENT_LITERAL)
		return !strncmp(at, component->text, component->bytes) &&
		       (at[component->bytes] == '/' || !at[component->bytes]);
	return !fnmatch(component->text, at, FNM_PATHNAME | FNM_LEADING_DIR);
}

/* Returns the next component before end; NULL if there is none. */
static const char *next_component(const char *at, const char *end)
{
	while (at < end && *at != '/')
		at++;
	return at < end ? at + 1 : NULL;
}

/*
 * Each ** first stands for no component at all, and takes one more whenever the rest of the pattern fails. Then the
 * previous ** need not be tried again: the later one can take all that the previous one could.
 */
static bool path_matches(const struct pattern *pattern, const char *path, const char *end)
{
	const struct component *component = pattern->components, *last = component + pattern->count;
	const struct component *after_depth = NULL;
	const char *at = path, *depth_at = NULL;

	while (at) {
		if (component < last && component->kind == COMPONENT_ANY_DEPTH) {
			after_depth = ++component;
			depth_at = at;
		} else if (component < last && component_matches(component, at)) {
			component++;
			at = next_component(at, end);
		} else if (after_depth) {
			component = after_depth;
			at = depth_at = next_component(depth_at, end);
		} else {
			return false;
		}
	}
	return component == last;
}

/* True if a pattern leaves out the path up to end, which points at a slash or at the string's end. */
static bool is_left_out(const struct exclude *exclude, const char *path, const char *end, bool is_directory)
{
	const char *name = end;

	while (name > path && name[-1] != '/')
		name--;
	for (size_t i = exclude->count; i--;) {
		const struct pattern *pattern = &exclude->patterns[i];

		if (pattern->directories_only && !is_directory)
			continue;
		if (path_matches(pattern, pattern->has_path ? path : name, end))
			return !pattern->keeps;
	}
	return false;
}

bool exclude_matches(const struct exclude *exclude, const char *path, bool is_directory)
{
	return is_left_out(exclude, path, path + strlen(path), is_directory);
}

bool exclude_covers(const struct exclude *exclude, const char *path, bool is_directory)
{
	for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/'))
		if (is_left_out(exclude, path, slash, true))
			return true;
	return exclude_matches(exclude, path, is_directory);
}
