/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "update/compare/image_links.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#include "image/contents.h"
#include "image/lookup.h"
#include "source/layers/directory_links.h"

struct image_links {
	const struct volume *volume;
	const char *base;
	struct map_walker *walker;
};

/* A target that is encrypted, or damaged, leads nowhere. */
static errcode_t read_target(const struct image_links *links, const struct volume_inode *inode, char **target)
{
	size_t bytes;
	errcode_t error =
		inode->view.flags & EXT4_ENCRYPT_FL ? EUCLEAN : symlink_read(links->walker, inode, target, &bytes);

	if (error != EUCLEAN)
		return error;
	*target = strdup("");
	return *target ? 0 : ENOMEM;
}

static errcode_t look(const void *context, const char *path, uint16_t *mode, char **target)
{
	const struct image_links *links = context;
	const struct volume *volume = links->volume;
	SCOPE_FREE uint8_t *raw = malloc(volume->format.inode_bytes);
	SCOPE_FREE char *whole = NULL;
	struct volume_inode inode;
	uint32_t ino;

	*mode = 0;
	*target = NULL;
	if (asprintf(&whole, "%s/%s", links->base, path) < 0)
		whole = NULL;
	if (!raw || !whole)
		return ENOMEM;
	errcode_t error = paths_lookup(volume, whole, (struct damage_listener){ 0 }, &ino);

	if (!error)
		error = volume_inode_read(volume, ino, raw, &inode);
	if (error == ENOENT || error == ENOTDIR)
		return 0;
	if (error)
		return error;
	*mode = inode.view.mode;
	return S_ISLNK(*mode) ? read_target(links, &inode, target) : 0;
}

errcode_t image_links_follow(const struct update_options *options, const struct volume *volume, const char *base,
                             struct pool *pool, struct tree *tree, uint64_t *followed, struct problem *problem)
{
	struct map_walker walker;
	uint64_t blocks_read = 0;
	const struct image_links links = { volume, base, &walker };
	const struct lower_files lower = { look, &links };
	errcode_t error = map_walker_open(volume, (struct damage_listener){ 0 }, &blocks_read, &walker);

	if (error)
		return error;
	error = directory_links_follow(tree, &lower, options->layering.whiteouts != WHITEOUTS_NONE, NULL, pool,
	                               followed, problem);
	map_walker_close(&walker);
	return error ? problem_set(problem, error, options->image, "cannot follow its symbolic links") : 0;
}
