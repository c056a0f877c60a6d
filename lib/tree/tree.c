/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/tree.h"

#include <errno.h>
#include <string.h>

#include "support/bisect.h"
#include "tree/contents.h"

/* A long name is shown with this many bytes of its beginning, and as many of its end. */
#define SHOWN_BYTES 100

char *path_text(const char *root_path, ascend_step step, const void *tree, uint32_t number, const char *name)
{
	size_t root_bytes = strlen(root_path);

	if (number == ASCEND_ROOT && !name)
		return strdup(root_path);
	/* "/" and "dir/" already end in a slash. */
	while (root_bytes && root_path[root_bytes - 1] == '/')
		root_bytes--;
	const struct ascent last = name ? (struct ascent){ name, (uint32_t)strlen(name), number } : step(tree, number);
	struct ascent up = last;
	size_t bytes = up.name_bytes + 1;

	while (up.parent != ASCEND_ROOT) {
		up = step(tree, up.parent);
		bytes += up.name_bytes + 1;
	}
	char *text = malloc(root_bytes + bytes + 1);

	if (!text)
		return NULL;
	char *end = text + root_bytes + bytes;

	*end = '\0';
	for (up = last;; up = step(tree, up.parent)) {
		end -= up.name_bytes;
		memcpy(end, up.name, up.name_bytes);
		*--end = '/';
		if (up.parent == ASCEND_ROOT)
			break;
	}
	memcpy(text, root_path, root_bytes);
	return text;
}

char *path_shown(const char *path)
{
	const size_t bytes = strlen(path);
	char *shown;

	if (bytes <= 3 * SHOWN_BYTES)
		return strdup(path);
	return asprintf(&shown, "%.*s...%s", SHOWN_BYTES, path, path + bytes - SHOWN_BYTES) < 0 ? NULL : shown;
}

char *path_from(const char *directory, const char *path)
{
	size_t bytes = strlen(directory);
	char *text;

	if (*path == '/')
		return strdup(path);
	return asprintf(&text, "%s%s%s", directory, bytes && directory[bytes - 1] == '/' ? "" : "/", path) < 0 ? NULL :
	                                                                                                         text;
}

struct ascent tree_ascend(const void *tree, uint32_t number)
{
	const struct tree_node *nodes = ((const struct tree *)tree)->nodes, *node = &nodes[number];

	if (nodes[node->parent].is_encrypted)
		return (struct ascent){ ENCRYPTED_NAME_TEXT, sizeof(ENCRYPTED_NAME_TEXT) - 1, node->parent };
	return (struct ascent){ node->name, node->name_bytes, node->parent };
}

void tree_destroy(struct tree *tree)
{
	if (!tree)
		return;
	arena_destroy(&tree->memory);
	free(tree->nodes);
	free(tree->xattr_sets);
	free(tree->details);
	for (uint32_t i = 0; i < tree->origin_count; i++) {
		free(tree->origins[i].path);
		if (tree->origins[i].contents)
			tree->origins[i].contents->close(tree->origins[i].data);
	}
	free(tree->origins);
	free(tree);
}

errcode_t tree_add_origin(struct tree *tree, const struct contents *contents, void *data, const char *path,
                          uint32_t *number)
{
	struct tree_origin *origins = realloc(tree->origins, (tree->origin_count + 1ul) * sizeof(*origins));
	char *copy = strdup(path);

	if (origins)
		tree->origins = origins;
	if (!origins || !copy) {
		free(copy);
		if (contents)
			contents->close(data);
		return ENOMEM;
	}
	origins[tree->origin_count] = (struct tree_origin){ .contents = contents, .data = data, .path = copy };
	*number = tree->origin_count++;
	return 0;
}

bool tree_xattr_is_kept(const char *name)
{
	return !strncmp(name, "user.", 5) || !strncmp(name, "trusted.", 8) || !strncmp(name, "security.", 9) ||
	       !strcmp(name, "system.posix_acl_access") || !strcmp(name, "system.posix_acl_default");
}

int tree_xattr_compare(const void *one, const void *other)
{
	return strcmp(((const struct tree_xattr *)one)->name, ((const struct tree_xattr *)other)->name);
}

static int compare_name(const struct tree_node *node, const char *name, size_t bytes)
{
	return tree_name_compare(node->name, node->name_bytes, name, bytes);
}

uint32_t tree_first_from(const struct tree *tree, uint32_t low, uint32_t high, const char *name, size_t bytes)
{
	return low + (uint32_t)BISECT(high - low, index, compare_name(&tree->nodes[low + index], name, bytes) >= 0);
}

uint32_t tree_find_among(const struct tree *tree, uint32_t start, uint32_t end, const char *name, size_t bytes)
{
	uint32_t node = tree_first_from(tree, start, end, name, bytes);

	return node < end && !compare_name(&tree->nodes[node], name, bytes) ? node : TREE_ROOT;
}

uint32_t tree_find(const struct tree *tree, uint32_t directory, const char *name, size_t bytes)
{
	uint32_t start = tree->nodes[directory].first_child;

	return tree_find_among(tree, start, start + tree->nodes[directory].child_count, name, bytes);
}

bool tree_find_path(const struct tree *tree, const char *path, uint32_t *node)
{
	*node = TREE_ROOT;
	for (path += strspn(path, "/"); *path; path += strspn(path, "/")) {
		size_t bytes = strcspn(path, "/");

		*node = tree_find(tree, *node, path, bytes);
		if (*node == TREE_ROOT)
			return false;
		path += bytes;
	}
	return true;
}

errcode_t tree_fix_contents(struct tree *tree, uint32_t number)
{
	const struct contents *contents = tree->origins[tree->nodes[number].origin].contents;

	return contents && contents->fix ? contents->fix(tree, number) : 0;
}

char *tree_path(const struct tree *tree, uint32_t node)
{
	const struct tree_origin *origin = &tree->origins[tree->nodes[node].origin];

	return origin->contents ? origin->contents->path(tree, node) :
	                          path_text(origin->path, tree_ascend, tree, node, NULL);
}
