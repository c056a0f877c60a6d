/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbering: from directories by depth to the order that tree.h promises. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "source/host/directory_scan.h"

struct numbering {
	struct scan *scan;
	struct tree *tree;
};

/* The directory after `number` in the order of the tree's runs; ASCEND_ROOT after the last one. */
static uint32_t next_directory(const struct scan *scan, uint32_t number)
{
	const struct scan_directory *directories = scan->directories;

	if (directories[number].subdirectory_count)
		return directories[number].first_subdirectory;
	while (number != ASCEND_ROOT) {
		const struct scan_directory *parent = &directories[directories[number].parent];

		if (number + 1 < parent->first_subdirectory + parent->subdirectory_count)
			return number + 1;
		number = directories[number].parent;
	}
	return ASCEND_ROOT;
}

/* Where each directory's run begins depends on the runs before it, so this part is serial; directories only. */
static errcode_t place_runs(struct scan *scan, uint32_t *node_count)
{
	uint64_t next = 1;
	uint32_t number = ASCEND_ROOT;

	do {
		struct scan_directory *directory = &scan->directories[number];

		directory->first_node = (uint32_t)next;
		next += directory->child_count;
		number = next_directory(scan, number);
	} while (number != ASCEND_ROOT && next <= UINT32_MAX);
	*node_count = (uint32_t)next;
	return next > UINT32_MAX ? EOVERFLOW : 0;
}

static void finish_directory(struct tree_node *node, const struct scan_directory *directory)
{
	node->size_bytes = 0;
	node->target = NULL;
	node->child_count = directory->child_count;
	node->first_child = directory->child_count ? directory->first_node : 0;
	node->links = 2 + directory->subdirectory_count;
}

static errcode_t move_run(void *context, unsigned int worker, size_t index, struct problem *problem)
{
	const struct numbering *numbering = context;
	struct scan *scan = numbering->scan;
	struct scan_directory *directory = &scan->directories[index];
	struct tree_node *run = numbering->tree->nodes + directory->first_node;
	uint32_t subdirectory = directory->first_subdirectory;
	uint32_t own_node = 0;

	(void)worker;
	(void)problem;
	if (index)
		own_node = scan->directories[directory->parent].first_node + directory->position;
	for (uint32_t i = 0; i < directory->child_count; i++) {
		struct tree_node *node = &run[i];
		uint32_t number = directory->first_node + i;

		*node = directory->children[i];
		if (S_ISDIR(node->mode))
			finish_directory(node, &scan->directories[subdirectory++]);
		else if (node->links)
			scan->workers[node->links - 1].linked[node->link_to].node = number;
		else
			node->links = 1;
		node->parent = own_node;
		node->link_to = number;
	}
	return 0;
}

/* Names of the same file next to each other, the first of them in front. */
static int compare_linked(const void *one, const void *other)
{
	const struct scan_linked *first = one, *second = other;

	if (first->inode != second->inode)
		return first->inode < second->inode ? -1 : 1;
	if (first->device != second->device)
		return first->device < second->device ? -1 : 1;
	if (first->type != second->type)
		return first->type < second->type ? -1 : 1;
	return first->node < second->node ? -1 : first->node > second->node;
}

static bool is_same_file(const struct scan_linked *one, const struct scan_linked *other)
{
	return one->inode == other->inode && one->device == other->device && one->type == other->type;
}

static errcode_t join_links(struct scan *scan, struct tree *tree)
{
	size_t count = 0;

	for (unsigned int i = 0; i < scan->worker_count; i++)
		count += scan->workers[i].linked_count;
	if (!count)
		return 0;
	SCOPE_FREE struct scan_linked *all = malloc(count * sizeof(*all));

	if (!all)
		return ENOMEM;
	count = 0;
	for (unsigned int i = 0; i < scan->worker_count; i++) {
		const struct scan_worker *worker = &scan->workers[i];

		if (worker->linked_count)
			memcpy(all + count, worker->linked, worker->linked_count * sizeof(*all));
		count += worker->linked_count;
	}
	qsort(all, count, sizeof(*all), compare_linked);
	for (size_t i = 0, first = 0; i < count; i++) {
		if (!is_same_file(&all[i], &all[first]))
			first = i;
		tree->nodes[all[i].node].link_to = all[first].node;
		tree->nodes[all[i].node].links = 0;
		tree->nodes[all[first].node].links++;
	}
	return 0;
}

errcode_t scan_number(struct scan *scan, struct pool *pool, struct tree *tree, struct problem *problem)
{
	struct numbering numbering = { scan, tree };
	errcode_t error = place_runs(scan, &tree->node_count);

	if (error)
		return problem_set_reason(problem, error, scan->root_path, "cannot number its files",
		                          "there are more than 2^32");
	tree->nodes = malloc(tree->node_count * sizeof(*tree->nodes));
	if (!tree->nodes)
		return problem_set(problem, ENOMEM, scan->root_path, "cannot number its files");
	tree->nodes[TREE_ROOT] = scan->root_node;
	finish_directory(&tree->nodes[TREE_ROOT], &scan->directories[ASCEND_ROOT]);
	error = pool_run(pool, scan->directory_count, move_run, &numbering, problem);
	if (error)
		return error;
	error = join_links(scan, tree);
	if (!error)
		error = xattr_table_finish(scan->xattr_table, tree);
	if (error)
		return problem_set(problem, error, scan->root_path, "cannot number its files");
	for (unsigned int i = 0; i < scan->worker_count; i++)
		arena_join(&tree->memory, &scan->workers[i].memory);
	return 0;
}
