/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/labels/labels.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "source/labels/file_contexts.h"
#include "support/vector.h"
#include "tree/xattr_table.h"

/*
 * The nodes of a task. With the reference policy and libselinux 3.4 a look-up takes 0.3 ms, because it tries hundreds
 * of rules. Each worker that has a task reads the rules, which takes 50 ms.
 */
#define NODES_PER_TASK 256u

struct labels {
	const struct label_options *options;
	char *prefix; /* without a slash at its end; "": there is no prefix */
	struct file_contexts
		*rules; /* the main thread's; worker 0 has them while files are labelled; NULL: there are none */
	bool keeps_source;
};

struct label_worker {
	struct file_contexts *rules; /* the worker's own, opened when it has work */
	struct xattr_table_memory last;
	struct tree_xattr *list;
	size_t capacity;
	char *path; /* a directory's path with a slash at its end, and room for a name */
	size_t path_capacity, directory_bytes;
	uint32_t directory;
	bool has_directory;
	uint64_t count;
};

struct labelling {
	const struct labels *labels;
	struct tree *tree;
	struct xattr_table *table;
	struct label_worker *workers;
	bool only_missing;
};

/* Returns the prefix in the form in which it comes before "/name". */
static char *clean_prefix(const char *prefix)
{
	size_t bytes = prefix ? strlen(prefix) : 0;
	char *clean = NULL;

	while (bytes && prefix[bytes - 1] == '/')
		bytes--;
	while (bytes && *prefix == '/') {
		prefix++;
		bytes--;
	}
	return asprintf(&clean, "%s%.*s", bytes ? "/" : "", (int)bytes, bytes ? prefix : "") < 0 ? NULL : clean;
}

errcode_t labels_open(const struct label_options *options, struct labels **ret, struct problem *problem)
{
	struct labels *labels = calloc(1, sizeof(*labels));

	*ret = NULL;
	if (!labels)
		return problem_set(problem, ENOMEM, NULL, "cannot label files");
	labels->options = options;
	labels->keeps_source = options->choice == LABELS_OF_SOURCE;
	labels->prefix = clean_prefix(options->prefix);
	errcode_t error = labels->prefix ? 0 : problem_set(problem, ENOMEM, NULL, "cannot label files");

	if (!error && options->file_contexts)
		error = file_contexts_open(options->file_contexts, &labels->rules, problem);
	if (error)
		labels_close(labels);
	else
		*ret = labels;
	return error;
}

void labels_close(struct labels *labels)
{
	if (!labels)
		return;
	file_contexts_close(labels->rules);
	free(labels->prefix);
	free(labels);
}

/* --- Each file ---------------------------------------------------------------------------------------------------- */

/*
 * Puts a directory's path into own->path. Siblings are adjacent in the tree, so a task does this once for each
 * directory.
 */
static errcode_t enter_directory(const struct labelling *labelling, struct label_worker *own, uint32_t directory)
{
	if (own->has_directory && own->directory == directory)
		return 0;
	SCOPE_FREE char *path = path_text(labelling->labels->prefix, tree_ascend, labelling->tree, directory, NULL);
	size_t bytes = path ? strlen(path) : 0;
	errcode_t error = path ? vector_reserve(&own->path, &own->path_capacity, bytes + UINT8_MAX + 2, 1) : ENOMEM;

	if (error)
		return error;
	memcpy(own->path, path, bytes);
	own->path[bytes] = '/';
	own->directory_bytes = bytes + 1;
	own->directory = directory;
	own->has_directory = true;
	return 0;
}

/* Puts the node's whole path into own->path. */
static errcode_t enter_path(const struct labelling *labelling, struct label_worker *own, uint32_t number)
{
	const struct tree_node *node = &labelling->tree->nodes[number];
	errcode_t error = enter_directory(labelling, own, node->parent);

	if (error)
		return error;
	/* The root is its own parent. Its path ends in a slash only if it is "/". */
	size_t bytes = own->directory_bytes - (number == TREE_ROOT && own->directory_bytes > 1);

	if (number != TREE_ROOT)
		memcpy(own->path + bytes, node->name, node->name_bytes);
	own->path[bytes + (number == TREE_ROOT ? 0 : node->name_bytes)] = '\0';
	return 0;
}

static errcode_t find_label(const struct labelling *labelling, struct label_worker *own, uint32_t number,
                            const char **label, struct problem *problem)
{
	const struct tree_node *node = &labelling->tree->nodes[number];

	*label = NULL;
	if (!labelling->labels->options->file_contexts)
		return 0;
	errcode_t error =
		own->rules ? 0 : file_contexts_open(labelling->labels->options->file_contexts, &own->rules, problem);

	if (!error)
		error = enter_path(labelling, own, number);
	if (error)
		return error;
	error = file_contexts_find(own->rules, own->path, node->mode, label, problem);
	/* The root's path has lost its last slash, so the next name builds the directory's path again. */
	if (number == TREE_ROOT)
		own->has_directory = false;
	return error;
}

static bool is_label(const struct tree_xattr *xattr)
{
	return strcmp(xattr->name, TREE_LABEL_XATTR) == 0;
}

static bool has_label(const struct tree_xattr_set *set)
{
	for (uint32_t i = 0; i < set->count; i++)
		if (is_label(&set->list[i]))
			return true;
	return false;
}

/* Copies the set to own->list with this label in place of its own; label NULL: without a label. */
static errcode_t replace_label(struct label_worker *own, const struct tree_xattr_set *set, const char *label,
                               uint32_t *count)
{
	errcode_t error = vector_reserve(&own->list, &own->capacity, set->count + 1ul, sizeof(*own->list));
	uint32_t from = 0, to = 0;

	if (error)
		return error;
	while (from < set->count && strcmp(set->list[from].name, TREE_LABEL_XATTR) < 0)
		own->list[to++] = set->list[from++];
	if (label)
		own->list[to++] = (struct tree_xattr){ TREE_LABEL_XATTR, label, (uint32_t)strlen(label) + 1 };
	for (; from < set->count; from++)
		if (!is_label(&set->list[from]))
			own->list[to++] = set->list[from];
	*count = to;
	return 0;
}

static errcode_t label_node(const struct labelling *labelling, struct label_worker *own, uint32_t number,
                            struct problem *problem)
{
	struct tree_node *node = &labelling->tree->nodes[number];
	const struct tree_xattr_set *set = &labelling->tree->xattr_sets[node->xattrs];
	const struct tree_xattr *list = set->list;
	uint32_t count = set->count;
	const char *label = NULL;
	bool keeps = (labelling->only_missing || labelling->labels->keeps_source) && has_label(set);
	errcode_t error = keeps ? 0 : find_label(labelling, own, number, &label, problem);

	if (!error && !keeps) {
		error = replace_label(own, set, label, &count);
		list = own->list;
	}
	if (!error)
		error = xattr_table_intern(labelling->table, list, count, &own->last, &node->xattrs);
	own->count += keeps || label;
	return error;
}

static errcode_t label_nodes(void *context, unsigned int worker, size_t task, struct problem *problem)
{
	const struct labelling *labelling = context;
	struct label_worker *own = &labelling->workers[worker];
	uint32_t first = (uint32_t)task * NODES_PER_TASK, left = labelling->tree->node_count - first;
	uint32_t end = first + (left < NODES_PER_TASK ? left : NODES_PER_TASK);
	errcode_t error = 0;

	for (uint32_t number = first; !error && number < end; number++)
		if (!tree_node_is_link(labelling->tree, number))
			error = label_node(labelling, own, number, problem);
	return error;
}

/* --- The tree ----------------------------------------------------------------------------------------------------- */

/* Replaces the tree's sets by those of the table. Their numbers are final, and the nodes have them already. */
static errcode_t take_sets(struct labelling *labelling)
{
	struct tree *tree = labelling->tree;

	for (uint32_t number = 0; number < tree->node_count; number++)
		if (tree_node_is_link(tree, number))
			tree->nodes[number].xattrs = tree->nodes[tree->nodes[number].link_to].xattrs;
	free(TAKE(tree->xattr_sets));
	return xattr_table_finish(labelling->table, tree);
}

static void close_worker(struct label_worker *own)
{
	file_contexts_close(own->rules);
	free(own->list);
	free(own->path);
}

errcode_t labels_apply(struct labels *labels, struct tree *tree, bool only_missing, struct pool *pool, uint64_t *count,
                       struct problem *problem)
{
	unsigned int worker_count = pool_workers(pool);
	SCOPE_FREE struct label_worker *workers = calloc(worker_count, sizeof(*workers));
	struct labelling labelling = {
		.labels = labels, .tree = tree, .workers = workers, .only_missing = only_missing
	};
	errcode_t error = workers ? xattr_table_create(&labelling.table) : ENOMEM;

	*count = 0;
	if (workers)
		workers[0].rules = TAKE(labels->rules);
	if (!error)
		error = pool_run(pool, ((size_t)tree->node_count + NODES_PER_TASK - 1) / NODES_PER_TASK, label_nodes,
		                 &labelling, problem);
	if (workers)
		labels->rules = TAKE(workers[0].rules);
	for (unsigned int worker = 0; workers && worker < worker_count; worker++) {
		*count += workers[worker].count;
		close_worker(&workers[worker]);
	}
	if (!error)
		error = take_sets(&labelling);
	xattr_table_destroy(labelling.table);
	return error ? problem_set(problem, error, NULL, "cannot label files") : 0;
}

errcode_t labels_of_directory(struct labels *labels, const char *name, struct arena *memory, struct tree_xattr *xattr,
                              struct problem *problem)
{
	SCOPE_FREE char *path = NULL;
	const char *label = NULL;

	*xattr = (struct tree_xattr){ 0 };
	if (!labels->rules)
		return 0;
	if (asprintf(&path, "%s/%s", labels->prefix, name) < 0) {
		path = NULL;
		return problem_set(problem, ENOMEM, NULL, "cannot label files");
	}
	errcode_t error = file_contexts_find(labels->rules, path, S_IFDIR | 0700, &label, problem);

	if (error || !label)
		return error;
	xattr->name = TREE_LABEL_XATTR;
	xattr->value = arena_copy_string(memory, label, strlen(label));
	xattr->value_bytes = (uint32_t)strlen(label) + 1;
	return xattr->value ? 0 : problem_set(problem, ENOMEM, NULL, "cannot label files");
}
