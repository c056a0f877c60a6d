/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image/lookup.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "image/directory_walk.h"
#include "support/text/units.h"

/* One component of a path. */
struct component {
	const char *name;
	size_t bytes;
	uint32_t ino; /* 0: not found yet */
};

static void compare_name(void *context, const struct directory_entry *entry)
{
	struct component *component = context;

	if (entry->name_bytes == component->bytes && !memcmp(entry->name, component->name, component->bytes))
		component->ino = entry->ino;
}

static errcode_t look_up_component(const struct volume *volume, struct directory_walker *walker, uint32_t directory,
                                   struct component *component)
{
	const struct directory_visitor visitor = { .entry = compare_name, .context = component };
	SCOPE_FREE uint8_t *raw = malloc(volume->format.inode_bytes);
	struct directory_shape shape;
	struct inode_view inode;

	if (!raw)
		return ENOMEM;
	errcode_t error = volume_read_inode(volume, directory, raw, &inode);

	if (error)
		return error;
	if (!S_ISDIR(inode.mode))
		return ENOTDIR;
	directory_walk(walker, directory, raw, &inode, &visitor, &shape);
	return component->ino ? 0 : ENOENT;
}

static errcode_t parse_number(const struct volume *volume, const char *path, uint32_t *ino)
{
	SCOPE_FREE char *digits = strdup(path + 1);
	uint64_t number;

	if (!digits)
		return ENOMEM;
	if (*digits)
		digits[strlen(digits) - 1] = '\0';
	if (units_parse_number(digits, 1, volume->inodes, &number))
		return EINVAL;
	*ino = (uint32_t)number;
	return 0;
}

errcode_t paths_lookup(const struct volume *volume, const char *path, struct damage_listener damage, uint32_t *ino)
{
	struct directory_walker walker;
	uint64_t map_blocks = 0, directory_blocks = 0;
	size_t length = strlen(path);

	if (*path == '<' && path[length - 1] == '>')
		return parse_number(volume, path, ino);
	errcode_t error = directory_walker_open(volume, damage, &map_blocks, &directory_blocks, &walker);

	if (error)
		return error;
	*ino = EXT2_ROOT_INO;
	while (!error && *(path += strspn(path, "/"))) {
		struct component component = { .name = path, .bytes = strcspn(path, "/") };

		path += component.bytes;
		if (component.bytes == 1 && *component.name == '.')
			continue;
		error = look_up_component(volume, &walker, *ino, &component);
		*ino = component.ino;
	}
	directory_walker_close(&walker);
	return error;
}
