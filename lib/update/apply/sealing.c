/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "update/apply/sealing.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "ondisk/inode_store.h"
#include "tree/details.h"
#include "update/apply/names.h"
#include "update/apply/new_inode.h"
#include "update/apply/releasing.h"

static uint8_t file_type(uint16_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return EXT2_FT_REG_FILE;
	case S_IFDIR:
		return EXT2_FT_DIR;
	case S_IFCHR:
		return EXT2_FT_CHRDEV;
	case S_IFBLK:
		return EXT2_FT_BLKDEV;
	case S_IFIFO:
		return EXT2_FT_FIFO;
	case S_IFSOCK:
		return EXT2_FT_SOCK;
	default:
		return EXT2_FT_SYMLINK;
	}
}

/* Removes a link. With a file's last name its inode goes, too. */
static errcode_t drop_link(struct applying *applying, uint32_t ino)
{
	SCOPE_FREE uint8_t *raw = malloc(applying->format->inode_bytes);
	struct inode_decoded inode;
	errcode_t error = raw ? inode_store_read(applying_access(applying), ino, raw, &inode) : ENOMEM;

	if (error)
		return error;
	if (!inode.value.links || S_ISDIR(inode.value.mode))
		return EUCLEAN;
	update_filesystem_touch_inode(applying->filesystem, ino);
	if (inode.value.links == 1)
		return release_inode(applying, ino);
	inode.value.links--;
	return inode_store_change(applying_access(applying), ino, &inode);
}

/* Drops an inode that has lost a name. A directory is empty by now. */
static errcode_t drop(struct applying *applying, uint32_t directory, uint32_t ino, bool is_directory)
{
	if (!is_directory)
		return drop_link(applying, ino);
	names_forget(applying, ino);
	update_filesystem_touch_inode(applying->filesystem, ino);
	errcode_t error = release_inode(applying, ino);

	return error ? error : names_count_subdirectories(applying, directory, -1);
}

static errcode_t remove_name(struct applying *applying, const struct update_action *action)
{
	const struct directory_name name = { action->name, action->name_bytes };
	errcode_t error = names_remove(applying, action->parent, name, action->ino);

	if (!error)
		error = drop(applying, action->parent, action->ino, action->was_directory);
	return error;
}

/* Gives the node's name to its inode. */
static errcode_t name_inode(struct applying *applying, const struct update_action *action)
{
	const struct update_plan *plan = applying->plan;
	const struct tree_node *node = &plan->tree->nodes[action->node];
	uint32_t directory = plan->inos[node->parent];
	const struct directory_name name = { node->name, node->name_bytes };
	const struct directory_target target = { plan->inos[action->node], file_type(node->mode) };

	if (!action->ino)
		return names_add(applying, directory, name, target);
	errcode_t error = names_replace(applying, directory, name, action->ino, target);

	return error ? error : drop(applying, directory, action->ino, action->was_directory);
}

static errcode_t create(struct applying *applying, const struct update_action *action,
                        const struct placed_inode *placed)
{
	const struct tree_node *node = &applying->plan->tree->nodes[action->node];
	uint32_t directory = applying->plan->inos[node->parent];
	errcode_t error = new_inode_write(applying, placed, directory);

	if (!error)
		error = name_inode(applying, action);
	if (!error && S_ISDIR(node->mode))
		error = names_count_subdirectories(applying, directory, 1);
	return error;
}

static errcode_t link_name(struct applying *applying, const struct update_action *action)
{
	SCOPE_FREE uint8_t *raw = malloc(applying->format->inode_bytes);
	struct update_plan *plan = applying->plan;
	struct inode_decoded inode;

	plan->inos[action->node] = plan->inos[plan->tree->nodes[action->node].link_to];
	uint32_t ino = plan->inos[action->node];
	errcode_t error = raw ? inode_store_read(applying_access(applying), ino, raw, &inode) : ENOMEM;

	if (error)
		return error;
	/* It has been deleted: nothing may lead to it. */
	if (!inode.value.links)
		return EUCLEAN;
	if (inode.value.links >= EXT2_LINK_MAX)
		return EMLINK;
	inode.value.links++;
	error = inode_store_change(applying_access(applying), ino, &inode);
	if (!error)
		error = name_inode(applying, action);
	return error;
}

errcode_t seal_action(struct applying *applying, const struct update_action *action, const struct placed_inode *placed)
{
	switch (action->verb) {
	case UPDATE_REMOVE:
		return remove_name(applying, action);
	case UPDATE_CREATE:
		return create(applying, action, placed);
	case UPDATE_LINK:
		return link_name(applying, action);
	case UPDATE_REPLACE:
		return new_inode_replace(applying, placed);
	case UPDATE_METADATA:
		return new_inode_change(applying, action, placed);
	}
	return EINVAL;
}
