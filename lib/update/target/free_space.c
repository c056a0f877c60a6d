/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "update/target/free_space.h"

#include <errno.h>

#include "image/orphans.h"

static errcode_t add_orphan(const struct volume *volume, uint32_t ino, void *raw, struct free_space *space)
{
	struct volume_inode inode;
	errcode_t error = volume_inode_read(volume, ino, raw, &inode);

	if (error)
		return error;
	/* Later times are no links of a list: e2fsck has released this one, but has left its slot in the orphan file.
	 */
	if (inode.all.deletion_time > volume->inodes)
		return 0;
	space->blocks += inode.all.value.blocks;
	space->inodes++;
	return 0;
}

static errcode_t add_orphans(struct map_walker *walker, struct free_space *space)
{
	SCOPE_FREE void *raw = malloc(walker->volume->format.inode_bytes);
	struct orphans orphans = { 0 };
	errcode_t error = raw ? orphans_find(walker, &orphans) : ENOMEM;

	for (size_t i = 0; !error && i < orphans.count; i++)
		if (orphans.items[i].fate == ORPHAN_DELETED)
			error = add_orphan(walker->volume, orphans.items[i].ino, raw, space);
	orphans_free(&orphans);
	return error;
}

errcode_t free_space_count(const struct volume *volume, struct free_space *space)
{
	const struct damage_listener nobody = { 0 };
	struct map_walker walker;
	uint64_t blocks_read = 0;

	*space = (struct free_space){ 0 };
	for (uint32_t group = 0; group < volume->geometry.groups; group++) {
		space->blocks += (uint64_t)volume->group[group].free_clusters << volume->geometry.cluster_bits;
		space->inodes += volume->group[group].free_inodes;
	}
	if (!volume->has_orphans)
		return 0;
	errcode_t error = map_walker_open(volume, nobody, &blocks_read, &walker);

	if (error)
		return error;
	error = add_orphans(&walker, space);
	map_walker_close(&walker);
	return error;
}
