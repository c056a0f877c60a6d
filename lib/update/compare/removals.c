/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "image/lookup.h"
#include "support/bits.h"
#include "support/run/interrupt.h"
#include "support/vector.h"
#include "update/build/plain_path.h"
#include "update/compare/comparison.h"
#include "update/compare/folded_names.h"
#include "update/compare/linked_files.h"

/* Lists the entries of a directory, after those that are listed already. */
struct listing {
	struct comparison *comparison;
	uint32_t directory;
	const char *path; /* of the directory */
	errcode_t error;
};

static errcode_t add_removal(struct comparison *comparison, uint32_t directory, const char *path, const char *name,
                             uint8_t name_bytes, uint32_t ino)
{
	/* The root is nothing but the slash, or nothing. */
	size_t path_bytes = strcmp(path, "/") ? strlen(path) : 0;
	SCOPE_FREE char *whole = malloc(path_bytes + name_bytes + 2);

	if (!whole)
		return ENOMEM;
	memcpy(whole, path, path_bytes);
	whole[path_bytes] = '/';
	memcpy(whole + path_bytes + 1, name, name_bytes);
	const char *copy = arena_copy_string(&comparison->plan->memory, whole, path_bytes + 1 + name_bytes);
	errcode_t error = vector_reserve(&comparison->removals, &comparison->removal_capacity,
	                                 comparison->removal_count + 1, sizeof(*comparison->removals));

	if (error || !copy)
		return ENOMEM;
	comparison->removals[comparison->removal_count++] = (struct update_action){
		.verb = UPDATE_REMOVE,
		.path = copy,
		.name = copy + path_bytes + 1,
		.name_bytes = name_bytes,
		.parent = directory,
		.ino = ino,
	};
	return 0;
}

static void list_entry(void *context, const struct directory_entry *entry)
{
	struct listing *listing = context;

	if (!listing->error)
		listing->error = add_removal(listing->comparison, listing->directory, listing->path, entry->name,
		                             entry->name_bytes, entry->ino);
}

static errcode_t list_directory(struct comparison *comparison, uint32_t node, const char *path,
                                const struct volume_inode *inode)
{
	struct listing listing = { .comparison = comparison, .directory = inode->ino, .path = path };
	const struct directory_visitor visitor = { .entry = list_entry, .context = &listing };
	struct directory_shape shape;
	uint32_t *fate;
	errcode_t error = inode_map_enter(&comparison->directories, inode->ino, &fate);

	if (error)
		return error;
	if (*fate)
		comparison->damage = "directory, which has two names,";
	*fate = DIRECTORY_REMOVED;
	if (!comparison->damage)
		directory_walk(&comparison->walker, inode->ino, inode->raw, &inode->view, &visitor, &shape);
	return listing.error ? listing.error : comparison_check(comparison, node);
}

/* Lists what lies below the removals from `from` on, and turns them round: directories come after what is in them. */
static errcode_t complete(struct comparison *comparison, uint32_t node, size_t from)
{
	struct update_action *removals;
	errcode_t error = 0;

	for (size_t next = from; !error && next < comparison->removal_count; next++) {
		struct volume_inode inode;

		if (next % 1024 == 0 && interrupt_pending())
			return EINTR;
		error = comparison_read_inode(comparison, node, comparison->removals[next].ino, &inode);
		if (error || !S_ISDIR(inode.view.mode))
			continue;
		comparison->removals[next].was_directory = true;
		error = list_directory(comparison, node, comparison->removals[next].path, &inode);
	}
	removals = comparison->removals;
	for (size_t first = from, last = comparison->removal_count; !error && first + 1 < last; first++) {
		struct update_action moved = removals[first];

		removals[first] = removals[--last];
		removals[last] = moved;
	}
	return error;
}

errcode_t comparison_remove(struct comparison *comparison, uint32_t node, uint32_t directory, const char *name,
                            uint8_t name_bytes, uint32_t ino)
{
	SCOPE_FREE char *path = update_node_path(comparison->plan, directory);
	size_t from = comparison->removal_count;
	errcode_t error =
		path ? add_removal(comparison, comparison->found[directory], path, name, name_bytes, ino) : ENOMEM;

	return error ? error : complete(comparison, node, from);
}

errcode_t comparison_remove_below(struct comparison *comparison, uint32_t node)
{
	SCOPE_FREE char *path = update_node_path(comparison->plan, node);
	size_t from = comparison->removal_count;
	struct volume_inode inode;
	errcode_t error = path ? comparison_read_inode(comparison, node, comparison->found[node], &inode) : ENOMEM;

	if (!error)
		error = list_directory(comparison, node, path, &inode);
	return error ? error : complete(comparison, node, from);
}

/* --- Paths that the user named ------------------------------------------------------------------------------------ */

/* The rest of path below a directory; NULL: it is not below it. Both are plain paths. */
static const char *path_below(const char *path, const char *directory)
{
	size_t bytes = strlen(directory);

	if (!bytes)
		return path;
	return !strncmp(path, directory, bytes) && (!path[bytes] || path[bytes] == '/') ? path + bytes + !!path[bytes] :
	                                                                                  NULL;
}

/*
 * A symbolic link on the way is not followed: what is there under the path is not known then. Below another file there
 * is nothing.
 */
static errcode_t refuse_symlink(struct comparison *comparison, char *path)
{
	errcode_t error = 0;

	for (char *slash = strchr(path + 1, '/'); !error && slash; slash = strchr(slash + 1, '/')) {
		struct volume_inode inode;
		uint32_t ino;

		*slash = '\0';
		error = paths_lookup(comparison->volume, path, (struct damage_listener){ 0 }, &ino);
		*slash = '/';
		if (error == ENOENT || error == ENOTDIR)
			return 0;
		if (!error)
			error = comparison_read_inode(comparison, TREE_ROOT, ino, &inode);
		if (!error && S_ISLNK(inode.view.mode))
			error = problem_set_reason(comparison->problem, ENOTDIR, path, "cannot remove",
			                           "%.*s is a symbolic link: name what it leads to",
			                           (int)(slash - path), path);
	}
	return error;
}

/* The node of a directory of the image; TREE_ROOT, unless that is it: there is none. */
static uint32_t node_of(const struct comparison *comparison, uint32_t directory)
{
	const struct update_plan *plan = comparison->plan;

	for (uint32_t node = 0; node < plan->tree->node_count; node++)
		if (plan->inos[node] == directory && S_ISDIR(plan->tree->nodes[node].mode))
			return node;
	return TREE_ROOT;
}

/* Where case is ignored, the tree may have the name in another one. */
static errcode_t find_other_case(struct comparison *comparison, uint32_t directory, const char *name, bool *is_there)
{
	const struct tree *tree = comparison->plan->tree;
	struct folded_names names;
	struct volume_inode inode;
	errcode_t error = comparison_read_inode(comparison, TREE_ROOT, directory, &inode);

	*is_there = false;
	if (error || !(inode.view.flags & EXT4_CASEFOLD_FL) || !comparison->volume->format.encoding)
		return error;
	error = folded_names_make(comparison, node_of(comparison, directory), &names);
	if (error)
		return error;
	uint32_t node = folded_names_find(comparison, &names, (struct directory_name){ name, (uint8_t)strlen(name) });

	*is_there = node != TREE_ROOT && !linked_inode(tree, node);
	folded_names_free(&names);
	return 0;
}

/* The name in its directory, which comparison->directories may say is emptied anyway. */
static errcode_t remove_path(struct comparison *comparison, char *path)
{
	const struct damage_listener damage = { 0 };
	char *slash = strrchr(path, '/');
	uint32_t directory, ino;
	errcode_t error = paths_lookup(comparison->volume, path, damage, &ino);

	if (!error) {
		*slash = '\0';
		error = paths_lookup(comparison->volume, path, damage, &directory);
		*slash = '/';
	}
	/* It is gone: the same command again shall not fail. */
	if (error == ENOENT)
		return 0;
	if (error == ENOTDIR)
		return refuse_symlink(comparison, path);
	if (error)
		return error;
	if (ino < comparison->volume->geometry.first_inode)
		return problem_set_reason(comparison->problem, EINVAL, path, "cannot remove",
		                          "it is the filesystem's own");
	const uint32_t *fate = inode_map_find(&comparison->directories, directory);

	bool is_there = fate && *fate != DIRECTORY_KEPT;

	if (fate && !is_there)
		error = find_other_case(comparison, directory, slash + 1, &is_there);
	if (error || is_there)
		return error;
	size_t from = comparison->removal_count;

	*slash = '\0';
	error = add_removal(comparison, directory, path, slash + 1, (uint8_t)strlen(slash + 1), ino);
	*slash = '/';
	return error ? error : complete(comparison, TREE_ROOT, from);
}

static int compare_paths(const void *one, const void *other)
{
	return strcmp(*(char *const *)one, *(char *const *)other);
}

/* Calls for each of the user's paths, with where in the tree it is, if it is there. */
typedef errcode_t (*path_function)(struct comparison *comparison, char *path, bool is_in_tree, uint32_t node);

static errcode_t mark_path(struct comparison *comparison, char *path, bool is_in_tree, uint32_t node)
{
	struct tree_node *nodes = comparison->plan->tree->nodes;

	(void)path;
	/* The mark makes anything else a whiteout. */
	if (is_in_tree && S_ISDIR(nodes[node].mode))
		nodes[node].is_opaque = true;
	return 0;
}

/* What the tree has at the path replaces what is there. */
static errcode_t remove_other_path(struct comparison *comparison, char *path, bool is_in_tree, uint32_t node)
{
	(void)node;
	return is_in_tree ? 0 : remove_path(comparison, path);
}

/* A path that is named twice counts once. */
static errcode_t visit_plain_paths(struct comparison *comparison, char **paths, uint32_t count, path_function function)
{
	const char *into = comparison->plan->base;
	errcode_t error = 0;

	/* A directory comes before what lies below it. */
	qsort(paths, count, sizeof(*paths), compare_paths);
	for (uint32_t i = 0; !error && i < count; i++) {
		const char *in_tree = path_below(paths[i], into);
		uint32_t node = TREE_ROOT;

		if (i && !strcmp(paths[i], paths[i - 1]))
			continue;
		if (path_below(into, paths[i]))
			return problem_set_reason(comparison->problem, EINVAL, *paths[i] ? paths[i] : "/",
			                          "cannot remove", "the update is laid into it");
		bool is_in_tree = in_tree && tree_find_path(comparison->plan->tree, in_tree, &node) &&
		                  !linked_inode(comparison->plan->tree, node);

		error = function(comparison, paths[i], is_in_tree, node);
	}
	return error;
}

static errcode_t visit_paths(struct comparison *comparison, path_function function)
{
	const struct update_options *options = comparison->options;
	SCOPE_FREE char **paths = calloc(options->removed_count + 1ul, sizeof(*paths));
	errcode_t error = paths ? 0 : ENOMEM;

	for (uint32_t i = 0; !error && i < options->removed_count; i++)
		error = (paths[i] = plain_path(options->removed[i])) ? 0 : ENOMEM;
	if (!error)
		error = visit_plain_paths(comparison, paths, options->removed_count, function);
	for (uint32_t i = 0; paths && i < options->removed_count; i++)
		free(paths[i]);
	return error;
}

errcode_t comparison_mark_paths(struct comparison *comparison)
{
	return visit_paths(comparison, mark_path);
}

/* comparison_decide() has looked at all other removals. */
static errcode_t check_links(const struct comparison *comparison, size_t from)
{
	for (size_t i = from; comparison->linked && i < comparison->removal_count; i++)
		if (bits_test(comparison->linked, comparison->removals[i].ino))
			return problem_set_reason(comparison->problem, EOPNOTSUPP, comparison->removals[i].path,
			                          "cannot remove", "a source links to it: make two updates of it");
	return 0;
}

errcode_t comparison_remove_paths(struct comparison *comparison)
{
	size_t from = comparison->removal_count;
	errcode_t error = visit_paths(comparison, remove_other_path);

	return error ? error : check_links(comparison, from);
}
