/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/manifest/metadata.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "source/archive/archive_input.h"
#include "source/layers/merge.h"
#include "source/mtree/digests.h"
#include "source/owners/account_names.h"
#include "source/kind/stored_contents.h"
#include "tree/tree_builder.h"
#include "tree/xattr_table.h"
#include "support/bisect.h"
#include "support/text/text_line.h"
#include "support/vector.h"

struct metadata {
	const char *path;
	struct tree *tree;
	struct problem *problem;
	struct account_names names;
	struct digests digests;
	bool has_new_sets;

	/*
	 * The entries of files that are not in the tree. They are collected while the manifest is read, and
	 * made together afterwards.
	 */
	struct mtree_entry *additions; /* in the order of the manifest */
	size_t addition_count, addition_capacity;
	struct arena memory;               /* holds the additions */
	const struct mtree_entry **sorted; /* the additions by path; those of one path keep the manifest's order */
};

static errcode_t fail(const struct metadata *metadata, const struct mtree_entry *entry, errcode_t error,
                      const char *why)
{
	return text_line_problem(metadata->problem, error, metadata->path, entry->line, "cannot apply metadata",
	                         *entry->path ? entry->path : ".", why);
}

static const char *type_text(uint32_t mode)
{
	static const char *const texts[] = {
		[S_IFREG >> 12] = "a regular file",  [S_IFDIR >> 12] = "a directory",
		[S_IFLNK >> 12] = "a symbolic link", [S_IFCHR >> 12] = "a character device",
		[S_IFBLK >> 12] = "a block device",  [S_IFIFO >> 12] = "a fifo",
		[S_IFSOCK >> 12] = "a socket",
	};

	return texts[(mode & S_IFMT) >> 12];
}

static errcode_t resolve(struct metadata *metadata, struct mtree_entry *entry)
{
	errcode_t error = 0;

	if (!(entry->given & (MTREE_UNAME | MTREE_GNAME)))
		return 0;
	SCOPE_FREE char *origin = text_line_origin(metadata->path, entry->line);

	if (entry->given & MTREE_UNAME)
		error = account_names_find(&metadata->names, ACCOUNT_USER, entry->uname, origin, &entry->uid,
		                           metadata->problem);
	if (!error && (entry->given & MTREE_GNAME))
		error = account_names_find(&metadata->names, ACCOUNT_GROUP, entry->gname, origin, &entry->gid,
		                           metadata->problem);
	if (entry->given & MTREE_UNAME)
		entry->given |= MTREE_UID;
	if (entry->given & MTREE_GNAME)
		entry->given |= MTREE_GID;
	entry->given &= ~(unsigned int)(MTREE_UNAME | MTREE_GNAME);
	return error;
}

static errcode_t change_xattrs(struct metadata *metadata, struct tree_node *node, const struct mtree_entry *entry)
{
	struct tree *tree = metadata->tree;
	const struct tree_xattr *list = xattr_list_copy(&tree->memory, entry->xattrs, entry->xattr_count);
	errcode_t error = list ? 0 : ENOMEM;

	for (size_t i = 0; !error && i < entry->xattr_count; i++) {
		error = xattr_sets_add(tree, node->xattrs, &list[i], &node->xattrs);
		metadata->has_new_sets = true;
	}
	return error;
}

/* Applies an entry to a file. All names of a file share the metadata of its first node. */
static errcode_t change(struct metadata *metadata, uint32_t number, const struct mtree_entry *entry)
{
	struct tree_node *node = &metadata->tree->nodes[metadata->tree->nodes[number].link_to];
	char why[100];

	if ((entry->given & MTREE_TYPE) && entry->type != (node->mode & S_IFMT)) {
		snprintf(why, sizeof(why), "is %s, not %s", type_text(node->mode), type_text(entry->type));
		return fail(metadata, entry, EINVAL, why);
	}
	if (node->is_encrypted && (entry->given & MTREE_LINK) && S_ISLNK(node->mode))
		return fail(metadata, entry, EINVAL, "is encrypted, and its target cannot be set without the key");
	if (node->is_encrypted && (entry->given & MTREE_VERITY))
		return fail(metadata, entry, EINVAL, "is encrypted, and its hashes cannot be made without the key");
	node->is_implied = false;
	errcode_t error = mtree_entry_apply(entry, &metadata->tree->memory, node);

	if (!error)
		error = mtree_entry_protect(entry, metadata->tree, node);
	if (!error)
		error = change_xattrs(metadata, node, entry);
	return error ? fail(metadata, entry, error, NULL) : 0;
}

/* Keeps a copy of the members of an entry that making the file and change() need. */
static errcode_t note_addition(struct metadata *metadata, const struct mtree_entry *entry)
{
	struct arena *memory = &metadata->memory;
	struct mtree_entry copy = *entry;
	errcode_t error = vector_reserve(&metadata->additions, &metadata->addition_capacity,
	                                 metadata->addition_count + 1, sizeof(*metadata->additions));

	copy.path = arena_copy_string(memory, entry->path, strlen(entry->path));
	if (copy.given & MTREE_LINK)
		copy.target = arena_copy_string(memory, entry->target, strlen(entry->target));
	copy.xattrs = xattr_list_copy(memory, entry->xattrs, entry->xattr_count);
	if (error || !copy.path || ((copy.given & MTREE_LINK) && !copy.target) || !copy.xattrs)
		return ENOMEM;
	metadata->additions[metadata->addition_count++] = copy;
	return 0;
}

/*
 * Applies an entry to a file of the tree. An entry of a missing file that can be made is kept until the whole manifest
 * is read, so that the tree is made anew only once.
 */
static errcode_t visit(void *context, const struct mtree_entry *entry, struct problem *problem)
{
	struct metadata *metadata = context;
	struct mtree_entry resolved = *entry;
	uint32_t node;
	bool is_there = tree_find_path(metadata->tree, entry->path, &node);
	errcode_t error;

	(void)problem;
	if (is_there ? entry->given & MTREE_NOCHANGE : entry->given & MTREE_OPTIONAL)
		return 0;
	error = resolve(metadata, &resolved);
	if (error)
		return error;
	if (is_there) {
		error = change(metadata, node, &resolved);
		return error ? error : digests_note(&metadata->digests, entry);
	}
	error = note_addition(metadata, &resolved);
	return error ? fail(metadata, entry, error, NULL) : 0;
}

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

/* Returns the end of the run of entries that have the same path as the one at start. */
static size_t run_end(const struct metadata *metadata, size_t start)
{
	size_t end = start + 1;

	while (end < metadata->addition_count && !strcmp(metadata->sorted[end]->path, metadata->sorted[start]->path))
		end++;
	return end;
}

/*
 * Combines the entries [start, end) of one path into the description of the file to be made; its type is 0 if none
 * gives it.
 */
static struct mtree_entry describe(const struct metadata *metadata, size_t start, size_t end)
{
	struct mtree_entry all = { .path = metadata->sorted[start]->path, .line = metadata->sorted[start]->line };

	for (size_t i = end; i-- > start;) {
		const struct mtree_entry *entry = metadata->sorted[i];

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

/* True if a directory with this path is made. */
static bool makes_directory(const struct metadata *metadata, const char *path)
{
	size_t first = BISECT(metadata->addition_count, index, strcmp(metadata->sorted[index]->path, path) >= 0);

	if (first == metadata->addition_count || strcmp(metadata->sorted[first]->path, path))
		return false;
	return describe(metadata, first, run_end(metadata, first)).type == S_IFDIR;
}

static errcode_t check_entry(const struct metadata *metadata, const struct mtree_entry *entry, const char **why)
{
	const char *slash = strrchr(entry->path, '/');
	SCOPE_FREE char *directory = strndup(entry->path, slash ? (size_t)(slash - entry->path) : 0);
	uint32_t node;

	*why = NULL;
	if (!directory)
		return ENOMEM;
	if (!entry->type)
		*why = "is not in the source";
	else if (tree_find_path(metadata->tree, directory, &node) ? !S_ISDIR(metadata->tree->nodes[node].mode) :
	                                                            !makes_directory(metadata, directory))
		*why = "is in a directory that neither the source nor the manifest has";
	else
		*why = mtree_entry_lacks(entry, entry->type);
	return 0;
}

/* Checks all entries. If several are wrong, the message names the first line. */
static errcode_t check_entries(const struct metadata *metadata)
{
	struct mtree_entry worst = { 0 };
	const char *reason = NULL;

	for (size_t start = 0, end; start < metadata->addition_count; start = end) {
		const char *why;

		end = run_end(metadata, start);
		struct mtree_entry entry = describe(metadata, start, end);
		errcode_t error = check_entry(metadata, &entry, &why);

		if (error)
			return error;
		if (why && (!reason || entry.line < worst.line)) {
			worst = entry;
			reason = why;
		}
	}
	return reason ? fail(metadata, &worst, EINVAL, reason) : 0;
}

static errcode_t build_entry(const struct metadata *metadata, struct tree *made, struct tree_builder *builder,
                             struct mtree_entry *entry)
{
	const struct tree_node *root = &metadata->tree->nodes[TREE_ROOT];
	struct tree_node node = mtree_plain_node(entry->type, root->mtime_seconds, root->mtime_nanoseconds);

	entry->given &= MTREE_LINK | MTREE_DEVICE;
	errcode_t error = mtree_entry_apply(entry, &made->memory, &node);

	return error ? error : tree_builder_add(builder, entry->path, &node);
}

/* Builds the new files, still without the owner, mode, time and xattrs that the entries give. */
static errcode_t build(const struct metadata *metadata, struct tree *made, struct pool *pool)
{
	struct tree_builder *builder;
	uint32_t origin;
	errcode_t error = stored_contents_add(made, metadata->path, -1, &origin);

	made->xattr_sets = calloc(1, sizeof(*made->xattr_sets));
	made->xattr_set_count = 1;
	if (!error)
		error = made->xattr_sets ? tree_builder_create(made, NULL, NULL, &builder) : ENOMEM;
	if (error)
		return error;
	for (size_t start = 0, end; !error && start < metadata->addition_count; start = end) {
		end = run_end(metadata, start);
		struct mtree_entry entry = describe(metadata, start, end);

		error = build_entry(metadata, made, builder, &entry);
	}
	if (!error)
		error = tree_builder_finish(builder, pool, NULL, metadata->problem);
	tree_builder_destroy(builder);
	return error;
}

static errcode_t make_missing(struct metadata *metadata, struct pool *pool)
{
	metadata->sorted = malloc(metadata->addition_count * sizeof(*metadata->sorted));
	if (!metadata->sorted)
		return ENOMEM;
	for (size_t i = 0; i < metadata->addition_count; i++)
		metadata->sorted[i] = &metadata->additions[i];
	qsort(metadata->sorted, metadata->addition_count, sizeof(*metadata->sorted), compare_entries);
	errcode_t error = check_entries(metadata);

	if (error)
		return error;
	struct tree *made = calloc(1, sizeof(*made));

	error = made ? build(metadata, made, pool) : ENOMEM;
	if (error) {
		tree_destroy(made);
		return error;
	}
	struct merge_layer layers[] = { { .tree = TAKE(metadata->tree) }, { .tree = made } };

	return tree_merge(layers, 2, &(const struct merge_options){ .keeping = WHITEOUTS_DROPPED }, &metadata->tree,
	                  metadata->problem);
}

static errcode_t add_missing(struct metadata *metadata, struct pool *pool)
{
	errcode_t error = make_missing(metadata, pool);

	for (size_t i = 0; !error && i < metadata->addition_count; i++) {
		uint32_t node;

		(void)!tree_find_path(metadata->tree, metadata->additions[i].path, &node);
		error = change(metadata, node, &metadata->additions[i]);
	}
	return error;
}

static errcode_t read_manifest(struct metadata *metadata)
{
	SCOPE_CLOSE int descriptor = source_file_open_path(metadata->path);

	if (descriptor < 0)
		return problem_set(metadata->problem, errno, metadata->path, "cannot open");
	return archive_input_read_manifest(descriptor, metadata->path, visit, metadata, metadata->problem);
}

errcode_t metadata_apply(const char *path, struct tree **tree, struct pool *pool, struct problem *problem)
{
	struct metadata metadata = { .path = path, .tree = *tree, .problem = problem, .names.tree = *tree };
	errcode_t error = read_manifest(&metadata);

	if (!error && metadata.addition_count)
		error = add_missing(&metadata, pool);
	if (!error && metadata.has_new_sets)
		error = xattr_sets_unify(metadata.tree);
	if (!error)
		error = digests_check(&metadata.digests, metadata.tree, path, pool, problem);
	*tree = metadata.tree;
	account_names_destroy(&metadata.names);
	digests_destroy(&metadata.digests);
	arena_destroy(&metadata.memory);
	free(metadata.additions);
	free(metadata.sorted);
	return error ? problem_set(problem, error, path, "cannot apply metadata") : 0;
}
