/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/manifest/metadata.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "source/owners/account_names.h"
#include "source/host/source_file.h"
#include "source/manifest/manifest_file.h"
#include "source/mtree/digests.h"
#include "source/manifest/metadata_additions.h"
#include "source/mtree/mtree_entry.h"
#include "source/tree/xattr_sets.h"
#include "support/text/text_line.h"

struct metadata {
	const char *path;
	struct tree *tree;
	struct account_names *names;
	struct additions additions;
	struct digests digests;
	size_t xattr_set_capacity;
	bool has_new_sets;
};

static errcode_t fail(const struct metadata *metadata, const struct mtree_entry *entry, errcode_t error,
                      struct problem *problem, const char *why)
{
	return text_line_problem(problem, error, metadata->path, entry->line, "cannot apply metadata",
	                         *entry->path ? entry->path : ".", why);
}

static const char *type_text(uint32_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return "a regular file";
	case S_IFDIR:
		return "a directory";
	case S_IFLNK:
		return "a symbolic link";
	case S_IFCHR:
		return "a character device";
	case S_IFBLK:
		return "a block device";
	case S_IFIFO:
		return "a fifo";
	default:
		return "a socket";
	}
}

static errcode_t resolve(struct metadata *metadata, struct mtree_entry *entry, struct problem *problem)
{
	errcode_t error = 0;

	if (!(entry->given & (MTREE_UNAME | MTREE_GNAME)))
		return 0;
	SCOPE_FREE char *origin = text_line_origin(metadata->path, entry->line);

	if (entry->given & MTREE_UNAME)
		error = account_names_find(metadata->names, ACCOUNT_USER, entry->uname, origin, &entry->uid, problem);
	if (!error && (entry->given & MTREE_GNAME))
		error = account_names_find(metadata->names, ACCOUNT_GROUP, entry->gname, origin, &entry->gid, problem);
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

	for (size_t i = 0; i < entry->xattr_count; i++) {
		const struct tree_xattr *xattr = &entry->xattrs[i];
		const struct tree_xattr copy = {
			arena_copy_string(&tree->memory, xattr->name, strlen(xattr->name)),
			arena_copy_string(&tree->memory, xattr->value, xattr->value_bytes),
			xattr->value_bytes,
		};
		errcode_t error = copy.name && copy.value ? xattr_sets_add(tree, &metadata->xattr_set_capacity,
		                                                           node->xattrs, &copy, &node->xattrs) :
		                                            ENOMEM;

		if (error)
			return error;
		metadata->has_new_sets = true;
	}
	return 0;
}

/* All names of a file have what its first node has. */
static errcode_t change(struct metadata *metadata, uint32_t number, const struct mtree_entry *entry,
                        struct problem *problem)
{
	struct tree_node *node = &metadata->tree->nodes[metadata->tree->nodes[number].link_to];
	char why[100];

	if ((entry->given & MTREE_TYPE) && entry->type != (node->mode & S_IFMT)) {
		snprintf(why, sizeof(why), "is %s, not %s", type_text(node->mode), type_text(entry->type));
		return fail(metadata, entry, EINVAL, problem, why);
	}
	node->is_implied = false;
	errcode_t error = mtree_entry_apply(entry, &metadata->tree->memory, node);

	if (!error)
		error = change_xattrs(metadata, node, entry);
	return error ? fail(metadata, entry, error, problem, NULL) : 0;
}

/* What is missing and can be made waits until all is read: the tree is made anew once. */
static errcode_t visit(void *context, const struct mtree_entry *entry, struct problem *problem)
{
	struct metadata *metadata = context;
	struct mtree_entry resolved = *entry;
	uint32_t node;
	bool is_there = tree_find_path(metadata->tree, entry->path, &node);
	errcode_t error;

	if (is_there ? entry->given & MTREE_NOCHANGE : entry->given & MTREE_OPTIONAL)
		return 0;
	error = resolve(metadata, &resolved, problem);
	if (error)
		return error;
	if (is_there) {
		error = change(metadata, node, &resolved, problem);
		return error ? error : digests_note(&metadata->digests, entry);
	}
	error = additions_note(&metadata->additions, &resolved);
	return error ? fail(metadata, entry, error, problem, NULL) : 0;
}

static errcode_t add_missing(struct metadata *metadata, struct pool *pool, struct problem *problem)
{
	const struct additions *additions = &metadata->additions;
	errcode_t error = additions_make(additions, metadata->path, &metadata->tree, pool, problem);

	metadata->xattr_set_capacity = 0;
	for (size_t i = 0; !error && i < additions->count; i++) {
		uint32_t node;

		(void)!tree_find_path(metadata->tree, additions->entries[i].path, &node);
		error = change(metadata, node, &additions->entries[i], problem);
	}
	return error;
}

static errcode_t read_manifest(struct metadata *metadata, struct problem *problem)
{
	SCOPE_CLOSE int descriptor = source_file_open_path(metadata->path);

	if (descriptor < 0)
		return problem_set(problem, errno, metadata->path, "cannot open");
	return manifest_file_read(descriptor, metadata->path, visit, metadata, problem);
}

static errcode_t apply(struct metadata *metadata, struct pool *pool, struct problem *problem)
{
	errcode_t error = account_names_create(metadata->tree, &metadata->names);

	if (error)
		return problem_set(problem, error, metadata->path, "cannot apply metadata");
	error = read_manifest(metadata, problem);
	if (!error && metadata->additions.count)
		error = add_missing(metadata, pool, problem);
	if (!error && metadata->has_new_sets)
		error = xattr_sets_unify(metadata->tree);
	if (!error)
		error = digests_check(&metadata->digests, metadata->tree, metadata->path, pool, problem);
	return error ? problem_set(problem, error, metadata->path, "cannot apply metadata") : 0;
}

errcode_t metadata_apply(const char *path, struct tree **tree, struct pool *pool, struct problem *problem)
{
	struct metadata metadata = { .path = path, .tree = *tree };
	errcode_t error = apply(&metadata, pool, problem);

	*tree = metadata.tree;
	account_names_destroy(metadata.names);
	additions_destroy(&metadata.additions);
	digests_destroy(&metadata.digests);
	return error;
}
