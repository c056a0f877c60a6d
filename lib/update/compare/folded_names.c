/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "update/compare/folded_names.h"

#include <errno.h>

#include <ext2fs/ext2fs.h>

#include "support/bisect.h"

static int compare_folded(const void *one, const void *other)
{
	const struct folded_name *left = one, *right = other;

	if (left->hash != right->hash)
		return left->hash < right->hash ? -1 : 1;
	return left->minor < right->minor ? -1 : left->minor > right->minor;
}

static bool is_same(const struct comparison *comparison, uint32_t node, struct directory_name name)
{
	const struct tree_node *child = &comparison->plan->tree->nodes[node];

	return !ext2fs_casefold_cmp(comparison->volume->format.encoding, (const unsigned char *)child->name,
	                            child->name_bytes, (const unsigned char *)name.name, name.length_bytes);
}

errcode_t folded_names_make(const struct comparison *comparison, uint32_t directory, struct folded_names *names)
{
	const struct tree_node *nodes = comparison->plan->tree->nodes;

	*names = (struct folded_names){ .list = malloc((nodes[directory].child_count + 1ul) * sizeof(*names->list)) };
	if (!names->list)
		return ENOMEM;
	for (uint32_t i = 0; i < nodes[directory].child_count; i++) {
		uint32_t node = nodes[directory].first_child + i;
		const struct directory_name name = { nodes[node].name, nodes[node].name_bytes };
		struct folded_name *folded = &names->list[names->count];

		folded->node = node;
		if (!directory_hash(&comparison->volume->format, &name, true, &folded->hash, &folded->minor))
			names->count++;
	}
	qsort(names->list, names->count, sizeof(*names->list), compare_folded);
	return 0;
}

uint32_t folded_names_find(const struct comparison *comparison, const struct folded_names *names,
                           struct directory_name name)
{
	const struct folded_name *list = names->list;
	struct folded_name wanted = { 0 };

	if (directory_hash(&comparison->volume->format, &name, true, &wanted.hash, &wanted.minor))
		return TREE_ROOT;
	size_t at = BISECT(names->count, index, compare_folded(&list[index], &wanted) >= 0);

	for (; at < names->count && !compare_folded(&list[at], &wanted); at++)
		if (is_same(comparison, list[at].node, name))
			return list[at].node;
	return TREE_ROOT;
}

bool folded_names_clash(const struct comparison *comparison, const struct folded_names *names, uint32_t *one,
                        uint32_t *other)
{
	const struct tree_node *nodes = comparison->plan->tree->nodes;

	for (uint32_t i = 1; i < names->count; i++) {
		const struct folded_name *left = &names->list[i - 1], *right = left + 1;

		*one = left->node;
		*other = right->node;
		if (!compare_folded(left, right) &&
		    is_same(comparison, *one, (struct directory_name){ nodes[*other].name, nodes[*other].name_bytes }))
			return true;
	}
	return false;
}

void folded_names_free(struct folded_names *names)
{
	free(names->list);
	*names = (struct folded_names){ 0 };
}
