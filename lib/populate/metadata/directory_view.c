// SPDX-License-Identifier: GPL-2.0-or-later
#include "populate/metadata/directory_view.h"

#include <string.h>
#include <sys/stat.h>

static const char lost_found_name[] = "lost+found";

uint8_t directory_file_type(uint16_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return EXT2_FT_REG_FILE;
	case S_IFDIR:
		return EXT2_FT_DIR;
	case S_IFLNK:
		return EXT2_FT_SYMLINK;
	case S_IFCHR:
		return EXT2_FT_CHRDEV;
	case S_IFBLK:
		return EXT2_FT_BLKDEV;
	case S_IFIFO:
		return EXT2_FT_FIFO;
	case S_IFSOCK:
		return EXT2_FT_SOCK;
	default:
		return EXT2_FT_UNKNOWN;
	}
}

static struct directory_name entry_name(const void *context, uint32_t entry)
{
	const struct directory_view *view = context;
	const struct tree_node *directory = build_node(view->build, view->node);

	if (view->has_lost_found && entry-- == 0)
		return (struct directory_name){ lost_found_name, sizeof(lost_found_name) - 1 };
	const struct tree_node *child = build_node(view->build, directory->first_child + entry);

	return (struct directory_name){ child->name, child->name_bytes };
}

static struct directory_target entry_target(const void *context, uint32_t entry)
{
	const struct directory_view *view = context;
	const struct build *build = view->build;

	if (view->has_lost_found && entry-- == 0)
		return (struct directory_target){ build->lost_found, EXT2_FT_DIR };
	uint32_t child = build_node(build, view->node)->first_child + entry;

	return (struct directory_target){ build->placements[child].ino,
		                          directory_file_type(build_node(build, child)->mode) };
}

struct directory_source directory_view_open(struct directory_view *view, const struct build *build, uint32_t node)
{
	*view = (struct directory_view){
		.build = build,
		.node = node,
		.has_lost_found = node == TREE_ROOT && !build->tree_has_lost_found,
	};
	return (struct directory_source){
		.context = view,
		.count = build_node(build, node)->child_count + view->has_lost_found,
		.name = entry_name,
		.target = entry_target,
		.is_casefolded = build->placements[node].is_casefolded,
	};
}
