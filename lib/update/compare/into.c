/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "update/compare/into.h"

#include <errno.h>

#include "image/directory_walk.h"
#include "image/inode.h"
#include "image/lookup.h"
#include "support/text/nearest.h"
#include "tree/push_down.h"

#define LEAST_BYTES 3 /* shorter names are like too many others */
#define ACTION "cannot update this directory"

/* The names of a directory, of which one may be what was meant. */
struct search {
	struct nearest nearest;
	struct arena *memory;
	errcode_t error;
};

static void try_name(void *context, const struct directory_entry *entry)
{
	struct search *search = context;
	const char *name = arena_copy_string(search->memory, entry->name, entry->name_bytes);

	search->error = name ? search->error : ENOMEM;
	if (name)
		nearest_try(&search->nearest, name);
}

static errcode_t find_nearest(const struct volume *volume, const char *directory, struct search *search)
{
	const struct directory_visitor visitor = { .entry = try_name, .context = search };
	SCOPE_FREE uint8_t *raw = malloc(volume->format.inode_bytes);
	uint64_t map_blocks = 0, directory_blocks = 0;
	struct directory_walker walker;
	struct directory_shape shape;
	struct volume_inode inode;
	uint32_t ino;
	errcode_t error = raw ? paths_lookup(volume, directory, (struct damage_listener){ 0 }, &ino) : ENOMEM;

	if (!error)
		error = volume_inode_read(volume, ino, raw, &inode);
	if (!error)
		error = directory_walker_open(volume, (struct damage_listener){ 0 }, &map_blocks, &directory_blocks,
		                              &walker);
	if (error)
		return error;
	directory_walk(&walker, ino, raw, &inode.view, &visitor, &shape);
	directory_walker_close(&walker);
	return search->error;
}

/* One directory more, in one that is there, is what --into is for; more of them, or another name, may be a mistake. */
static errcode_t warn(const struct volume *volume, struct update_plan *plan, const char *missing,
                      struct warnings *warnings)
{
	SCOPE_FREE char *name = strndup(missing, strcspn(missing, "/"));
	struct search search = { .nearest = nearest_to(name ? name : ""), .memory = &plan->memory };
	SCOPE_FREE char *path = NULL;
	struct problem problem = { 0 };
	errcode_t error = !name ? ENOMEM : strlen(name) < LEAST_BYTES ? 0 : find_nearest(volume, plan->base, &search);

	if (!error && asprintf(&path, "%s/%s", plan->base, missing) < 0)
		error = ENOMEM;
	if (error || (!strchr(missing, '/') && !search.nearest.word))
		return error;
	problem_set_reason(&problem, ENOENT, path, "is not in the image, and is made", "%s/%s is not there%s%s%s",
	                   plan->base, name, search.nearest.word ? " (did you mean " : "",
	                   search.nearest.word ? search.nearest.word : "", search.nearest.word ? "?)" : "");
	return warnings_add(warnings, &problem, 1);
}

/* Cuts names off the base until the rest is there. *missing: what was cut off, NULL: nothing; the caller frees it. */
static errcode_t cut(const struct volume *volume, char *base, char **missing)
{
	SCOPE_FREE char *whole = strdup(base);
	size_t end = strlen(base);
	uint32_t ino;

	*missing = NULL;
	if (!whole)
		return ENOMEM;
	errcode_t error = paths_lookup(volume, base, (struct damage_listener){ 0 }, &ino);

	if (error != ENOENT)
		return error;
	while (error == ENOENT && end) {
		end = (size_t)(strrchr(base, '/') - base);
		base[end] = '\0';
		error = paths_lookup(volume, base, (struct damage_listener){ 0 }, &ino);
	}
	if (!error)
		*missing = strdup(whole + end + 1);
	return error ? error : *missing ? 0 : ENOMEM;
}

errcode_t into_find(const struct update_options *options, const struct volume *volume, struct update_plan *plan,
                    struct warnings *warnings, bool *is_new, struct problem *problem)
{
	SCOPE_FREE char *missing = NULL;
	errcode_t error = cut(volume, plan->base, &missing);

	*is_new = missing;
	if (!error && missing)
		error = tree_push_down(plan->tree, missing);
	if (!error && missing)
		error = warn(volume, plan, missing, warnings);
	return error ? problem_set(problem, error, *plan->base || missing ? options->into : "/", ACTION) : 0;
}
