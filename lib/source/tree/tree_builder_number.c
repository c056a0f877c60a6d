// SPDX-License-Identifier: GPL-2.0-or-later
/* From entries in the order in which they came to the order that source/tree/tree.h promises. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "source/tree/tree_builder_entries.h"
#include "support/vector.h"

#define NO_NODE UINT32_MAX

struct numbering {
	struct tree_builder *builder;
	struct tree *tree;
	uint32_t *starts;   /* by entry: where its children begin in `children`; one more at the end */
	uint32_t *children; /* entries by parent, sorted by name */
	uint32_t *nodes;    /* by entry: its node, if it is in the tree */
	uint32_t *stack;    /* directories whose runs are still to come */
	uint32_t *order;    /* by node: its entry */
	size_t order_count;
};

static bool is_child(const struct tree_builder *builder, uint32_t entry)
{
	return entry != TREE_ROOT && !builder->entries[entry].child_count;
}

/* An entry's path into *text, without a slash at its beginning. */
static errcode_t entry_path(const struct tree_builder *builder, uint32_t entry, char **text, size_t *capacity)
{
	size_t bytes = 0;

	for (uint32_t at = entry; at != TREE_ROOT; at = builder->entries[at].parent)
		bytes += builder->entries[at].name_bytes + 1u;
	errcode_t error = vector_reserve(text, capacity, bytes, 1);

	if (error)
		return error;
	for (char *end = *text + bytes; entry != TREE_ROOT; entry = builder->entries[entry].parent) {
		end -= builder->entries[entry].name_bytes + 1u;
		memcpy(end, builder->entries[entry].name, builder->entries[entry].name_bytes);
		end[builder->entries[entry].name_bytes] = '/';
	}
	(*text)[bytes - 1] = '\0';
	return 0;
}

/* A directory's entry comes before those of what is in it. */
static errcode_t mark_excluded(struct tree_builder *builder)
{
	SCOPE_FREE char *path = NULL;
	size_t capacity = 0;

	for (uint32_t i = 1; builder->exclude && i < builder->count; i++) {
		struct tree_node *entry = &builder->entries[i];

		if (!is_child(builder, i) || (entry->parent != TREE_ROOT && !is_child(builder, entry->parent)))
			continue;
		errcode_t error = entry_path(builder, i, &path, &capacity);

		if (error)
			return error;
		if (exclude_matches(builder->exclude, path, S_ISDIR(entry->mode)))
			entry->child_count |= ENTRY_EXCLUDED;
	}
	return 0;
}

static void gather_children(struct numbering *numbering)
{
	const struct tree_builder *builder = numbering->builder;
	uint32_t *starts = numbering->starts, count = (uint32_t)builder->count;

	for (uint32_t i = 0; i < count; i++)
		if (is_child(builder, i))
			starts[builder->entries[i].parent + 1]++;
	for (uint32_t i = 0; i < count; i++)
		starts[i + 1] += starts[i];
	/* Filling moves each start to its end, which is where the next one began. */
	for (uint32_t i = 0; i < count; i++)
		if (is_child(builder, i))
			numbering->children[starts[builder->entries[i].parent]++] = i;
	memmove(starts + 1, starts, count * sizeof(*starts));
	starts[0] = 0;
}

static int compare_names(const void *one, const void *other, void *entries)
{
	const struct tree_node *nodes = entries;

	return strcmp(nodes[*(const uint32_t *)one].name, nodes[*(const uint32_t *)other].name);
}

#define SORT_CHUNK 1024u

static errcode_t sort_chunk(void *context, unsigned int worker, size_t index, struct problem *problem)
{
	const struct numbering *numbering = context;
	size_t end = (index + 1) * SORT_CHUNK;

	(void)worker;
	(void)problem;
	for (size_t i = index * SORT_CHUNK; i < end && i < numbering->builder->count; i++) {
		uint32_t start = numbering->starts[i], count = numbering->starts[i + 1] - start;

		if (count > 1)
			qsort_r(numbering->children + start, count, sizeof(uint32_t), compare_names,
			        numbering->builder->entries);
	}
	return 0;
}

/* Runs: a directory's, then those of its subdirectories, each with all below it. */
static void place_runs(struct numbering *numbering)
{
	struct tree_node *entries = numbering->builder->entries;
	size_t depth = 1;

	numbering->stack[0] = TREE_ROOT;
	numbering->order[0] = TREE_ROOT;
	numbering->nodes[TREE_ROOT] = TREE_ROOT;
	numbering->order_count = 1;
	while (depth) {
		uint32_t directory = numbering->stack[--depth];
		uint32_t start = numbering->starts[directory], end = numbering->starts[directory + 1];

		for (uint32_t i = start; i < end; i++) {
			numbering->nodes[numbering->children[i]] = (uint32_t)numbering->order_count;
			numbering->order[numbering->order_count++] = numbering->children[i];
		}
		for (uint32_t i = end; i-- > start;)
			if (S_ISDIR(entries[numbering->children[i]].mode))
				numbering->stack[depth++] = numbering->children[i];
	}
}

static void fill_directory(const struct numbering *numbering, uint32_t entry, struct tree_node *node)
{
	uint32_t start = numbering->starts[entry];

	node->child_count = numbering->starts[entry + 1] - start;
	node->first_child = node->child_count ? numbering->nodes[numbering->children[start]] : 0;
	node->links = 2;
}

/* The first name in the tree has the file's attributes; which that is, is noted with the entry that had them. */
static void fill_nodes(struct numbering *numbering)
{
	struct tree_builder *builder = numbering->builder;
	struct tree *tree = numbering->tree;
	uint32_t *first_names = numbering->stack; /* by entry; not needed as a stack any more */

	memset(first_names, 0xff, builder->count * sizeof(*first_names));
	for (uint32_t i = 0; i < tree->node_count; i++) {
		uint32_t entry = numbering->order[i];
		const struct tree_node *from = &builder->entries[entry];
		uint32_t holder = from->link_to;
		struct tree_node *node = &tree->nodes[i];

		*node = builder->entries[holder];
		node->name = from->name;
		node->name_bytes = from->name_bytes;
		node->parent = numbering->nodes[from->parent];
		node->order = entry;
		node->link_to = i;
		node->first_child = node->child_count = 0;
		node->links = 1;
		if (S_ISDIR(node->mode)) {
			fill_directory(numbering, entry, node);
			tree->nodes[node->parent].links += i != TREE_ROOT;
		} else if (first_names[holder] == NO_NODE) {
			first_names[holder] = i;
			node->below_order = node->is_below ? holder : 0;
		} else {
			node->link_to = first_names[holder];
			node->links = 0;
			tree->nodes[node->link_to].links++;
		}
	}
}

static errcode_t number(struct numbering *numbering, struct pool *pool, struct problem *problem)
{
	size_t count = numbering->builder->count;
	errcode_t error = mark_excluded(numbering->builder);

	if (error)
		return error;
	/* Five lists in one, of which the first has one more. */
	SCOPE_FREE uint32_t *lists = calloc(5 * count + 1, sizeof(*lists));

	if (!lists)
		return ENOMEM;
	numbering->starts = lists;
	numbering->children = lists + count + 1;
	numbering->nodes = numbering->children + count;
	numbering->stack = numbering->nodes + count;
	numbering->order = numbering->stack + count;
	gather_children(numbering);
	error = pool_run(pool, (count + SORT_CHUNK - 1) / SORT_CHUNK, sort_chunk, numbering, problem);
	if (error)
		return error;
	place_runs(numbering);
	numbering->tree->nodes = malloc(numbering->order_count * sizeof(*numbering->tree->nodes));
	if (!numbering->tree->nodes)
		return ENOMEM;
	numbering->tree->node_count = (uint32_t)numbering->order_count;
	fill_nodes(numbering);
	return 0;
}

errcode_t tree_builder_finish(struct tree_builder *builder, struct pool *pool, struct problem *problem)
{
	struct numbering numbering = { .builder = builder, .tree = builder->tree };

	return number(&numbering, pool, problem);
}
