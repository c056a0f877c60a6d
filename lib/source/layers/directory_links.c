/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/layers/directory_links.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#include "support/run/interrupt.h"
#include "support/vector.h"
#include "tree/entry_numbers.h"

/* As many as Linux follows on the way to a file. */
#define MOST_LINKS 40

/* Cuts the last name off. */
static void ascend(char *path)
{
	char *slash = strrchr(path, '/');

	*(slash ? slash : path) = '\0';
}

static char *join(const char *directory, const char *name, size_t bytes)
{
	char *path;

	return asprintf(&path, "%s%s%.*s", directory, *directory ? "/" : "", (int)bytes, name) < 0 ? NULL : path;
}

/* A path that is followed: what has been reached, and what is still to come. */
struct descent {
	char *reached, *pending;
	size_t at; /* in pending */
	unsigned int links;
	uint16_t mode; /* of what has been reached */
};

/* The rest of the path follows the link's target. *leads: the link can be followed. */
static errcode_t enter_link(struct descent *descent, const char *target, bool *leads)
{
	char *pending;

	*leads = *target && ++descent->links <= MOST_LINKS;
	if (!*leads)
		return 0;
	if (asprintf(&pending, "%s/%s", target, descent->pending + descent->at) < 0)
		return ENOMEM;
	if (*target == '/')
		*descent->reached = '\0';
	free(descent->pending);
	descent->pending = pending;
	descent->at = 0;
	return 0;
}

static errcode_t descend(const struct lower_files *lower, struct descent *descent, const char *name, size_t bytes,
                         bool follows, bool *leads)
{
	SCOPE_FREE char *next = join(descent->reached, name, bytes), *target = NULL;
	uint16_t mode = 0;
	errcode_t error = next ? lower->look(lower->context, next, &mode, &target) : ENOMEM;

	if (error)
		return error;
	if (S_ISLNK(mode) && follows)
		return enter_link(descent, target, leads);
	free(descent->reached);
	descent->reached = TAKE(next);
	descent->mode = mode;
	return 0;
}

errcode_t lower_files_resolve(const struct lower_files *lower, const char *path, bool follows_last, char **ret,
                              uint16_t *mode)
{
	struct descent descent = { .reached = strdup(""), .pending = strdup(path), .mode = S_IFDIR };
	errcode_t error = descent.reached && descent.pending ? 0 : ENOMEM;
	bool leads = true;

	while (!error && leads && descent.pending[descent.at += strspn(descent.pending + descent.at, "/")]) {
		const char *name = descent.pending + descent.at;
		size_t bytes = strcspn(name, "/");
		bool is_last = !name[bytes + strspn(name + bytes, "/")];

		descent.at += bytes;
		leads = S_ISDIR(descent.mode);
		if (!leads || (bytes == 1 && *name == '.'))
			continue;
		if (bytes == 2 && !memcmp(name, "..", 2))
			ascend(descent.reached);
		else
			error = descend(lower, &descent, name, bytes, follows_last || !is_last, &leads);
	}
	*ret = error || !leads ? NULL : TAKE(descent.reached);
	*mode = descent.mode;
	free(descent.reached);
	free(descent.pending);
	return error;
}

/*
 * The nodes as entries (tree/entry_numbers.h), of which these members have another meaning here: first_child, the first
 * entry in a directory, and links, the next one there (0: none), in the order of names. Replaced entries stay in these
 * lists for a while.
 */
struct following {
	struct tree *tree; /* its nodes stay as they are until the end */
	const struct lower_files *lower;
	bool only_implied;
	struct tree_node *entries;
	size_t count, capacity;
	uint32_t *pending; /* directories whose paths are still to be looked at */
	size_t pending_count, pending_capacity;
	struct adoption {
		uint32_t to, from;
	} * adoptions; /* directories that are still to be joined */
	size_t adoption_count, adoption_capacity;
	uint64_t followed;
	struct problem *problem;
};

static struct ascent step(const void *context, uint32_t number)
{
	const struct tree_node *entry = &((const struct following *)context)->entries[number];

	return (struct ascent){ entry->name, entry->name_bytes, entry->parent };
}

static errcode_t make_entries(struct following *following)
{
	const struct tree *tree = following->tree;
	errcode_t error = vector_reserve(&following->entries, &following->capacity, tree->node_count,
	                                 sizeof(*following->entries));

	if (error)
		return error;
	memcpy(following->entries, tree->nodes, tree->node_count * sizeof(*tree->nodes));
	following->count = tree->node_count;
	for (uint32_t i = 0; i < tree->node_count; i++) {
		const struct tree_node *parent = &tree->nodes[tree->nodes[i].parent];
		bool is_last = i == TREE_ROOT || i + 1 == parent->first_child + parent->child_count;

		if (!following->entries[i].child_count)
			following->entries[i].first_child = 0;
		following->entries[i].child_count = 0;
		following->entries[i].links = is_last ? 0 : i + 1;
	}
	return 0;
}

static errcode_t look_later(struct following *following, uint32_t entry)
{
	return S_ISDIR(following->entries[entry].mode) ?
	               vector_add(&following->pending, &following->pending_count, &following->pending_capacity, &entry,
	                          sizeof(entry)) :
	               0;
}

/* The entry takes the place in its directory of the one that `place` names. */
static void take_place(struct tree_node *entries, uint32_t *place, uint32_t entry)
{
	entries[*place].child_count = ENTRY_REPLACED;
	entries[entry].links = entries[*place].links;
	entries[entry].parent = entries[*place].parent;
	*place = entry;
}

/* Moves on to the entry of this name, or to where it would be; true: it is there. */
static bool find_place(struct tree_node *entries, const char *name, size_t bytes, uint32_t **place)
{
	while (**place) {
		struct tree_node *entry = &entries[**place];
		int order = entry->child_count ? 1 : tree_name_compare(entry->name, entry->name_bytes, name, bytes);

		if (entry->child_count)
			**place = entry->links;
		else if (order < 0)
			*place = &entry->links;
		else
			return !order;
	}
	return false;
}

static errcode_t adopt_later(struct following *following, uint32_t to, uint32_t from)
{
	return vector_add(&following->adoptions, &following->adoption_count, &following->adoption_capacity,
	                  &(const struct adoption){ to, from }, sizeof(struct adoption));
}

/* Two directories of one name become one, which takes the place. */
static errcode_t join_directories(struct following *following, uint32_t *place, uint32_t entry)
{
	struct tree_node *entries = following->entries;
	const uint32_t old = *place;

	entries[entry].has_only_whiteouts = entries[old].has_only_whiteouts =
		entries[entry].has_only_whiteouts && entries[old].has_only_whiteouts;
	entries[entry].is_opaque = entries[old].is_opaque = entries[entry].is_opaque || entries[old].is_opaque;
	if (entries[entry].is_implied || !entries[old].is_implied) {
		entries[entry].child_count = ENTRY_REPLACED;
		return adopt_later(following, old, entry);
	}
	take_place(entries, place, entry);
	return adopt_later(following, entry, old);
}

/* A node that only says that files of the layers below are gone. */
static bool is_mark(const struct tree_node *entry)
{
	return tree_node_is_whiteout(entry) || entry->has_only_whiteouts;
}

/* A whiteout of the same layer hides what the layers below have there. */
static void hide_below(struct tree_node *entry)
{
	if (!S_ISDIR(entry->mode))
		return;
	entry->is_opaque = true;
	entry->is_implied = false;
}

static errcode_t refuse(const struct following *following, uint32_t entry, errcode_t error, const char *reason)
{
	SCOPE_FREE char *path = path_text("", step, following, entry, NULL);

	return problem_set_reason(following->problem, error, path, "cannot follow a symbolic link", "%s", reason);
}

/* Two entries of one name, of which one at least is no directory, meet: one of them stays. */
static errcode_t choose(struct following *following, uint32_t *place, uint32_t entry)
{
	struct tree_node *entries = following->entries, *old = &entries[*place], *new = &entries[entry];
	const bool hides = tree_node_is_whiteout(old) || tree_node_is_whiteout(new);

	if (!is_mark(old) && !is_mark(new) && S_ISDIR(old->mode) != S_ISDIR(new->mode))
		/* Neither is left out in silence, since all files in the directory would be, too. */
		return refuse(following, *place, EEXIST,
		              "the source has a file and a directory that would get this name");
	if (is_mark(old) && (!is_mark(new) || tree_node_is_whiteout(new)))
		take_place(entries, place, entry);
	else
		new->child_count = ENTRY_REPLACED;
	if (hides && !is_mark(&entries[*place]))
		hide_below(&entries[*place]);
	return 0;
}

/* Moves all that is in one directory to another. */
static errcode_t adopt(struct following *following, struct adoption adoption)
{
	struct tree_node *entries = following->entries;
	uint32_t *place = &entries[adoption.to].first_child, entry = entries[adoption.from].first_child, next;
	errcode_t error = 0;

	entries[adoption.from].first_child = 0;
	for (; !error && entry; entry = next) {
		next = entries[entry].links;
		if (entries[entry].child_count)
			continue;
		if (!find_place(entries, entries[entry].name, entries[entry].name_bytes, &place)) {
			entries[entry].links = *place;
			entries[entry].parent = adoption.to;
			*place = entry;
		} else if (S_ISDIR(entries[*place].mode) && S_ISDIR(entries[entry].mode)) {
			error = join_directories(following, place, entry);
		} else {
			error = choose(following, place, entry);
		}
		if (!error)
			error = look_later(following, *place);
	}
	return error;
}

static struct tree_node implied_directory(const struct tree_node *needed_by)
{
	return (struct tree_node){
		.mode = S_IFDIR | 0755,
		.is_implied = true,
		.has_only_whiteouts = needed_by->has_only_whiteouts,
		.mtime_seconds = needed_by->mtime_seconds,
		.mtime_nanoseconds = needed_by->mtime_nanoseconds,
		.origin = needed_by->origin,
	};
}

/* Enters a directory's directory of this name. Makes it if it is not there, with what the first file in it says. */
static errcode_t enter(struct following *following, uint32_t *directory, const char *name, size_t bytes,
                       uint32_t needed_by)
{
	errcode_t error = vector_reserve(&following->entries, &following->capacity, following->count + 1,
	                                 sizeof(*following->entries));
	struct tree_node *entries = following->entries;
	uint32_t *place = &entries[*directory].first_child, made = (uint32_t)following->count;

	if (error || made == UINT32_MAX)
		return ENOMEM;
	if (find_place(entries, name, bytes, &place)) {
		*directory = *place;
		return 0;
	}
	entries[made] = implied_directory(&entries[needed_by]);
	entries[made].name = arena_copy_string(&following->tree->memory, name, bytes);
	entries[made].name_bytes = (uint8_t)bytes;
	entries[made].link_to = made;
	entries[made].parent = *directory;
	entries[made].links = *place;
	*place = *directory = made;
	following->count++;
	return entries[made].name ? 0 : ENOMEM;
}

/* Moves what is in the directory to another path. */
static errcode_t move(struct following *following, uint32_t from, const char *path)
{
	uint32_t to = TREE_ROOT;
	errcode_t error = 0;

	following->entries[from].child_count = ENTRY_REPLACED;
	following->followed++;
	for (size_t bytes; !error && *path; path += bytes + (path[bytes] == '/')) {
		bytes = strcspn(path, "/");
		error = enter(following, &to, path, bytes, from);
	}
	struct tree_node *entries = following->entries;

	if (error)
		return error;
	entries[to].is_opaque = entries[to].is_opaque || entries[from].is_opaque;
	for (uint32_t at = to; !entries[from].has_only_whiteouts && at != TREE_ROOT; at = entries[at].parent)
		entries[at].has_only_whiteouts = false;
	error = adopt_later(following, to, from);
	while (!error && following->adoption_count)
		error = adopt(following, following->adoptions[--following->adoption_count]);
	return error;
}

/* A directory that hides what lies below it replaces a link, and no link lies below what is in it. */
static bool may_follow(const struct following *following, const struct tree_node *directory)
{
	return directory->has_only_whiteouts ||
	       (!directory->is_opaque && (!following->only_implied || directory->is_implied));
}

/* Does the tree itself have something on the way to this directory that hides it? */
static bool hides(const struct following *following, const char *path)
{
	struct tree_node *entries = following->entries;
	uint32_t at = TREE_ROOT;

	while (*path) {
		const size_t bytes = strcspn(path, "/");
		uint32_t *place = &entries[at].first_child;

		if (at != TREE_ROOT && entries[at].is_opaque)
			return true;
		if (!find_place(entries, path, bytes, &place))
			return false;
		at = *place;
		if (!S_ISDIR(entries[at].mode))
			return true;
		path += bytes + (path[bytes] == '/');
	}
	return false;
}

static errcode_t follow(struct following *following, uint32_t entry, const char *path)
{
	SCOPE_FREE char *to = NULL;
	uint16_t mode;
	errcode_t error = lower_files_resolve(following->lower, path, true, &to, &mode);

	if (!error && to && S_ISDIR(mode) && !hides(following, to))
		return move(following, entry, to);
	if (error || !following->lower->must_lead || following->entries[entry].has_only_whiteouts)
		return error;
	return refuse(following, entry, ENOTDIR,
	              "it leads to no directory, and a source has a directory of this name: --remove the link first");
}

static errcode_t look_at(struct following *following, uint32_t entry)
{
	const struct tree_node *directory = &following->entries[entry];
	SCOPE_FREE char *path = path_text("", step, following, entry, NULL), *target = NULL;
	uint16_t mode = S_IFDIR;
	errcode_t error = path ? 0 : ENOMEM;

	if (!error && interrupt_pending())
		error = EINTR;
	if (!error && entry != TREE_ROOT)
		error = following->lower->look(following->lower->context, path + 1, &mode, &target);
	if (!error && S_ISLNK(mode) && may_follow(following, directory))
		return follow(following, entry, path + 1);
	if (error || !S_ISDIR(mode) || (directory->is_opaque && !directory->has_only_whiteouts))
		return error;
	for (uint32_t at = directory->first_child; !error && at; at = following->entries[at].links)
		error = look_later(following, at);
	return error;
}

/* A file of the host may be found by its place in the tree, which changes. */
static errcode_t fix_contents(const struct following *following)
{
	struct tree *tree = following->tree;
	errcode_t error = 0;

	for (uint32_t i = 0; !error && i < tree->node_count; i++) {
		if (!S_ISREG(tree->nodes[i].mode) || tree_node_is_link(tree, i))
			continue;
		error = tree_fix_contents(tree, i);
		tree_set_contents(&following->entries[i], tree_contents(&tree->nodes[i]));
	}
	return error;
}

static errcode_t renumber(struct following *following, uint32_t **order, struct pool *pool, struct problem *problem)
{
	struct tree *tree = following->tree;
	const uint32_t nodes = tree->node_count;
	SCOPE_FREE uint32_t *entry_of = NULL;
	errcode_t error = fix_contents(following);

	if (error)
		return error;
	free(TAKE(tree->nodes));
	tree->node_count = 0;
	error = entries_number(tree, &following->entries, (uint32_t)following->count, pool, &entry_of, problem);
	if (error || !order)
		return error;
	uint32_t *changed = malloc(tree->node_count * sizeof(*changed));

	if (!changed)
		return ENOMEM;
	for (uint32_t i = 0; i < tree->node_count; i++)
		changed[i] = entry_of[i] < nodes ? (*order)[entry_of[i]] : 0;
	free(*order);
	*order = changed;
	return 0;
}

errcode_t directory_links_follow(struct tree *tree, const struct lower_files *lower, bool only_implied,
                                 uint32_t **order, struct pool *pool, uint64_t *followed, struct problem *problem)
{
	struct following following = {
		.tree = tree,
		.lower = lower,
		.only_implied = only_implied,
		.problem = problem,
	};
	errcode_t error = make_entries(&following);

	if (!error)
		error = look_later(&following, TREE_ROOT);
	while (!error && following.pending_count) {
		uint32_t entry = following.pending[--following.pending_count];

		if (!following.entries[entry].child_count)
			error = look_at(&following, entry);
	}
	if (!error && following.followed)
		error = renumber(&following, order, pool, problem);
	*followed += following.followed;
	free(following.entries);
	free(following.pending);
	free(following.adoptions);
	return error;
}
