/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "text_tree.h"

#include <string.h>
#include <sys/stat.h>

#include "assertions.h"
#include "source/host/host_contents.h"
#include "tree/xattr_table.h"
#include "support/vector.h"
#include "tree_check.h"

#define MOST_XATTRS 8

struct line {
	char kind;
	unsigned int uid;
	char path[TEXT_TREE_PATH_BYTES];
	char other[TEXT_TREE_PATH_BYTES];
	struct tree_xattr xattrs[MOST_XATTRS];
	uint32_t xattr_count;
	size_t file;   /* the line of a hard link's file, else its own */
	uint32_t node; /* of the first line of a file: its first node */
};

struct lines {
	struct line *list;
	size_t count, capacity;
};

int text_tree_compare_paths(const char *one, const char *other)
{
	for (;;) {
		size_t first = strcspn(one, "/"), second = strcspn(other, "/");
		bool one_is_deeper = one[first], other_is_deeper = other[second];

		/* What lies in a directory comes before what lies further down in it. */
		if (one_is_deeper != other_is_deeper)
			return one_is_deeper ? 1 : -1;
		size_t common = first < second ? first : second;
		int order = memcmp(one, other, common);

		if (order || first != second)
			return order ? order : first < second ? -1 : 1;
		if (!one_is_deeper)
			return 0;
		one += first + 1;
		other += second + 1;
	}
}

static int compare_lines(const void *one, const void *other)
{
	const struct line *first = *(const struct line *const *)one, *second = *(const struct line *const *)other;

	return text_tree_compare_paths(first->path, second->path);
}

static int compare_xattrs(const void *one, const void *other)
{
	return strcmp(((const struct tree_xattr *)one)->name, ((const struct tree_xattr *)other)->name);
}

static void parse_line(struct lines *lines, struct tree *tree, char *text)
{
	char *rest, *word;

	ck_assert_int_eq(vector_reserve(&lines->list, &lines->capacity, lines->count + 1, sizeof(*lines->list)), 0);
	struct line *line = &lines->list[lines->count];

	*line = (struct line){ .kind = text[0], .uid = (unsigned int)strtoul(text + 1, NULL, 10) };
	line->file = lines->count++;
	strtok_r(text, " ", &rest);
	word = strtok_r(NULL, " ", &rest);
	ck_assert_ptr_nonnull(word);
	strcpy(line->path, word);
	if (line->kind == 's' || line->kind == 'h')
		strcpy(line->other, strtok_r(NULL, " ", &rest));
	for (size_t i = 0; line->kind == 'h' && i < lines->count; i++)
		if (!strcmp(lines->list[i].path, line->other))
			line->file = lines->list[i].file;
	while ((word = strtok_r(NULL, " ", &rest))) {
		char *value = strchr(word, '=');

		ck_assert(value && line->xattr_count < MOST_XATTRS);
		*value++ = '\0';
		line->xattrs[line->xattr_count++] = (struct tree_xattr){
			arena_copy_string(&tree->memory, word, strlen(word)),
			arena_copy_string(&tree->memory, value, strlen(value)),
			(uint32_t)strlen(value),
		};
	}
	qsort(line->xattrs, line->xattr_count, sizeof(line->xattrs[0]), compare_xattrs);
}

static void parse(struct lines *lines, struct tree *tree, const char *text)
{
	SCOPE_FREE char *copy = strdup(text);
	char *rest;
	bool has_root = false;

	for (char *line = strtok_r(copy, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		parse_line(lines, tree, line);
		has_root = has_root || !strcmp(lines->list[lines->count - 1].path, ".");
	}
	char root[] = "d0 .";

	if (!has_root)
		parse_line(lines, tree, root);
	for (size_t i = 0; i < lines->count; i++)
		if (!strcmp(lines->list[i].path, "."))
			lines->list[i].path[0] = '\0';
}

static void fill_node(struct tree *tree, struct tree_node *node, const struct line *line)
{
	static const struct {
		char kind;
		uint16_t mode;
	} modes[] = { { 'd', S_IFDIR | 0755 }, { 'i', S_IFDIR | 0755 }, { 'f', S_IFREG | 0644 }, { 'e', S_IFREG },
		      { 's', S_IFLNK | 0777 }, { 'c', S_IFCHR | 0600 }, { 'w', S_IFCHR } };

	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		if (modes[i].kind == line->kind)
			node->mode = modes[i].mode;
	node->uid = line->uid;
	node->is_implied = line->kind == 'i';
	if (line->kind == 'f')
		node->size_bytes = line->uid;
	if (line->kind == 'c') {
		node->device.major = 5;
		node->device.minor = line->uid;
	}
	if (line->kind == 's') {
		node->size_bytes = strlen(line->other);
		node->target = arena_copy_string(&tree->memory, line->other, node->size_bytes);
	}
}

/* The node of the directory that a path lies in; node 0 is the empty path. */
static uint32_t find_parent(const struct line *const *sorted, uint32_t count, const char *path)
{
	char parent[TEXT_TREE_PATH_BYTES];
	const char *slash = strrchr(path, '/');

	snprintf(parent, sizeof(parent), "%.*s", slash ? (int)(slash - path) : 0, path);
	for (uint32_t i = 0; i < count; i++)
		if (!strcmp(sorted[i]->path, parent))
			return i;
	ck_abort_msg("%s: no parent", path);
	return 0;
}

static void add_node(struct tree *tree, struct line *const *sorted, struct line *lines, uint32_t number)
{
	struct line *line = sorted[number], *file = &lines[line->file];
	const char *slash = strrchr(line->path, '/'), *name = slash ? slash + 1 : line->path;
	struct tree_node *node = &tree->nodes[number];

	fill_node(tree, node, file);
	node->name = arena_copy_string(&tree->memory, name, strlen(name));
	node->name_bytes = (uint8_t)strlen(name);
	node->parent = find_parent((const struct line *const *)sorted, number ? number : 1, line->path);
	node->link_to = number;
	node->links = S_ISDIR(node->mode) ? 2 : 1;
	if (number != TREE_ROOT) {
		struct tree_node *parent = &tree->nodes[node->parent];

		parent->first_child = parent->child_count ? parent->first_child : number;
		parent->child_count++;
		parent->links += S_ISDIR(node->mode);
	}
	if (S_ISDIR(node->mode))
		return;
	if (file->node) {
		node->link_to = file->node;
		node->links = 0;
		tree->nodes[file->node].links++;
	} else {
		file->node = number;
	}
}

static void add_xattrs(struct tree *tree, struct line *const *sorted, const struct line *lines)
{
	struct xattr_table *table;
	struct xattr_table_memory last = { 0 };

	ck_assert_int_eq(xattr_table_create(&table), 0);
	for (uint32_t i = 0; i < tree->node_count; i++) {
		const struct line *file = &lines[sorted[i]->file];

		ck_assert_int_eq(
			xattr_table_intern(table, file->xattrs, file->xattr_count, &last, &tree->nodes[i].xattrs), 0);
	}
	ck_assert_int_eq(xattr_table_finish(table, tree), 0);
	xattr_table_destroy(table);
}

struct tree *text_tree(const char *origin, const char *text)
{
	struct tree *tree = calloc(1, sizeof(*tree));
	struct lines lines = { 0 };
	uint32_t number;
	char why[200] = "";

	parse(&lines, tree, text);
	SCOPE_FREE struct line **sorted = malloc(lines.count * sizeof(struct line *));

	for (size_t i = 0; i < lines.count; i++)
		sorted[i] = &lines.list[i];
	/* The root has the least path. */
	qsort(sorted, lines.count, sizeof(struct line *), compare_lines);
	tree->node_count = (uint32_t)lines.count;
	tree->nodes = calloc(lines.count, sizeof(*tree->nodes));
	for (uint32_t i = 0; i < tree->node_count; i++)
		add_node(tree, sorted, lines.list, i);
	add_xattrs(tree, sorted, lines.list);
	free(lines.list);
	ck_assert_int_eq(host_contents_add(tree, origin, -1, false, &number), 0);
	ck_assert_msg(tree_check(tree, why, sizeof(why)), "%s of\n%s", why, text);
	return tree;
}

/* The path below the root, without the origin's. */
static char *path_of(const struct tree *tree, uint32_t node)
{
	SCOPE_FREE char *whole = tree_path(tree, node);
	size_t origin_bytes = strlen(tree->origins[tree->nodes[node].origin].path);

	return strdup(node == TREE_ROOT ? "." : whole + origin_bytes + 1);
}

static char kind_of(const struct tree *tree, uint32_t number)
{
	const struct tree_node *node = &tree->nodes[number];

	if (tree_node_is_link(tree, number))
		return 'h';
	if (S_ISDIR(node->mode))
		return node->is_implied ? 'i' : 'd';
	if (S_ISREG(node->mode))
		return node->size_bytes ? 'f' : 'e';
	if (S_ISLNK(node->mode))
		return 's';
	return node->device.major ? 'c' : 'w';
}

char *tree_text(const struct tree *tree)
{
	char *text = NULL;
	size_t bytes;
	FILE *stream = open_memstream(&text, &bytes);

	for (uint32_t i = 0; i < tree->node_count; i++) {
		const struct tree_node *node = &tree->nodes[i];
		const struct tree_xattr_set *set = &tree->xattr_sets[node->xattrs];
		SCOPE_FREE char *path = path_of(tree, i);
		SCOPE_FREE char *first = path_of(tree, node->link_to);
		char kind = kind_of(tree, i);

		fprintf(stream, "%c%u %s", kind, node->uid, path);
		if (kind == 'h' || kind == 's')
			fprintf(stream, " %s", kind == 'h' ? first : node->target);
		for (uint32_t k = 0; k < set->count; k++)
			fprintf(stream, " %s=%.*s", set->list[k].name, (int)set->list[k].value_bytes,
			        (const char *)set->list[k].value);
		fputc('\n', stream);
	}
	fclose(stream);
	return text;
}

void text_tree_expect(const struct tree *tree, const char *expected)
{
	char why[200] = "";

	ck_assert_msg(tree_check(tree, why, sizeof(why)), "%s", why);
	SCOPE_FREE char *text = tree_text(tree);

	ck_assert_msg(!strcmp(text, expected), "should be:\n%sis:\n%s", expected, text);
}
