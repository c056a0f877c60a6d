/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/selection.h"

#include <errno.h>

#include "support/vector.h"

bool selection_name_is_safe(const char *name, size_t bytes)
{
	if (!bytes || memchr(name, '/', bytes) || memchr(name, '\0', bytes))
		return false;
	return name[0] != '.' || (bytes != 1 && (bytes != 2 || name[1] != '.'));
}

uint64_t selection_data_bytes(const struct tree_node *node)
{
	uint64_t bytes = 0;

	if (!S_ISREG(node->mode))
		return 0;
	if (!node->is_sparse)
		return node->size_bytes;
	for (uint32_t i = 0; i < node->data_map->count; i++)
		bytes += node->data_map->segments[i].length_bytes;
	return bytes;
}

/* Returns "a/" for "./a/". tree_find_path() itself accepts further slashes. */
static const char *without_dot(const char *path)
{
	while (path[0] == '.' && (path[1] == '/' || !path[1])) {
		path++;
		path += strspn(path, "/");
	}
	return path;
}

static void mark_paths(struct selection *selection, char *const *paths, size_t path_count, bool *is_missing)
{
	const struct tree *tree = selection->tree;

	for (size_t i = 0; i < path_count; i++) {
		uint32_t node;

		is_missing[i] = !tree_find_path(tree, without_dot(paths[i]), &node);
		if (is_missing[i])
			continue;
		selection->marks[node] = SELECTION_IN;
		while (node != TREE_ROOT) {
			node = tree->nodes[node].parent;
			if (selection->marks[node] != SELECTION_OUTSIDE)
				break;
			selection->marks[node] = SELECTION_ABOVE;
		}
	}
}

static errcode_t refuse(struct selection *selection, uint32_t node)
{
	errcode_t error = vector_reserve(&selection->refused, &selection->refused_capacity,
	                                 selection->refused_count + 1, sizeof(*selection->refused));

	if (!error)
		selection->refused[selection->refused_count++] = node;
	return error;
}

/* Marks a node by its parent's mark and its own name. A parent's number is below its children's. */
static errcode_t mark_node(struct selection *selection, uint32_t number)
{
	const struct tree_node *node = &selection->tree->nodes[number];
	uint8_t *mark = &selection->marks[number], parent = selection->marks[node->parent];

	if (number == TREE_ROOT)
		return 0;
	if (parent == SELECTION_REFUSED || parent == SELECTION_IN)
		*mark = parent;
	if ((*mark != SELECTION_IN && *mark != SELECTION_ABOVE) || selection_name_is_safe(node->name, node->name_bytes))
		return 0;
	*mark = SELECTION_REFUSED;
	return refuse(selection, number);
}

static void count_node(struct selection *selection, uint32_t number)
{
	const struct tree_node *node = &selection->tree->nodes[number];

	if (selection->marks[number] != SELECTION_IN)
		return;
	selection->files++;
	if (selection->first_names && !S_ISDIR(node->mode) && selection->first_names[node->link_to] == UINT32_MAX)
		selection->first_names[node->link_to] = number;
	if (selection_first_name(selection, number) == number)
		selection->data_bytes += selection_data_bytes(&selection->tree->nodes[node->link_to]);
}

/*
 * Makes room for first names. They are needed because a refused name may be the first of a file that has other names.
 */
static errcode_t make_first_names(struct selection *selection, size_t path_count)
{
	const struct tree *tree = selection->tree;

	if (!path_count && !selection->refused_count)
		return 0;
	selection->first_names = malloc((size_t)tree->node_count * sizeof(*selection->first_names));
	if (!selection->first_names)
		return ENOMEM;
	memset(selection->first_names, 0xff, (size_t)tree->node_count * sizeof(*selection->first_names));
	return 0;
}

errcode_t selection_make(struct selection *selection, const struct tree *tree, char *const *paths, size_t path_count,
                         bool *is_missing)
{
	errcode_t error = 0;

	*selection = (struct selection){ .tree = tree, .marks = calloc(tree->node_count, 1) };
	if (!selection->marks)
		return ENOMEM;
	if (!path_count)
		selection->marks[TREE_ROOT] = SELECTION_IN;
	mark_paths(selection, paths, path_count, is_missing);
	for (uint32_t node = 0; !error && node < tree->node_count; node++)
		error = mark_node(selection, node);
	if (!error)
		error = make_first_names(selection, path_count);
	for (uint32_t node = 0; !error && node < tree->node_count; node++)
		count_node(selection, node);
	return error;
}

void selection_free(struct selection *selection)
{
	free(selection->marks);
	free(selection->first_names);
	free(selection->refused);
	*selection = (struct selection){ 0 };
}
