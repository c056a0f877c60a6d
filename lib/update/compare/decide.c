/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "support/bisect.h"
#include "support/bits.h"
#include "support/run/interrupt.h"
#include "support/vector.h"
#include "update/compare/comparison.h"
#include "update/compare/linked_files.h"
#include "update/compare/sameness.h"

/* A further name of a file. */
struct further_name {
	uint32_t first, node;
};

struct deciding {
	struct comparison *comparison;
	struct sameness_judge judge;
	struct further_name *further; /* sorted by both */
	size_t further_count, further_capacity;
	uint64_t *named;         /* by inode, a bit each: the tree or a removal has a name of it */
	struct inode_map linked; /* how many names, of those that have several */
};

static errcode_t add_action(struct comparison *comparison, enum update_verb verb, uint32_t node, bool was_directory)
{
	return update_plan_add(comparison->plan, &(const struct update_action){
							 .verb = verb,
							 .was_directory = was_directory,
							 .node = node,
							 .ino = comparison->found[node],
						 });
}

/*
 * Empties the directory that has the name now, if there is one. This comes before the name can lead to another inode.
 */
static errcode_t empty_name(struct comparison *comparison, uint32_t node, bool *was_directory)
{
	uint32_t ino = comparison->found[node];
	struct volume_inode inode;
	errcode_t error = ino ? comparison_read_inode(comparison, node, ino, &inode) : 0;

	*was_directory = !error && ino && S_ISDIR(inode.view.mode);
	return *was_directory ? comparison_remove_below(comparison, node) : error;
}

/* Refuses, since the file's last name would be removed before the file gets another one. */
static errcode_t refuse_linked(const struct comparison *comparison, const char *path)
{
	return problem_set_reason(
		comparison->problem, EOPNOTSUPP, path, "cannot update",
		"a source links to what has this name in the image, and takes the name away: make two "
		"updates of it");
}

static bool is_linked(const struct comparison *comparison, uint32_t ino)
{
	return comparison->linked && ino && bits_test(comparison->linked, ino);
}

static errcode_t name_file(struct comparison *comparison, enum update_verb verb, uint32_t node)
{
	bool was_directory;

	if (is_linked(comparison, comparison->found[node])) {
		SCOPE_FREE char *path = update_node_path(comparison->plan, node);

		return refuse_linked(comparison, path);
	}
	errcode_t error = empty_name(comparison, node, &was_directory);

	return error ? error : add_action(comparison, verb, node, was_directory);
}

/* --- Files with their names --------------------------------------------------------------------------------------- */

/* Returns the further names of a file: a run of deciding->further. */
static const struct further_name *further_names(const struct deciding *deciding, uint32_t first, size_t *count)
{
	const struct further_name *all = deciding->further;
	size_t start = BISECT(deciding->further_count, index, all[index].first >= first), end = start;

	while (end < deciding->further_count && all[end].first == first)
		end++;
	*count = end - start;
	return all + start;
}

/* Chooses an inode of the image that may stay the file's: the first one that one of its names leads to. */
static errcode_t choose_inode(const struct deciding *deciding, uint32_t node, const struct further_name *further,
                              size_t count, struct volume_inode *chosen, uint32_t *names)
{
	struct comparison *comparison = deciding->comparison;
	errcode_t error = 0;

	*names = 0;
	for (size_t i = 0; !error && !*names && i <= count; i++) {
		uint32_t ino = comparison->found[i ? further[i - 1].node : node];

		if (!ino || bits_test(comparison->claimed, ino))
			continue;
		error = comparison_read_inode(comparison, node, ino, chosen);
		*names = !error && !S_ISDIR(chosen->view.mode);
	}
	if (error || !*names)
		return error;
	*names = 0;
	for (size_t i = 0; i <= count; i++)
		*names += comparison->found[i ? further[i - 1].node : node] == chosen->ino;
	return 0;
}

/* e2fsck 1.47.0 does not count an inline symlink's block of xattrs: with other xattrs it is made anew, not inline. */
static bool is_inline_symlink(const struct volume_inode *inode)
{
	return S_ISLNK(inode->view.mode) && inode->all.value.flags & EXT4_INLINE_DATA_FL;
}

/* Chooses the action for that inode. UPDATE_CREATE: the inode does not stay; UPDATE_LINK: the inode does not change. */
static errcode_t choose_verb(struct deciding *deciding, uint32_t node, const struct volume_inode *inode, uint32_t names,
                             struct update_action *action)
{
	struct comparison *comparison = deciding->comparison;
	bool has_same_bytes = comparison->has_same_bytes && bits_test(comparison->has_same_bytes, node) &&
	                      comparison->found[node] == inode->ino;
	enum sameness sameness;
	errcode_t error = sameness_judge(&deciding->judge, node, inode, has_same_bytes, &sameness);

	if (!error)
		error = comparison_check(comparison, node);
	if (error)
		return error;
	action->changes_xattrs = sameness == SAME_BUT_XATTRS;
	if (sameness == SAME)
		action->verb = UPDATE_LINK;
	/*
	 * A new inode is made in two cases: the old one has names that are not the file's, which keep its contents, or
	 * the type changes, which the file's directory entries store.
	 */
	else if (inode->view.links != names || (inode->view.mode ^ comparison->plan->tree->nodes[node].mode) & S_IFMT)
		action->verb = UPDATE_CREATE;
	else if (sameness == SAME_NOTHING || (action->changes_xattrs && is_inline_symlink(inode)))
		action->verb = UPDATE_REPLACE;
	else
		action->verb = UPDATE_METADATA;
	return 0;
}

/* Gives this name, too, to a file of the image. */
static errcode_t decide_linked(const struct deciding *deciding, uint32_t node, uint32_t ino)
{
	struct comparison *comparison = deciding->comparison;

	comparison->plan->inos[node] = ino;
	if (comparison->found[node] != ino)
		return name_file(comparison, UPDATE_LINK, node);
	comparison->plan->unchanged++;
	return 0;
}

static errcode_t decide_file(struct deciding *deciding, uint32_t node)
{
	struct comparison *comparison = deciding->comparison;
	struct update_plan *plan = comparison->plan;

	if (linked_inode(plan->tree, node))
		return decide_linked(deciding, node, linked_inode(plan->tree, node));
	struct update_action action = { .verb = UPDATE_CREATE, .node = node };
	struct volume_inode inode = { 0 };
	uint32_t names = 0;
	size_t count = 0;
	const struct further_name *further =
		plan->tree->nodes[node].links > 1 ? further_names(deciding, node, &count) : NULL;
	errcode_t error = choose_inode(deciding, node, further, count, &inode, &names);

	if (!error && names)
		error = choose_verb(deciding, node, &inode, names, &action);
	if (error)
		return error;
	if (action.verb == UPDATE_CREATE)
		return name_file(comparison, UPDATE_CREATE, node);
	bits_set(comparison->claimed, inode.ino);
	plan->inos[node] = inode.ino;
	action.ino = inode.ino;
	if (action.verb != UPDATE_LINK)
		error = update_plan_add(plan, &action);
	if (!error && comparison->found[node] != inode.ino)
		return name_file(comparison, UPDATE_LINK, node);
	plan->unchanged += action.verb == UPDATE_LINK;
	return error;
}

/* The action for the file's first name has been decided. */
static errcode_t decide_further(const struct deciding *deciding, uint32_t node)
{
	struct comparison *comparison = deciding->comparison;
	uint32_t ino = comparison->plan->inos[comparison->plan->tree->nodes[node].link_to];

	if (!ino || comparison->found[node] != ino)
		return name_file(comparison, UPDATE_LINK, node);
	comparison->plan->unchanged++;
	return 0;
}

/* Its encryption context is an xattr, which no source shows. */
static errcode_t refuse_encrypted(const struct comparison *comparison, uint32_t node)
{
	SCOPE_FREE char *path = update_node_path(comparison->plan, node);

	return problem_set_reason(comparison->problem, EOPNOTSUPP, comparison->options->image, "cannot update",
	                          "%s: the directory is encrypted, and would get other xattrs", path ? path : "?");
}

static errcode_t decide_directory(struct deciding *deciding, uint32_t number)
{
	struct comparison *comparison = deciding->comparison;
	const struct tree_node *node = &comparison->plan->tree->nodes[number];
	struct volume_inode inode;
	enum sameness sameness = SAME;

	if (!comparison->plan->inos[number])
		return update_plan_add(comparison->plan,
		                       &(const struct update_action){ .verb = UPDATE_CREATE,
		                                                      .node = number,
		                                                      .ino = comparison->found[number] });
	errcode_t error = comparison_read_inode(comparison, number, comparison->found[number], &inode);

	if (!error && !node->is_implied)
		error = sameness_judge(&deciding->judge, number, &inode, true, &sameness);
	if (!error)
		error = comparison_check(comparison, number);
	if (error)
		return error;
	if (sameness == SAME_BUT_XATTRS && inode.view.flags & EXT4_ENCRYPT_FL)
		return refuse_encrypted(comparison, number);
	comparison->plan->unchanged += sameness == SAME;
	return sameness == SAME ?
	               0 :
	               update_plan_add(comparison->plan,
	                               &(const struct update_action){ .verb = UPDATE_METADATA,
	                                                              .changes_xattrs = sameness == SAME_BUT_XATTRS,
	                                                              .node = number,
	                                                              .ino = inode.ino });
}

/* --- Counts of links ---------------------------------------------------------------------------------------------- */

/*
 * Counts one more name that leads to the file. With a count of links below its names, an inode would go with a name
 * that is not its last. EUCLEAN.
 */
static errcode_t count_name(struct deciding *deciding, uint32_t ino, const char *path)
{
	struct comparison *comparison = deciding->comparison;
	struct volume_inode inode;
	uint32_t *names;

	if (!bits_test(deciding->named, ino)) {
		bits_set(deciding->named, ino);
		return 0;
	}
	errcode_t error = inode_map_enter(&deciding->linked, ino, &names);

	if (!error)
		error = inode_window_read(&comparison->window, ino, comparison->raw, &inode);
	if (error)
		return error;
	*names += *names ? 1 : 2;
	if (S_ISDIR(inode.view.mode) || *names <= inode.view.links)
		return 0;
	return problem_set_reason(comparison->problem, EUCLEAN, comparison->options->image, "cannot update",
	                          "%s: more names lead to the file than it counts; run e2fsck first", path);
}

static errcode_t count_node(struct deciding *deciding, uint32_t node)
{
	uint32_t ino = deciding->comparison->found[node];

	if (!ino || ino > deciding->comparison->volume->inodes)
		return 0;
	/* The path is for the message alone. */
	if (!bits_test(deciding->named, ino))
		return count_name(deciding, ino, NULL);
	SCOPE_FREE char *path = update_node_path(deciding->comparison->plan, node);

	return count_name(deciding, ino, path ? path : "?");
}

static errcode_t count_removals(struct deciding *deciding)
{
	const struct comparison *comparison = deciding->comparison;
	errcode_t error = 0;

	for (size_t i = 0; !error && i < comparison->removal_count; i++)
		if (!comparison->removals[i].was_directory && comparison->removals[i].ino <= comparison->volume->inodes)
			error = count_name(deciding, comparison->removals[i].ino, comparison->removals[i].path);
	return error;
}

static errcode_t decide_node(struct deciding *deciding, uint32_t number)
{
	const struct tree *tree = deciding->comparison->plan->tree;
	const struct tree_node *node = &tree->nodes[number];

	if (tree_node_is_whiteout(node) || (node->has_only_whiteouts && !deciding->comparison->plan->inos[number]))
		return 0;
	if (S_ISDIR(node->mode))
		return decide_directory(deciding, number);
	errcode_t error = count_node(deciding, number);

	if (error)
		return error;
	return tree_node_is_link(tree, number) ? decide_further(deciding, number) : decide_file(deciding, number);
}

static int compare_further(const void *one, const void *other)
{
	const struct further_name *left = one, *right = other;

	if (left->first != right->first)
		return left->first < right->first ? -1 : 1;
	return left->node < right->node ? -1 : left->node > right->node;
}

static errcode_t list_further(struct deciding *deciding)
{
	const struct tree *tree = deciding->comparison->plan->tree;
	errcode_t error = 0;

	for (uint32_t node = 0; !error && node < tree->node_count; node++) {
		if (!tree_node_is_link(tree, node))
			continue;
		error = vector_reserve(&deciding->further, &deciding->further_capacity, deciding->further_count + 1,
		                       sizeof(*deciding->further));
		if (!error)
			deciding->further[deciding->further_count++] =
				(struct further_name){ tree->nodes[node].link_to, node };
	}
	if (!error && deciding->further_count)
		qsort(deciding->further, deciding->further_count, sizeof(*deciding->further), compare_further);
	return error;
}

/* Claims the inodes that nodes are further names of, so that no other file takes them. */
static errcode_t claim_linked(struct comparison *comparison)
{
	const struct tree *tree = comparison->plan->tree;

	for (uint32_t node = 0; tree->details && node < tree->node_count; node++) {
		uint32_t ino = linked_inode(tree, node);

		if (!ino)
			continue;
		if (!comparison->linked)
			comparison->linked = calloc(bits_words(comparison->volume->inodes + UINT64_C(1)),
			                            sizeof(*comparison->linked));
		if (!comparison->linked)
			return ENOMEM;
		bits_set(comparison->linked, ino);
		bits_set(comparison->claimed, ino);
	}
	return 0;
}

static errcode_t check_removals(const struct comparison *comparison)
{
	for (size_t i = 0; comparison->linked && i < comparison->removal_count; i++)
		if (is_linked(comparison, comparison->removals[i].ino))
			return refuse_linked(comparison, comparison->removals[i].path);
	return 0;
}

errcode_t comparison_decide(struct comparison *comparison)
{
	const struct tree *tree = comparison->plan->tree;
	struct deciding deciding = {
		.comparison = comparison,
		.judge = { .tree = tree,
		           .protection = &comparison->plan->protection,
		           .volume = comparison->volume,
		           .options = comparison->options,
		           .walker = &comparison->walker.map },
	};
	errcode_t error = list_further(&deciding);

	deciding.named = calloc(bits_words(comparison->volume->inodes + UINT64_C(1)), sizeof(*deciding.named));
	if (!error && !deciding.named)
		error = ENOMEM;
	if (!error)
		error = claim_linked(comparison);
	for (uint32_t node = 0; !error && node < tree->node_count; node++)
		error = node % 1024 == 0 && interrupt_pending() ? EINTR : decide_node(&deciding, node);
	if (!error)
		error = check_removals(comparison);
	if (!error)
		error = count_removals(&deciding);
	sameness_end(&deciding.judge);
	free(deciding.further);
	free(deciding.named);
	inode_map_free(&deciding.linked);
	return error;
}
