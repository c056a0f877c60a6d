/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "update/compare/linked_files.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#include "image/inode.h"
#include "image/lookup.h"
#include "tree/tree_builder.h"
#include "tree/xattr_table.h"

/* Damage is reported later, when the names are compared. */
static errcode_t add_file(const struct linked_files *files, struct tree *tree, struct tree_builder *builder,
                          uint32_t origin, const char *path)
{
	const struct volume *volume = files->volume;
	SCOPE_FREE uint8_t *raw = malloc(volume->format.inode_bytes);
	SCOPE_FREE char *whole = NULL;
	struct volume_inode inode;
	uint32_t ino;

	if (!raw || asprintf(&whole, "%s/%s", files->base, path) < 0)
		return ENOMEM;
	errcode_t error = paths_lookup(volume, whole, (struct damage_listener){ 0 }, &ino);

	if (!error)
		error = volume_inode_read(volume, ino, raw, &inode);
	if (error == ENOMEM)
		return error;
	if (error || S_ISDIR(inode.view.mode) || ino < volume->geometry.first_inode)
		return 0;
	struct tree_node node = { .mode = inode.view.mode, .has_flags = true, .origin = origin };
	const struct tree_detail detail = { .inode_number = ino,
		                            .generation = inode.all.value.generation,
		                            .project = inode.all.value.project };

	if (S_ISLNK(node.mode))
		node.target = "";
	error = tree_add_detail(tree, &detail, &node.detail);
	return error ? error : tree_builder_add(builder, path, &node);
}

static errcode_t fill(const struct linked_files *files, struct tree *tree, const char *const *paths, size_t count,
                      struct pool *pool, struct problem *problem)
{
	struct tree_builder *builder = NULL;
	struct xattr_table *table = NULL;
	uint32_t origin;
	errcode_t error = tree_add_origin(tree, NULL, NULL, files->volume->path, &origin);

	if (!error)
		error = tree_builder_create(tree, NULL, NULL, &builder);
	if (!error)
		error = xattr_table_create(&table);
	for (size_t i = 0; !error && i < count; i++)
		error = add_file(files, tree, builder, origin, paths[i]);
	if (!error)
		error = tree_builder_finish(builder, pool, NULL, problem);
	if (!error)
		error = xattr_table_finish(table, tree);
	xattr_table_destroy(table);
	tree_builder_destroy(builder);
	return error;
}

static errcode_t find(void *context, const char *const *paths, size_t count, struct pool *pool, struct tree **ret,
                      struct problem *problem)
{
	struct tree *tree = calloc(1, sizeof(*tree));
	errcode_t error = tree ? fill(context, tree, paths, count, pool, problem) : ENOMEM;

	if (error)
		tree_destroy(tree);
	*ret = error ? NULL : tree;
	return error;
}

void linked_files_init(struct linked_files *files, const struct volume *volume, const char *base)
{
	*files = (struct linked_files){ .volume = volume, .base = base, .functions = { find, files } };
}
