/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/mtree/mtree.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "support/text/text_line.h"
#include "support/vector.h"

static const char blanks[] = " \t\r\n";

struct parser {
	const char *path;
	mtree_visit visit;
	void *context;
	struct mtree_entry defaults; /* from /set */
	struct arena memory;         /* memory of the defaults */
	struct mtree_entry entry;    /* the line's entry; all lines reuse its path and its xattrs' array */
	char *entry_path;
	size_t entry_path_capacity;
	char *current; /* the directory of names without a slash: "", or a path that ends in a slash */
	unsigned long line;
	struct problem *problem;
};

static errcode_t fail(const struct parser *parser, errcode_t error, const char *word, const char *why)
{
	return text_line_problem(parser->problem, error, parser->path, parser->line, "cannot read manifest", word,
	                         error == EINVAL ? why : NULL);
}

/* Reads the keywords of a line into the entry. It cuts the line into words, and the entry then points into them. */
static errcode_t read_keywords(const struct parser *parser, struct mtree_entry *entry, char *words)
{
	unsigned int own = 0;
	char *state = NULL;

	for (char *word = strtok_r(words, blanks, &state); word; word = strtok_r(NULL, blanks, &state)) {
		char *value = strchr(word, '=');
		/* mtree_read_keyword() changes the value while it reads it, so the message shows a copy. */
		SCOPE_FREE char *shown = strdup(word);

		if (!shown)
			return fail(parser, ENOMEM, NULL, NULL);
		if (value)
			*value++ = '\0';
		const char *why = mtree_read_keyword(entry, &own, word, value);

		if (why)
			return fail(parser, EINVAL, shown, why);
	}
	return 0;
}

static errcode_t forget_keywords(struct parser *parser, char *words)
{
	char *state = NULL;

	for (char *word = strtok_r(words, blanks, &state); word; word = strtok_r(NULL, blanks, &state))
		if (!mtree_forget(&parser->defaults, word))
			return fail(parser, EINVAL, word, "is not a keyword of mtree(5)");
	return 0;
}

static errcode_t read_special(struct parser *parser, const char *name, char *rest)
{
	if (!strcmp(name, "/unset"))
		return forget_keywords(parser, rest);
	if (strcmp(name, "/set"))
		return fail(parser, EINVAL, name, "is neither /set nor /unset, and paths do not begin with a slash");
	char *copy = arena_copy_string(&parser->memory, rest, strlen(rest));
	errcode_t error = copy ? read_keywords(parser, &parser->defaults, copy) : fail(parser, ENOMEM, NULL, NULL);

	if (error)
		return error;
	if (parser->defaults.xattr_count)
		return fail(parser, EINVAL, name, "cannot give extended attributes");
	return 0;
}

/*
 * Joins directory and name into one path without "." and empty components. EINVAL: the path has "..", or a component
 * that is too long.
 */
static errcode_t join(struct parser *parser, const char *directory, const char *name)
{
	errcode_t error = vector_reserve(&parser->entry_path, &parser->entry_path_capacity,
	                                 strlen(directory) + strlen(name) + 2, 1);

	if (error)
		return error;
	char *path = parser->entry_path, *to = stpcpy(path, directory);

	while (*name) {
		size_t bytes = strcspn(name, "/");
		bool is_nothing = !bytes || (bytes == 1 && *name == '.');

		if (bytes > NAME_MAX || (bytes == 2 && !memcmp(name, "..", 2)))
			return EINVAL;
		if (!is_nothing) {
			if (to > path && to[-1] != '/')
				*to++ = '/';
			memcpy(to, name, bytes);
			to += bytes;
		}
		name += bytes;
		name += *name == '/';
	}
	if (to > path && to[-1] == '/')
		to--;
	*to = '\0';
	return 0;
}

/* Makes path the current directory of the lines that follow: "" stays "", "a/b" becomes "a/b/". */
static errcode_t enter(struct parser *parser, const char *path)
{
	char *current = NULL;

	if (asprintf(&current, "%s%s", path, *path ? "/" : "") < 0)
		return fail(parser, ENOMEM, NULL, NULL);
	free(parser->current);
	parser->current = current;
	return 0;
}

/* Manifests of the old style end with ".." at the root. */
static void leave(struct parser *parser)
{
	size_t bytes = strlen(parser->current);

	if (bytes)
		bytes--;
	while (bytes && parser->current[bytes - 1] != '/')
		bytes--;
	parser->current[bytes] = '\0';
}

static errcode_t read_entry(struct parser *parser, char *name, char *rest)
{
	struct mtree_entry *entry = &parser->entry;
	struct tree_xattr *xattrs = entry->xattrs;
	size_t xattr_capacity = entry->xattr_capacity;
	bool is_whole = strchr(name, '/');
	SCOPE_FREE char *shown = strdup(name);

	if (!shown)
		return fail(parser, ENOMEM, NULL, NULL);
	if (!mtree_decode(name))
		return fail(parser, EINVAL, shown, "is not a name as vis(3) writes it");
	errcode_t error = join(parser, is_whole ? "" : parser->current, name);

	if (error)
		return fail(parser, error, shown, "is not a path below the root");
	*entry = parser->defaults;
	entry->xattrs = xattrs;
	entry->xattr_capacity = xattr_capacity;
	entry->path = parser->entry_path;
	entry->line = parser->line;
	error = read_keywords(parser, entry, rest);
	if (!error && !is_whole && (entry->given & MTREE_TYPE) && entry->type == S_IFDIR)
		error = enter(parser, entry->path);
	return error ? error : parser->visit(parser->context, entry, parser->problem);
}

/* Reads one line. The line has room for a NUL after it, and is changed. */
static errcode_t read_line(struct parser *parser, char *line, size_t bytes)
{
	line[bytes] = '\0';
	if (strlen(line) != bytes)
		return fail(parser, EINVAL, line, "is followed by a NUL");
	char *name = line + strspn(line, blanks);
	char *rest = name + strcspn(name, blanks);

	if (!*name || *name == '#')
		return 0;
	if (*rest)
		*rest++ = '\0';
	if (*name == '/')
		return read_special(parser, name, rest);
	if (!strcmp(name, "..")) {
		leave(parser);
		return 0;
	}
	return read_entry(parser, name, rest);
}

/* Returns the bytes of a line without its line end. */
static size_t trimmed(const char *line, size_t bytes)
{
	while (bytes && (line[bytes - 1] == '\n' || line[bytes - 1] == '\r'))
		bytes--;
	return bytes;
}

static errcode_t parse(struct parser *parser, FILE *file)
{
	SCOPE_FREE char *line = NULL, *whole = NULL;
	size_t line_capacity = 0, whole_capacity = 0, whole_bytes = 0, got;
	unsigned long number = 0;

	for (;;) {
		errcode_t error = text_line_read(file, &line, &line_capacity, &got);

		if (error)
			return error;
		if (!got)
			return whole_bytes ? read_line(parser, whole, whole_bytes) : 0;
		size_t bytes = trimmed(line, got);
		bool continues = bytes && line[bytes - 1] == '\\';

		number++;
		if (!whole_bytes)
			parser->line = number;
		bytes -= continues;
		error = whole_bytes + bytes > TEXT_LINE_MOST_BYTES ?
		                EFBIG :
		                vector_reserve(&whole, &whole_capacity, whole_bytes + bytes + 2, 1);
		if (error)
			return fail(parser, error, NULL, NULL);
		memcpy(whole + whole_bytes, line, bytes);
		whole_bytes += bytes;
		/* A blank keeps a line that is only a backslash from being taken for no line. */
		if (continues) {
			whole[whole_bytes++] = ' ';
			continue;
		}
		error = read_line(parser, whole, whole_bytes);
		if (error)
			return error;
		whole_bytes = 0;
	}
}

errcode_t mtree_read(FILE *file, const char *path, mtree_visit visit, void *context, struct problem *problem)
{
	struct parser parser = {
		.path = path, .visit = visit, .context = context, .current = strdup(""), .problem = problem
	};
	errcode_t error = parser.current ? parse(&parser, file) : fail(&parser, ENOMEM, NULL, NULL);

	free(parser.current);
	free(parser.entry_path);
	free(parser.entry.xattrs);
	free(parser.defaults.xattrs);
	arena_destroy(&parser.memory);
	return error;
}

static size_t line_end(const char *bytes, size_t count, size_t at)
{
	const char *end = at < count ? memchr(bytes + at, '\n', count - at) : NULL;

	return end ? (size_t)(end - bytes) : count;
}

/* Returns the first line that is not a comment, with the lines that continue it; *count becomes its length. */
static const char *first_line(const char *bytes, size_t *count)
{
	size_t at = 0, end;

	for (; at < *count; at = line_end(bytes, *count, at)) {
		while (at < *count && isspace((unsigned char)bytes[at]))
			at++;
		if (at < *count && bytes[at] != '#')
			break;
	}
	if (at >= *count)
		return NULL;
	end = line_end(bytes, *count, at);
	while (end < *count && bytes[end - 1] == '\\')
		end = line_end(bytes, *count, end + 1);
	*count = end - at;
	return bytes + at;
}

bool mtree_recognize(const char *bytes, size_t count)
{
	static const char signature[] = "#mtree", set[] = "/set";

	if (count >= strlen(signature) && !memcmp(bytes, signature, strlen(signature)))
		return true;
	if (!count || memchr(bytes, '\0', count))
		return false;
	const char *line = first_line(bytes, &count);

	if (!line)
		return false;
	if (count > strlen(set) && !memcmp(line, set, strlen(set)) && isblank((unsigned char)line[strlen(set)]))
		return true;
	const char *type = memmem(line, count, "type=", strlen("type="));

	return type > line && isspace((unsigned char)type[-1]);
}
