/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image_all.h"

#include <string.h>
#include <sys/stat.h>

#include "image/block_bitmaps.h"
#include "image/contents.h"
#include "image/directory_walk.h"
#include "image/lookup.h"
#include "image/orphans.h"
#include "image/replayed.h"
#include "image/xattrs.h"
#include "mb_image.h"

#define MOST_INODES 5000
#define GROUPS_AT_ONCE 16

bool image_all_has(const struct image_all *all, const char *what)
{
	for (unsigned int n = 0; n < all->what_count; n++)
		if (!strcmp(all->whats[n], what))
			return true;
	return false;
}

static void hear(void *context, const struct image_damage *damage)
{
	struct image_all *all = context;

	ck_assert_ptr_nonnull(damage->what);
	all->damage++;
	if (all->what_count < IMAGE_MOST_DAMAGE && !image_all_has(all, damage->what))
		all->whats[all->what_count++] = damage->what;
}

static void add_bytes(struct image_all *all, const void *bytes, size_t count)
{
	const uint8_t *at = bytes;

	for (size_t n = 0; n < count; n++)
		all->sum = all->sum * 31 + at[n];
}

static void see_name(void *context, const struct directory_entry *entry)
{
	struct image_all *all = context;

	add_bytes(all, entry->name, entry->name_bytes);
	all->names++;
	all->unusual_names +=
		memchr(entry->name, '\0', entry->name_bytes) || memchr(entry->name, '/', entry->name_bytes);
}

static bool see_record(void *context, const struct map_record *record)
{
	struct image_all *all = context;

	ck_assert_uint_gt(record->count, 0);
	all->blocks += record->count;
	return true;
}

static bool see_block(void *context, uint64_t block)
{
	add_bytes(context, &block, sizeof(block));
	return true;
}

static void see_orphan(void *context, uint32_t ino)
{
	struct image_all *all = context;

	add_bytes(all, &ino, sizeof(ino));
	all->orphans++;
}

static void see_bitmap(void *context, const struct block_bitmap *bitmap)
{
	struct image_all *all = context;

	all->damage += !!bitmap->wrong;
	if (bitmap->bits)
		add_bytes(all, bitmap->bits, 16);
}

static void read_inode(struct directory_walker *walker, uint32_t ino, struct volume_xattrs *xattrs, void *raw,
                       struct image_all *all)
{
	const struct directory_visitor names = { .entry = see_name, .context = all };
	const struct map_visitor map = { .record = see_record, .block = see_block, .context = all };
	struct volume_inode inode;
	struct directory_shape shape;
	struct map_shape map_shape;
	uint8_t part[3000];

	if (volume_inode_read(walker->map.volume, ino, raw, &inode)) {
		all->errors++;
		return;
	}
	if (!volume_inode_is_in_use(walker->map.volume, &inode))
		return;
	if (volume_inode_has_map(&inode))
		map_visit(&walker->map, ino, &inode.view, &map, &map_shape);
	if (S_ISDIR(inode.view.mode))
		directory_walk(walker, ino, raw, &inode.view, &names, &shape);
	all->errors += !!contents_read(&walker->map, &inode, 500, part, sizeof(part));
	add_bytes(all, part, sizeof(part));
	if (S_ISLNK(inode.view.mode)) {
		char *target = NULL;
		size_t bytes;

		if (symlink_read(&walker->map, &inode, &target, &bytes))
			all->errors++;
		else
			add_bytes(all, target, bytes + 1);
		free(target);
	}
	all->errors += !!volume_xattrs_read(&walker->map, &inode, xattrs);
	for (size_t n = 0; n < xattrs->count; n++)
		add_bytes(all, xattrs->items[n].value, xattrs->items[n].value_bytes);
	all->xattrs += xattrs->count;
}

static void read_bitmaps(const struct volume *volume, struct image_all *all)
{
	SCOPE_FREE uint64_t *bitmaps = malloc((size_t)GROUPS_AT_ONCE << volume->format.block_bits);
	uint32_t groups = volume->geometry.groups;

	for (uint32_t first = 0; first < groups; first += GROUPS_AT_ONCE)
		block_bitmaps_read(volume, first, first + GROUPS_AT_ONCE < groups ? first + GROUPS_AT_ONCE : groups,
		                   bitmaps, see_bitmap, all);
}

static void read_orphans(struct map_walker *walker, struct image_all *all)
{
	struct orphans orphans = { 0 };

	all->errors += !!orphans_read(walker, see_orphan, all);
	all->errors += !!orphans_find(walker, &orphans);
	ck_assert_uint_le(orphans.count, all->orphans);
	orphans_free(&orphans);
}

bool image_read_all(const char *path, unsigned int flags, struct image_all *all)
{
	const struct damage_listener listener = { hear, all };
	struct directory_walker walker;
	struct volume_xattrs xattrs = { 0 };
	struct problem problem = { 0 };
	struct volume volume;
	uint64_t map_blocks = 0, directory_blocks = 0;
	uint32_t found;

	*all = (struct image_all){ 0 };
	errcode_t error = flags & IMAGE_REPLAYED ? volume_open_as_replayed(path, 0, &volume, &problem) :
	                                           volume_open(path, 0, &volume, &problem);

	ck_assert(!error == !problem.error);
	if (error) {
		problem_clear(&problem);
		return false;
	}
	SCOPE_FREE void *raw = malloc(volume.format.inode_bytes);

	volume_check_descriptors(&volume, &listener);
	read_bitmaps(&volume, all);
	ck_assert_ok(directory_walker_open(&volume, listener, &map_blocks, &directory_blocks, &walker));
	walker.map.is_strict = flags & IMAGE_STRICT;
	for (uint32_t ino = 1; ino <= volume.inodes && ino < MOST_INODES; ino++)
		read_inode(&walker, ino, &xattrs, raw, all);
	read_orphans(&walker.map, all);
	all->errors += !!paths_lookup(&volume, "/a/b/dense", listener, &found);
	directory_walker_close(&walker);
	volume_xattrs_free(&xattrs);
	volume_close(&volume);
	return true;
}
