/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "update/compare/image_links.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#include "image/contents.h"
#include "image/lookup.h"

/* A target that is encrypted, or damaged, leads nowhere. */
static errcode_t read_target(struct map_walker *walker, const struct volume_inode *inode, char **target)
{
	size_t bytes;
	errcode_t error = inode->view.flags & EXT4_ENCRYPT_FL ? EUCLEAN : symlink_read(walker, inode, target, &bytes);

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
	return S_ISLNK(*mode) ? read_target(links->walker, &inode, target) : 0;
}

errcode_t image_links_open(const struct volume *volume, const char *base, bool must_lead, struct image_links *links)
{
	*links = (struct image_links){
		.volume = volume,
		.base = base,
		.walker = &links->own_walker,
		.files = { look, links, must_lead },
	};
	return map_walker_open(volume, (struct damage_listener){ 0 }, &links->blocks_read, links->walker);
}

void image_links_close(struct image_links *links)
{
	map_walker_close(links->walker);
}

errcode_t image_links_follow(const struct update_options *options, const struct image_links *links, struct pool *pool,
                             struct tree *tree, uint64_t *followed, struct problem *problem)
{
	errcode_t error = directory_links_follow(tree, &links->files, options->layering.whiteouts != WHITEOUTS_NONE,
	                                         NULL, pool, followed, problem);

	return error ? problem_set(problem, error, options->image, "cannot follow its symbolic links") : 0;
}
