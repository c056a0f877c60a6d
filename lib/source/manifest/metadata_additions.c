/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/manifest/metadata_additions.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "source/layers/merge.h"
#include "source/mtree/mtree_entry.h"
#include "source/tree/tree_builder.h"
#include "support/bisect.h"
#include "support/text/text_line.h"
#include "support/vector.h"

void additions_destroy(struct additions *additions)
{
	arena_destroy(&additions->memory);
	free(additions->entries);
	*additions = (struct additions){ 0 };
}

static errcode_t keep(struct arena *memory, const char **text)
{
	*text = arena_copy_string(memory, *text, strlen(*text));
	return *text ? 0 : ENOMEM;
}

static errcode_t keep_xattrs(struct arena *memory, struct mtree_entry *entry)
{
	struct tree_xattr *copy = arena_alloc(memory, entry->xattr_count * sizeof(*copy));

	if (!copy)
		return ENOMEM;
	for (size_t i = 0; i < entry->xattr_count; i++) {
		copy[i] = entry->xattrs[i];
		copy[i].value = arena_copy_string(memory, copy[i].value, copy[i].value_bytes);
		if (!copy[i].value || keep(memory, &copy[i].name))
			return ENOMEM;
	}
	entry->xattrs = copy;
	return 0;
}

errcode_t additions_note(struct additions *additions, const struct mtree_entry *entry)
{
	struct arena *memory = &additions->memory;
	struct mtree_entry copy = *entry;
	errcode_t error = vector_reserve(&additions->entries, &additions->capacity, additions->count + 1,
	                                 sizeof(*additions->entries));

	if (!error)
		error = keep(memory, &copy.path);
	if (!error && (copy.given & MTREE_LINK))
		error = keep(memory, &copy.target);
	if (!error && copy.xattr_count)
		error = keep_xattrs(memory, &copy);
	if (!error)
		additions->entries[additions->count++] = copy;
	return error;
}

/* The entries by path, those of one path in the order of the manifest. */
struct making {
	const struct mtree_entry **sorted;
	size_t count;
	const char *manifest;
	const struct tree *tree;
	struct problem *problem;
};

static int compare_entries(const void *one, const void *other)
{
	const struct mtree_entry *first = *(const struct mtree_entry *const *)one;
	const struct mtree_entry *second = *(const struct mtree_entry *const *)other;
	int order = strcmp(first->path, second->path);

	if (order)
		return order;
	return first->line < second->line ? -1 : first->line > second->line;
}

static bool can_be_made(const struct mtree_entry *entry)
{
	return (entry->given & MTREE_TYPE) && entry->type != S_IFREG;
}

/* The end of the run of entries with the path of the one at start. */
static size_t run_end(const struct making *making, size_t start)
{
	size_t end = start + 1;

	while (end < making->count && !strcmp(making->sorted[end]->path, making->sorted[start]->path))
		end++;
	return end;
}

/* What the entries [start, end) of one path say of the file to be made; its type is 0 if none says it. */
static struct mtree_entry describe(const struct making *making, size_t start, size_t end)
{
	struct mtree_entry all = { .path = making->sorted[start]->path, .line = making->sorted[start]->line };

	for (size_t i = end; i-- > start;) {
		const struct mtree_entry *entry = making->sorted[i];

		if (can_be_made(entry))
			all.type = entry->type;
		if (entry->given & MTREE_LINK)
			all.target = entry->target;
		if (entry->given & MTREE_DEVICE) {
			all.major = entry->major;
			all.minor = entry->minor;
		}
		all.given |= entry->given;
	}
	return all;
}

/* Is a directory with this path made? */
static bool makes_directory(const struct making *making, const char *path)
{
	size_t first = BISECT(making->count, index, strcmp(making->sorted[index]->path, path) >= 0);

	if (first == making->count || strcmp(making->sorted[first]->path, path))
		return false;
	return describe(making, first, run_end(making, first)).type == S_IFDIR;
}

static errcode_t check_entry(const struct making *making, const struct mtree_entry *entry, const char **why)
{
	const char *slash = strrchr(entry->path, '/');
	SCOPE_FREE char *directory = strndup(entry->path, slash ? (size_t)(slash - entry->path) : 0);
	uint32_t node;

	*why = NULL;
	if (!directory)
		return ENOMEM;
	if (!entry->type)
		*why = "is not in the source";
	else if (tree_find_path(making->tree, directory, &node) ? !S_ISDIR(making->tree->nodes[node].mode) :
	                                                           !makes_directory(making, directory))
		*why = "is in a directory that neither the source nor the manifest has";
	else
		*why = mtree_entry_lacks(entry, entry->type);
	return 0;
}

/* Of all that is wrong, the first line is named. */
static errcode_t check_entries(const struct making *making)
{
	struct mtree_entry worst = { 0 };
	const char *reason = NULL;

	for (size_t start = 0, end; start < making->count; start = end) {
		const char *why;

		end = run_end(making, start);
		struct mtree_entry entry = describe(making, start, end);
		errcode_t error = check_entry(making, &entry, &why);

		if (error)
			return error;
		if (why && (!reason || entry.line < worst.line)) {
			worst = entry;
			reason = why;
		}
	}
	if (!reason)
		return 0;
	return text_line_problem(making->problem, EINVAL, making->manifest, worst.line, "cannot apply metadata",
	                         worst.path, reason);
}

static errcode_t build_entry(const struct making *making, struct tree *made, struct tree_builder *builder,
                             struct mtree_entry *entry)
{
	const struct tree_node *root = &making->tree->nodes[TREE_ROOT];
	struct tree_node node = mtree_plain_node(entry->type, root->mtime_seconds, root->mtime_nanoseconds);

	entry->given &= MTREE_LINK | MTREE_DEVICE;
	errcode_t error = mtree_entry_apply(entry, &made->memory, &node);

	return error ? error : tree_builder_add(builder, entry->path, &node);
}

static errcode_t build(const struct making *making, struct tree *made, struct pool *pool)
{
	struct tree_builder *builder;
	uint32_t origin;
	errcode_t error = tree_add_origin(made, TREE_ORIGIN_STORED, making->manifest, -1, &origin);

	made->xattr_sets = calloc(1, sizeof(*made->xattr_sets));
	made->xattr_set_count = 1;
	if (!error)
		error = made->xattr_sets ? tree_builder_create(made, NULL, &builder) : ENOMEM;
	if (error)
		return error;
	for (size_t start = 0, end; !error && start < making->count; start = end) {
		end = run_end(making, start);
		struct mtree_entry entry = describe(making, start, end);

		error = build_entry(making, made, builder, &entry);
	}
	if (!error)
		error = tree_builder_finish(builder, pool, making->problem);
	tree_builder_destroy(builder);
	return error;
}

errcode_t additions_make(const struct additions *additions, const char *manifest, struct tree **tree, struct pool *pool,
                         struct problem *problem)
{
	SCOPE_FREE const struct mtree_entry **sorted = malloc(additions->count * sizeof(*sorted));
	const struct making making = { sorted, additions->count, manifest, *tree, problem };

	if (!sorted)
		return ENOMEM;
	for (size_t i = 0; i < additions->count; i++)
		sorted[i] = &additions->entries[i];
	qsort(sorted, additions->count, sizeof(*sorted), compare_entries);
	errcode_t error = check_entries(&making);

	if (error)
		return error;
	struct tree *made = calloc(1, sizeof(*made));

	error = made ? build(&making, made, pool) : ENOMEM;
	if (error) {
		tree_destroy(made);
		return error;
	}
	struct merge_layer layers[] = { { *tree, WHITEOUTS_NONE }, { made, WHITEOUTS_NONE } };

	*tree = NULL;
	return tree_merge(layers, 2, false, tree, problem);
}
