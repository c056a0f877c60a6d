/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/tree/xattr_sets.h"

#include <errno.h>
#include <string.h>

#include "source/tree/xattr_table.h"
#include "support/vector.h"

errcode_t xattr_sets_add(struct tree *tree, size_t *capacity, uint32_t like, const struct tree_xattr *xattr,
                         uint32_t *number)
{
	size_t held = *capacity ? *capacity : tree->xattr_set_count;
	uint32_t from = 0, to = 0;

	if (tree->xattr_set_count == UINT32_MAX)
		return EOVERFLOW;
	errcode_t error =
		vector_reserve(&tree->xattr_sets, &held, tree->xattr_set_count + 1ul, sizeof(*tree->xattr_sets));

	*capacity = held;
	if (error)
		return error;
	const struct tree_xattr_set *old = &tree->xattr_sets[like];
	struct tree_xattr *list = arena_alloc(&tree->memory, (old->count + 1ul) * sizeof(*list));

	if (!list)
		return ENOMEM;
	while (from < old->count && strcmp(old->list[from].name, xattr->name) < 0)
		list[to++] = old->list[from++];
	list[to++] = *xattr;
	if (from < old->count && !strcmp(old->list[from].name, xattr->name))
		from++;
	while (from < old->count)
		list[to++] = old->list[from++];
	*number = tree->xattr_set_count++;
	tree->xattr_sets[*number] = (struct tree_xattr_set){ .count = to, .list = list };
	return 0;
}

static errcode_t intern_sets(const struct tree *tree, struct xattr_table *table, uint32_t *numbers)
{
	struct xattr_table_memory last = { 0 };

	for (uint32_t set = 0; set < tree->xattr_set_count; set++) {
		errcode_t error = xattr_table_intern(table, tree->xattr_sets[set].list, tree->xattr_sets[set].count,
		                                     &last, &numbers[set]);

		if (error)
			return error;
	}
	return 0;
}

errcode_t xattr_sets_unify(struct tree *tree)
{
	SCOPE_FREE uint32_t *numbers = malloc(tree->xattr_set_count * sizeof(*numbers));
	struct xattr_table *table = NULL;
	errcode_t error = numbers ? xattr_table_create(&table) : ENOMEM;

	if (!error)
		error = intern_sets(tree, table, numbers);
	if (!error) {
		for (uint32_t node = 0; node < tree->node_count; node++)
			tree->nodes[node].xattrs = numbers[tree->nodes[node].xattrs];
		free(TAKE(tree->xattr_sets));
		error = xattr_table_finish(table, tree);
	}
	xattr_table_destroy(table);
	return error;
}
