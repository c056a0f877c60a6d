/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "support/run/interrupt.h"
#include "support/vector.h"
#include "update/compare/comparison.h"
#include "update/compare/folded_names.h"

/* A name of the image that the tree does not have. */
struct other_name {
	const char *name; /* in the plan's memory */
	uint8_t name_bytes;
	uint32_t ino;
};

/* A directory of the image whose names are looked up in the tree. */
struct finding {
	struct comparison *comparison;
	uint32_t node;
	bool lists_others;          /* they are to be removed */
	struct folded_names folded; /* empty: the directory heeds case */
	struct other_name *others;
	size_t other_count, other_capacity;
	errcode_t error;
};

static errcode_t note_other(struct finding *finding, const struct directory_entry *entry)
{
	struct comparison *comparison = finding->comparison;
	const char *copy = arena_copy_string(&comparison->plan->memory, entry->name, entry->name_bytes);
	errcode_t error = vector_reserve(&finding->others, &finding->other_capacity, finding->other_count + 1,
	                                 sizeof(*finding->others));

	if (error || !copy)
		return ENOMEM;
	finding->others[finding->other_count++] = (struct other_name){ copy, entry->name_bytes, entry->ino };
	return 0;
}

/* e2fsck makes it again, and a mirror of a tree that has none shall be the same twice. */
static bool is_lost_found(const struct finding *finding, const struct directory_entry *entry)
{
	const char name[] = "lost+found";

	return finding->comparison->found[finding->node] == EXT2_ROOT_INO && entry->name_bytes == sizeof(name) - 1 &&
	       !memcmp(entry->name, name, sizeof(name) - 1);
}

static void find_entry(void *context, const struct directory_entry *entry)
{
	struct finding *finding = context;
	struct comparison *comparison = finding->comparison;
	uint32_t child = tree_find(comparison->plan->tree, finding->node, entry->name, entry->name_bytes);

	if (child == TREE_ROOT && finding->folded.list)
		child = folded_names_find(comparison, &finding->folded,
		                          (struct directory_name){ entry->name, entry->name_bytes });
	if (child != TREE_ROOT)
		comparison->found[child] = entry->ino;
	else if (finding->lists_others && !finding->error && !is_lost_found(finding, entry))
		finding->error = note_other(finding, entry);
}

static errcode_t remove_others(struct finding *finding)
{
	struct comparison *comparison = finding->comparison;
	errcode_t error = 0;

	for (size_t i = 0; !error && i < finding->other_count; i++)
		error = comparison_remove(comparison, finding->node, finding->node, finding->others[i].name,
		                          finding->others[i].name_bytes, finding->others[i].ino);
	return error;
}

static errcode_t refuse_encrypted(const struct comparison *comparison, uint32_t node)
{
	SCOPE_FREE char *path = update_node_path(comparison->plan, node);

	return problem_set_reason(comparison->problem, EOPNOTSUPP, comparison->options->image, "cannot update",
	                          "%s: the directory is encrypted", path ? path : "?");
}

static errcode_t find_in_directory(struct comparison *comparison, uint32_t node, const struct volume_inode *inode)
{
	const struct tree_node *directory = &comparison->plan->tree->nodes[node];
	struct finding finding = {
		.comparison = comparison,
		.node = node,
		.lists_others = directory->is_opaque || comparison->options->mirrors,
	};
	const struct directory_visitor visitor = { .entry = find_entry, .context = &finding };
	struct directory_shape shape;
	uint32_t *fate;
	errcode_t error = inode_map_enter(&comparison->directories, inode->ino, &fate);

	if (error)
		return error;
	if (*fate)
		comparison->damage = "directory, which has two names,";
	*fate = finding.lists_others ? DIRECTORY_COMPLETED : DIRECTORY_KEPT;
	if (comparison->damage || (!directory->child_count && !finding.lists_others))
		return comparison_check(comparison, node);
	if (inode->view.flags & EXT4_ENCRYPT_FL)
		return refuse_encrypted(comparison, node);
	if (inode->view.flags & EXT4_CASEFOLD_FL && comparison->volume->format.encoding)
		error = folded_names_make(comparison, node, &finding.folded);
	if (!error)
		directory_walk(&comparison->walker, inode->ino, inode->raw, &inode->view, &visitor, &shape);
	error = error ? error : finding.error ? finding.error : comparison_check(comparison, node);
	if (!error)
		error = remove_others(&finding);
	folded_names_free(&finding.folded);
	free(finding.others);
	return error;
}

/*
 * The directory may be /lib or /sbin of a tree or a package, where the image's leads to usr/lib: all that uses it would
 * be lost. Only a layer, whose whiteouts are meant, and a source that is all that there is to be say that it shall go;
 * a layer that only names files in a directory says nothing of the directory itself.
 */
static bool may_replace_symlink(const struct comparison *comparison, const struct tree_node *directory)
{
	const struct update_options *options = comparison->options;

	return options->mirrors || directory->is_opaque ||
	       (options->layering.whiteouts != WHITEOUTS_NONE && !directory->is_implied);
}

static errcode_t refuse_symlink(const struct comparison *comparison, uint32_t node)
{
	SCOPE_FREE char *path = update_node_path(comparison->plan, node);

	return problem_set_reason(
		comparison->problem, ENOTDIR, comparison->options->image, "cannot update",
		"%s: it is a symbolic link, and a source has a directory of this name: %s, or --remove the link first",
		path ? path : "?",
		comparison->options->layering.follows_links ?
			"the link leads to no directory" :
			"--keep-directory-links puts its files where the link leads");
}

/* Does a directory above hide what the image has here? */
static bool is_hidden(const struct comparison *comparison, uint32_t number)
{
	const struct tree_node *nodes = comparison->plan->tree->nodes;

	return number != TREE_ROOT && nodes[nodes[number].parent].is_opaque;
}

/* So it hides all in the directories in it, and their metadata. */
static void hide_below(const struct comparison *comparison, uint32_t number)
{
	struct tree_node *node = &comparison->plan->tree->nodes[number];

	if (!S_ISDIR(node->mode) || !is_hidden(comparison, number))
		return;
	node->is_opaque = true;
	node->is_implied = false;
}

static errcode_t find_node(struct comparison *comparison, uint32_t number)
{
	const struct tree_node *node = &comparison->plan->tree->nodes[number];
	uint32_t ino = comparison->found[number];
	struct volume_inode inode;
	errcode_t error;

	if (tree_node_is_whiteout(node) ||
	    (node->has_only_whiteouts && (comparison->options->mirrors || is_hidden(comparison, number))))
		return comparison_remove(comparison, number, node->parent, node->name, node->name_bytes, ino);
	if (!S_ISDIR(node->mode))
		return 0;
	error = comparison_read_inode(comparison, number, ino, &inode);
	if (!error && S_ISLNK(inode.view.mode) && !node->has_only_whiteouts && !may_replace_symlink(comparison, node))
		return refuse_symlink(comparison, number);
	if (error || !S_ISDIR(inode.view.mode))
		return error;
	comparison->plan->inos[number] = ino;
	return find_in_directory(comparison, number, &inode);
}

errcode_t comparison_find(struct comparison *comparison)
{
	const struct tree *tree = comparison->plan->tree;
	errcode_t error = 0;

	/* Parents come first, so that their names have been looked up. */
	for (uint32_t node = 0; !error && node < tree->node_count; node++) {
		if (node % 1024 == 0 && interrupt_pending())
			return EINTR;
		hide_below(comparison, node);
		if (comparison->found[node])
			error = find_node(comparison, node);
	}
	return error;
}
