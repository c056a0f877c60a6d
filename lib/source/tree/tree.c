/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/tree/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "source/unpack/unpacked_store.h"
#include "support/bisect.h"

/* Of the beginning, and of the end. */
#define SHOWN_BYTES 100

char *path_text(const char *root_path, ascend_step step, const void *tree, uint32_t number, const char *name)
{
	size_t root_bytes = strlen(root_path);

	if (number == ASCEND_ROOT && !name)
		return strdup(root_path);
	/* "/" and "dir/" bring their own slash. */
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
	const struct tree_node *node = &((const struct tree *)tree)->nodes[number];

	return (struct ascent){ node->name, node->name_bytes, node->parent };
}

void tree_destroy(struct tree *tree)
{
	if (!tree)
		return;
	arena_destroy(&tree->memory);
	free(tree->nodes);
	free(tree->xattr_sets);
	for (uint32_t i = 0; i < tree->origin_count; i++) {
		free(tree->origins[i].path);
		cleanup_close_descriptor(&tree->origins[i].descriptor);
		unpacked_store_destroy(tree->origins[i].unpacked);
	}
	free(tree->origins);
	free(tree);
}

errcode_t tree_add_origin(struct tree *tree, enum tree_origin_kind kind, const char *path, int descriptor,
                          uint32_t *number)
{
	SCOPE_CLOSE int owned = descriptor;
	struct stat status = { 0 };

	if (descriptor >= 0 && fstat(descriptor, &status))
		return errno;
	struct tree_origin *origins = realloc(tree->origins, (tree->origin_count + 1ul) * sizeof(*origins));
	char *copy = strdup(path);

	if (origins)
		tree->origins = origins;
	if (!origins || !copy) {
		free(copy);
		return ENOMEM;
	}
	origins[tree->origin_count] = (struct tree_origin){
		.kind = kind,
		.path = copy,
		.descriptor = descriptor,
		.version = file_version_of(&status),
	};
	owned = -1;
	*number = tree->origin_count++;
	return 0;
}

void tree_close_origin(struct tree_origin *origin, bool is_opened_late)
{
	cleanup_close_descriptor(&origin->descriptor);
	origin->descriptor = -1;
	origin->is_opened_late = is_opened_late;
	origin->is_changeable = is_opened_late;
}

bool tree_is_of_host(const struct tree *tree, const struct tree_node *node)
{
	const struct tree_origin *origin = &tree->origins[node->origin];
	uint32_t first = node->origin;

	while (first && tree->origins[first - 1].source == origin->source)
		first--;
	return tree->origins[first].kind == TREE_ORIGIN_DIRECTORY;
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

/* As if a NUL followed the name. */
static int compare_name(const struct tree_node *node, const char *name, size_t bytes)
{
	int order = memcmp(node->name, name, bytes < node->name_bytes ? bytes : node->name_bytes);

	return order ? order : node->name_bytes < bytes ? -1 : node->name_bytes > bytes;
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

char *tree_host_path(const struct tree *tree, uint32_t node)
{
	return path_from(tree->origins[tree->nodes[node].origin].path, tree->nodes[node].data_map->host_path);
}

errcode_t tree_add_files_origin(struct tree *tree, uint32_t like, uint32_t *ret)
{
	const uint32_t source = tree->origins[like].source;
	int directory = fcntl(tree->origins[like].descriptor, F_DUPFD_CLOEXEC, 0);
	errcode_t error = directory < 0 ?
	                          errno :
	                          tree_add_origin(tree, TREE_ORIGIN_FILES, tree->origins[like].path, directory, ret);

	if (!error)
		tree->origins[*ret].source = source;
	return error;
}

/* The origin of the same source whose files have paths of their own, on which no symlink is followed. */
static errcode_t find_files_origin(struct tree *tree, uint32_t like, uint32_t *ret)
{
	for (*ret = 0; *ret < tree->origin_count; ++*ret)
		if (tree->origins[*ret].kind == TREE_ORIGIN_FILES &&
		    tree->origins[*ret].source == tree->origins[like].source && !tree->origins[*ret].follows_symlinks)
			return 0;
	return tree_add_files_origin(tree, like, ret);
}

errcode_t tree_fix_host_path(struct tree *tree, uint32_t number)
{
	struct tree_node *node = &tree->nodes[number];
	const struct tree_origin *origin = &tree->origins[node->origin];
	uint32_t files;

	if (!S_ISREG(node->mode) || origin->kind != TREE_ORIGIN_DIRECTORY)
		return 0;
	SCOPE_FREE char *path = tree_path(tree, number);
	uint32_t count = node->is_sparse ? node->data_map->count : node->size_bytes > 0;
	struct tree_data_map *map = arena_alloc(&tree->memory, sizeof(*map) + count * sizeof(*map->segments));

	if (!path || !map)
		return ENOMEM;
	const char *below = path + strlen(origin->path);

	below += strspn(below, "/");
	*map = (struct tree_data_map){
		.count = count,
		.host_path = arena_copy_string(&tree->memory, below, strlen(below)),
	};
	if (node->is_sparse && count)
		memcpy(map->segments, node->data_map->segments, count * sizeof(*map->segments));
	else if (count)
		map->segments[0] = (struct tree_segment){ 0, node->size_bytes };
	errcode_t error = find_files_origin(tree, node->origin, &files);

	if (error || !map->host_path)
		return error ? error : ENOMEM;
	node->origin = files;
	node->is_sparse = true;
	node->data_map = map;
	return 0;
}

char *tree_path(const struct tree *tree, uint32_t node)
{
	const struct tree_origin *origin = &tree->origins[tree->nodes[node].origin];
	char *text = NULL;

	if (origin->kind == TREE_ORIGIN_FILES && S_ISREG(tree->nodes[node].mode))
		return tree_host_path(tree, node);
	if (origin->kind == TREE_ORIGIN_DIRECTORY)
		return path_text(origin->path, tree_ascend, tree, node, NULL);
	if (node == TREE_ROOT)
		return strdup(origin->path);
	SCOPE_FREE char *path = path_text("", tree_ascend, tree, node, NULL);

	return path && asprintf(&text, "%s: %s", origin->path, path + 1) >= 0 ? text : NULL;
}
