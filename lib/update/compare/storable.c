/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "ondisk/file_map.h"
#include "support/bits.h"
#include "update/build/xattr_list.h"
#include "update/compare/folded_names.h"

#define ACTION "cannot be stored"

static errcode_t check_size(const struct comparison *comparison, const struct tree_node *node)
{
	const struct ondisk_format *format = &comparison->volume->format;

	switch (node->mode & S_IFMT) {
	case S_IFREG:
		return node->size_bytes > file_map_max_bytes(format) ? EFBIG : 0;
	case S_IFLNK:
		/* The target and its terminating NUL must fit one block. */
		return node->size_bytes < format->block_bytes ? 0 : ENAMETOOLONG;
	case S_IFCHR:
	case S_IFBLK:
		return node->device.major > INODE_MAX_MAJOR || node->device.minor > INODE_MAX_MINOR ? EOVERFLOW : 0;
	default:
		return 0;
	}
}

static errcode_t check_xattrs(const struct comparison *comparison, const struct tree_node *node)
{
	struct xattr_list list;

	return node->xattrs == TREE_NO_XATTRS ?
	               0 :
	               xattr_list_make(comparison->plan->tree, node->xattrs, &comparison->volume->format, &list);
}

static errcode_t refuse(const struct comparison *comparison, uint32_t number, errcode_t error)
{
	const struct tree_node *node = &comparison->plan->tree->nodes[number];
	SCOPE_FREE char *path = tree_path(comparison->plan->tree, number);

	if (error == E2BIG)
		return problem_set_reason(comparison->problem, error, path, "cannot store its extended attributes",
		                          "they need more than an inode and a block of %" PRIu32 " bytes hold%s",
		                          comparison->volume->format.block_bytes,
		                          comparison->volume->format.ea_inode ? "" :
		                                                                " (the feature ea_inode would help)");
	if (error == EMLINK)
		return problem_set_reason(comparison->problem, error, path, ACTION,
		                          "it has %" PRIu32 " names, and a file may have %d", node->links,
		                          EXT2_LINK_MAX);
	return problem_set(comparison->problem, error, path, ACTION);
}

/* e2fsck -p gives up if lost+found is not a directory: a host could not boot from such an image. */
static bool is_wrong_lost_found(const struct comparison *comparison, const struct tree_node *node)
{
	return node->parent == TREE_ROOT && comparison->found[TREE_ROOT] == EXT2_ROOT_INO && !S_ISDIR(node->mode) &&
	       !strcmp(node->name, "lost+found");
}

/* Counts another name of an inode of the image; names: how many names each has by then. */
static errcode_t check_link(struct comparison *comparison, uint32_t number, struct inode_map *names)
{
	const struct update_plan *plan = comparison->plan;
	uint32_t ino = plan->inos[plan->tree->nodes[number].link_to], *count;
	struct volume_inode inode;

	/* A new inode has the names that its file has in the tree. */
	if (!ino)
		return 0;
	errcode_t error = inode_map_enter(names, ino, &count);

	if (!error && !*count) {
		error = comparison_read_inode(comparison, number, ino, &inode);
		*count = error ? 0 : inode.view.links;
	}
	if (error || ++*count <= EXT2_LINK_MAX)
		return error;
	SCOPE_FREE char *path = update_node_path(plan, number);

	return problem_set_reason(comparison->problem, EMLINK, path, ACTION,
	                          "the file that it is a link to would have more than %d names", EXT2_LINK_MAX);
}

static errcode_t check_links(struct comparison *comparison)
{
	const struct update_plan *plan = comparison->plan;
	struct inode_map names = { 0 };
	errcode_t error = 0;

	for (size_t i = 0; !error && i < plan->count; i++)
		if (plan->actions[i].verb == UPDATE_LINK)
			error = check_link(comparison, plan->actions[i].node, &names);
	inode_map_free(&names);
	return error;
}

static errcode_t check_case(const struct comparison *comparison, uint32_t directory)
{
	const struct tree *tree = comparison->plan->tree;
	struct folded_names names;
	uint32_t one, other;
	errcode_t error = folded_names_make(comparison, directory, &names);
	bool is_clash = !error && folded_names_clash(comparison, &names, &one, &other) &&
	                !tree_node_is_whiteout(&tree->nodes[one]) && !tree_node_is_whiteout(&tree->nodes[other]);

	folded_names_free(&names);
	if (!is_clash)
		return error;
	SCOPE_FREE char *path = update_node_path(comparison->plan, other);

	return problem_set_reason(comparison->problem, EEXIST, path, ACTION,
	                          "its directory ignores case, and a source has %s in it, too", tree->nodes[one].name);
}

/* A new directory ignores case as the one in which it is does. */
static errcode_t check_cases(struct comparison *comparison)
{
	const struct update_plan *plan = comparison->plan;
	SCOPE_FREE uint64_t *folds = calloc(bits_words(plan->tree->node_count), sizeof(*folds));
	errcode_t error = folds ? 0 : ENOMEM;

	for (uint32_t number = 0; !error && number < plan->tree->node_count; number++) {
		const struct tree_node *node = &plan->tree->nodes[number];
		struct volume_inode inode;
		bool is_folded = node->is_casefolded;

		if (!S_ISDIR(node->mode))
			continue;
		if (plan->inos[number]) {
			error = comparison_read_inode(comparison, number, plan->inos[number], &inode);
			is_folded |= !error && inode.view.flags & EXT4_CASEFOLD_FL;
		} else {
			is_folded |= number && bits_test(folds, node->parent);
		}
		if (is_folded)
			bits_set(folds, number);
		if (!error && is_folded && node->child_count > 1)
			error = check_case(comparison, number);
	}
	return error;
}

errcode_t comparison_check_storable(struct comparison *comparison)
{
	const struct update_plan *plan = comparison->plan;
	errcode_t error = check_links(comparison);

	if (!error && comparison->volume->format.encoding)
		error = check_cases(comparison);

	for (size_t i = 0; !error && i < plan->count; i++) {
		const struct update_action *action = &plan->actions[i];
		const struct tree_node *node = &plan->tree->nodes[action->node];

		if (action->verb == UPDATE_REMOVE)
			continue;
		if (is_wrong_lost_found(comparison, node))
			return refuse(comparison, action->node, ENOTDIR);
		if (action->verb == UPDATE_LINK)
			continue;
		error = check_size(comparison, node);
		if (!error)
			error = check_xattrs(comparison, node);
		if (!error && !S_ISDIR(node->mode) && node->links > EXT2_LINK_MAX)
			error = EMLINK;
		if (error)
			return refuse(comparison, action->node, error);
	}
	return error;
}
