/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/entry_numbers.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "tree/node_order.h"

#define NO_NODE NODE_ORDER_NONE

struct numbering {
	struct tree *tree;
	struct tree_node *entries; /* [0] is the root */
	uint32_t count;
	uint32_t *starts;   /* by entry: where its children begin in `children`; one element more for the end */
	uint32_t *children; /* entries by parent, sorted by name */
	uint32_t *nodes;    /* by entry: its node, if it is in the tree */
	uint32_t *stack;    /* directories whose runs are still to come */
	uint32_t *order;    /* by node: its entry */
	size_t order_count;
};

static void gather_children(struct numbering *numbering)
{
	const struct tree_node *entries = numbering->entries;
	uint32_t *starts = numbering->starts, count = numbering->count;

	for (uint32_t i = 0; i < count; i++)
		if (entry_is_child(entries, i))
			starts[entries[i].parent + 1]++;
	for (uint32_t i = 0; i < count; i++)
		starts[i + 1] += starts[i];
	/* Filling moves each start to its end, which is where the next entry's children begin. */
	for (uint32_t i = 0; i < count; i++)
		if (entry_is_child(entries, i))
			numbering->children[starts[entries[i].parent]++] = i;
	memmove(starts + 1, starts, count * sizeof(*starts));
	starts[0] = 0;
}

static int compare_names(const void *one, const void *other, void *entries)
{
	const struct tree_node *first = (const struct tree_node *)entries + *(const uint32_t *)one;
	const struct tree_node *second = (const struct tree_node *)entries + *(const uint32_t *)other;

	return tree_name_compare(first->name, first->name_bytes, second->name, second->name_bytes);
}

#define SORT_CHUNK 1024u

static errcode_t sort_chunk(void *context, unsigned int worker, size_t index, struct problem *problem)
{
	const struct numbering *numbering = context;
	size_t end = (index + 1) * SORT_CHUNK;

	(void)worker;
	(void)problem;
	for (size_t i = index * SORT_CHUNK; i < end && i < numbering->count; i++) {
		uint32_t start = numbering->starts[i], count = numbering->starts[i + 1] - start;

		if (count > 1)
			qsort_r(numbering->children + start, count, sizeof(uint32_t), compare_names,
			        numbering->entries);
	}
	return 0;
}

/* Places runs of nodes: a directory's children, then its subdirectories' runs, each with everything below it. */
static void place_runs(struct numbering *numbering)
{
	struct tree_node *entries = numbering->entries;
	size_t depth = 1;

	memset(numbering->nodes, 0xff, numbering->count * sizeof(*numbering->nodes));
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

/* Copies the attributes of the entry in link_to to the file's other names. */
static void complete_entries(const struct numbering *numbering)
{
	struct tree_node *entries = numbering->entries;

	for (uint32_t number = 0; number < numbering->count; number++) {
		struct tree_node *entry = &entries[number];
		const struct tree_node own = *entry;

		if (numbering->nodes[number] == NO_NODE || own.link_to == number)
			continue;
		*entry = entries[own.link_to];
		entry->name = own.name;
		entry->name_bytes = own.name_bytes;
		entry->parent = own.parent;
		entry->link_to = own.link_to;
	}
}

/* Makes the list of the nodes' order again, which ordering the nodes has used up. */
static void restore_order(struct numbering *numbering)
{
	for (uint32_t number = 0; number < numbering->count; number++)
		if (numbering->nodes[number] != NO_NODE)
			numbering->order[numbering->nodes[number]] = number;
}

/* The file's first name in the tree has its attributes. first_names notes that name with the entry that had them. */
static void fill_nodes(struct numbering *numbering)
{
	struct tree *tree = numbering->tree;
	uint32_t *first_names = numbering->stack; /* by entry; the stack is no longer needed */

	memset(first_names, 0xff, numbering->count * sizeof(*first_names));
	for (uint32_t i = 0; i < tree->node_count; i++) {
		struct tree_node *node = &tree->nodes[i];
		uint32_t holder = node->link_to;

		node->parent = numbering->nodes[node->parent];
		node->link_to = i;
		node->first_child = node->child_count = 0;
		node->links = 1;
		if (S_ISDIR(node->mode)) {
			fill_directory(numbering, numbering->order[i], node);
			tree->nodes[node->parent].links += i != TREE_ROOT;
		} else if (first_names[holder] == NO_NODE) {
			first_names[holder] = i;
		} else {
			node->link_to = first_names[holder];
			node->links = 0;
			tree->nodes[node->link_to].links++;
		}
	}
}

/* Turns the entries into the tree's nodes. */
static void make_nodes(struct numbering *numbering)
{
	struct tree *tree = numbering->tree;

	complete_entries(numbering);
	tree->node_count = (uint32_t)numbering->order_count;
	tree->nodes = node_order_apply(TAKE(numbering->entries), numbering->count, numbering->order, tree->node_count,
	                               numbering->nodes);
	restore_order(numbering);
	fill_nodes(numbering);
}

errcode_t entries_number(struct tree *tree, struct tree_node **entries, uint32_t count, struct pool *pool,
                         uint32_t **order, struct problem *problem)
{
	/* One allocation holds five lists, the first of which has one element more. */
	SCOPE_FREE uint32_t *lists = calloc(5ul * count + 1, sizeof(*lists));

	if (!lists)
		return ENOMEM;
	struct numbering numbering = {
		.tree = tree,
		.entries = *entries,
		.count = count,
		.starts = lists,
		.children = lists + count + 1ul,
		.nodes = lists + 2ul * count + 1,
		.stack = lists + 3ul * count + 1,
		.order = lists + 4ul * count + 1,
	};

	gather_children(&numbering);
	errcode_t error = pool_run(pool, (count + SORT_CHUNK - 1ul) / SORT_CHUNK, sort_chunk, &numbering, problem);

	if (error)
		return error;
	place_runs(&numbering);
	*entries = NULL;
	make_nodes(&numbering);
	if (!order)
		return 0;
	*order = malloc(numbering.order_count * sizeof(**order));
	if (!*order)
		return ENOMEM;
	memcpy(*order, numbering.order, numbering.order_count * sizeof(**order));
	return 0;
}
