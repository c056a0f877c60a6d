/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "filesystem/fs_zones.h"

#include <errno.h>

#include "support/bisect.h"
#include "support/bits.h"
#include "support/vector.h"

/* A zone before merging, with the kind of its metadata. */
struct claim {
	uint64_t start;
	uint32_t count;
	uint32_t group;
	bool is_movable; /* a bitmap or inode table, which a descriptor places */
};

struct claims {
	struct claim *items;
	size_t count;
	size_t capacity;
	const struct geometry *geometry;
	uint64_t *suspect;
};

static errcode_t claim(struct claims *claims, uint64_t start, uint64_t count, uint32_t group, bool is_movable)
{
	const struct geometry *geometry = claims->geometry;

	if (start < geometry->first_block || start >= geometry->end_block || count > geometry->end_block - start) {
		if (is_movable) {
			bits_set(claims->suspect, group);
			return 0;
		}
		/* Superblocks and descriptors lie where the geometry puts them; only their end can be cut off. */
		if (start >= geometry->end_block)
			return 0;
		start = start < geometry->first_block ? geometry->first_block : start;
		count = count > geometry->end_block - start ? geometry->end_block - start : count;
	}
	if (!count)
		return 0;
	errcode_t error = vector_reserve(&claims->items, &claims->capacity, claims->count + 1, sizeof(struct claim));
	if (error)
		return error;
	claims->items[claims->count++] = (struct claim){ start, (uint32_t)count, group, is_movable };
	return 0;
}

static errcode_t claim_group(struct claims *claims, ext2_filsys fs, uint32_t group)
{
	blk64_t super_block = 0, old_descriptors = 0, new_descriptor = 0;
	uint64_t old_count = ext2fs_has_feature_meta_bg(fs->super) ?
	                             fs->super->s_first_meta_bg :
	                             (uint64_t)fs->desc_blocks + fs->super->s_reserved_gdt_blocks;
	errcode_t error = ext2fs_super_and_bgd_loc2(fs, group, &super_block, &old_descriptors, &new_descriptor, NULL);

	if (!error && (super_block || !group))
		error = claim(claims, super_block, 1, group, false);
	if (!error && old_descriptors)
		error = claim(claims, old_descriptors, old_count, group, false);
	if (!error && new_descriptor)
		error = claim(claims, new_descriptor, 1, group, false);
	if (!error)
		error = claim(claims, ext2fs_block_bitmap_loc(fs, group), 1, group, true);
	if (!error)
		error = claim(claims, ext2fs_inode_bitmap_loc(fs, group), 1, group, true);
	if (!error)
		error = claim(claims, ext2fs_inode_table_loc(fs, group), fs->inode_blocks_per_group, group, true);
	return error;
}

static int compare_claims(const void *left, const void *right)
{
	const struct claim *a = left;
	const struct claim *b = right;

	return a->start < b->start ? -1 : a->start > b->start;
}

/* Joins sorted claims; where two overlap, metadata that mke2fs could have placed elsewhere counts as misplaced. */
static errcode_t merge_claims(struct claims *claims, struct fs_zones *zones)
{
	size_t widest = 0; /* the claim that reaches farthest so far */
	size_t count = 0;

	zones->items = malloc((claims->count + 1) * sizeof(*zones->items));
	if (!zones->items)
		return ENOMEM;
	for (size_t index = 0; index < claims->count; index++) {
		const struct claim *next = &claims->items[index];
		const struct claim *before = &claims->items[widest];
		struct fs_zone *zone = count ? &zones->items[count - 1] : NULL;

		if (index && next->start < before->start + before->count) {
			if (next->is_movable)
				bits_set(claims->suspect, next->group);
			if (before->is_movable)
				bits_set(claims->suspect, before->group);
		}
		if (!index || next->start + next->count > before->start + before->count)
			widest = index;
		if (zone && next->start <= zone->start + zone->count) {
			if (next->start + next->count > zone->start + zone->count)
				zone->count = next->start + next->count - zone->start;
			continue;
		}
		zones->items[count++] = (struct fs_zone){ next->start, next->count };
	}
	zones->count = count;
	struct fs_zone *smaller = realloc(zones->items, (count + 1) * sizeof(*smaller));
	if (smaller)
		zones->items = smaller;
	return 0;
}

errcode_t fs_zones_find(ext2_filsys fs, const struct geometry *geometry, struct fs_zones *zones, uint64_t *suspect)
{
	struct claims claims = { .geometry = geometry, .suspect = suspect };
	errcode_t error = vector_reserve(&claims.items, &claims.capacity, (size_t)geometry->groups * 3 + 64,
	                                 sizeof(struct claim));

	*zones = (struct fs_zones){ 0 };
	for (uint32_t group = 0; group < geometry->groups && !error; group++)
		error = claim_group(&claims, fs, group);
	if (!error && ext2fs_has_feature_mmp(fs->super) && fs->super->s_mmp_block)
		error = claim(&claims, fs->super->s_mmp_block, 1, 0, false);
	if (!error) {
		qsort(claims.items, claims.count, sizeof(struct claim), compare_claims);
		error = merge_claims(&claims, zones);
	}
	free(claims.items);
	return error;
}

void fs_zones_free(struct fs_zones *zones)
{
	free(zones->items);
	*zones = (struct fs_zones){ 0 };
}

size_t fs_zones_search(const struct fs_zones *zones, uint64_t block)
{
	return BISECT(zones->count, item, zones->items[item].start + zones->items[item].count > block);
}

bool fs_zones_overlap(const struct fs_zones *zones, uint64_t block, uint64_t count)
{
	size_t index = fs_zones_search(zones, block);

	return index < zones->count && zones->items[index].start < block + count;
}

bool fs_zones_next(const struct fs_zones *zones, const struct geometry *geometry, uint32_t group,
                   struct zone_walk *walk)
{
	uint64_t start = geometry_block(geometry, group, 0);
	uint64_t end = geometry_block(geometry, group, geometry_group_clusters(geometry, group));
	uint64_t round_up = geometry_cluster_blocks(geometry) - 1;

	if (!walk->end)
		walk->index = fs_zones_search(zones, start);
	if (walk->index == zones->count || zones->items[walk->index].start >= end)
		return false;

	const struct fs_zone *zone = &zones->items[walk->index++];
	uint64_t zone_end = zone->start + zone->count;
	walk->from = zone->start > start ? (uint32_t)geometry_to_clusters(geometry, zone->start - start) : 0;
	walk->end = (uint32_t)geometry_to_clusters(geometry, (zone_end < end ? zone_end : end) - start + round_up);
	return true;
}
