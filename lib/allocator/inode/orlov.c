/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "allocator/inode/orlov.h"

#include "allocator/group/inode_group.h"
#include "allocator/group/totals.h"

/* Sums over a flex group, or their average. Hints. */
struct flex_counts {
	uint64_t free_inodes;
	uint64_t free_clusters;
	uint64_t directories;
};

static struct flex_counts count_flex(const struct ext2mb *mb, uint32_t flex)
{
	struct flex_counts counts = { 0 };

	for (uint32_t group = flex * mb->geometry.flex_groups; group < flex_end(mb, flex); group++) {
		counts.free_inodes += inode_group_free(mb, group);
		counts.free_clusters += group_free_clusters(&mb->groups[group]);
		counts.directories += inode_group_directories(mb, group);
	}
	return counts;
}

static uint32_t flex_count(const struct ext2mb *mb)
{
	return (uint32_t)(((uint64_t)mb->geometry.groups + mb->geometry.flex_groups - 1) / mb->geometry.flex_groups);
}

static struct flex_counts average_of(const struct ext2mb *mb, const struct space_totals *totals)
{
	uint32_t count = flex_count(mb);

	return (struct flex_counts){
		.free_inodes = totals->free_inodes / count,
		.free_clusters = totals->free_clusters / count,
		.directories = atomic_load_explicit(&mb->directories, memory_order_relaxed) / count,
	};
}

/* FNV-1a: spreads names, the same name always to the same group. */
uint32_t orlov_hash_name(const struct ext2mb *mb, const char *name)
{
	uint32_t hash = 2166136261u;

	(void)mb;
	while (*name)
		hash = (hash ^ (unsigned char)*name++) * 16777619u;
	return hash;
}

/* Chooses, among flex groups as good as the average, the one with the fewest directories. */
static errcode_t alloc_top_level(struct inode_search *search, const char *name, const struct flex_counts *average,
                                 orlov_take_in_flex take)
{
	struct ext2mb *mb = search->mb;
	uint32_t flexes = flex_count(mb), best = 0;
	uint64_t start = name ? mb->policy.inodes->hash_name(mb, name) :
	                        atomic_load_explicit(&mb->directories, memory_order_relaxed);
	uint64_t fewest = UINT64_MAX;

	for (uint32_t step = 0; step < flexes; step++) {
		uint32_t flex = (uint32_t)((start + step) % flexes);
		struct flex_counts counts = count_flex(mb, flex);

		if (!counts.free_inodes || counts.free_inodes < average->free_inodes ||
		    counts.free_clusters < average->free_clusters || counts.directories >= fewest)
			continue;
		fewest = counts.directories;
		best = flex;
	}
	return fewest == UINT64_MAX ? 0 : take(search, best * mb->geometry.flex_groups, flex_end(mb, best));
}

static uint64_t less(uint64_t value, uint64_t slack)
{
	return value > slack ? value - slack : 0;
}

static errcode_t alloc_near_parent(struct inode_search *search, const struct flex_counts *average)
{
	struct ext2mb *mb = search->mb;
	uint32_t flexes = flex_count(mb);
	uint64_t flex_inodes = (uint64_t)mb->geometry.inodes_per_group * mb->geometry.flex_groups;
	uint64_t flex_clusters = (uint64_t)mb->geometry.clusters_per_group * mb->geometry.flex_groups;
	uint64_t least_inodes = less(average->free_inodes, flex_inodes / 4);
	errcode_t error = 0;

	for (uint32_t step = 0; step < flexes && inode_search_goes_on(search, error); step++) {
		uint32_t flex = (uint32_t)(((uint64_t)search->parent_group / mb->geometry.flex_groups + step) % flexes);
		struct flex_counts counts = count_flex(mb, flex);

		if (counts.free_inodes && counts.free_inodes >= least_inodes &&
		    counts.directories < average->directories + flex_inodes / 16 &&
		    counts.free_clusters >= less(average->free_clusters, flex_clusters / 4))
			error = inode_search_groups(search, flex * mb->geometry.flex_groups, flex_end(mb, flex));
	}
	return error;
}

errcode_t orlov_alloc_for_directory(struct inode_search *search, const struct ext2mb_inode_request *request,
                                    orlov_take_in_flex take)
{
	struct ext2mb *mb = search->mb;
	struct space_totals totals = totals_space(mb);
	struct flex_counts average = average_of(mb, &totals);
	errcode_t error = request->parent == EXT2_ROOT_INO ? alloc_top_level(search, request->name, &average, take) :
	                                                     alloc_near_parent(search, &average);

	for (uint32_t step = 0; step < mb->geometry.groups && inode_search_goes_on(search, error); step++) {
		uint32_t group = (uint32_t)(((uint64_t)search->parent_group + step) % mb->geometry.groups);

		if (inode_group_free(mb, group) >= totals.free_inodes / mb->geometry.groups)
			error = inode_search_group(search, group, 0, false);
	}
	return error;
}

errcode_t orlov_alloc_for_file(struct inode_search *search, const struct ext2mb_inode_request *request)
{
	struct ext2mb *mb = search->mb;
	uint32_t groups = mb->geometry.groups;

	if (mb->geometry.flex_groups > 1) {
		uint32_t flex = search->parent_group / mb->geometry.flex_groups;

		return inode_search_groups(search, flex * mb->geometry.flex_groups, flex_end(mb, flex));
	}
	errcode_t error = inode_search_groups(search, search->parent_group, search->parent_group + 1);
	uint64_t group = ((uint64_t)search->parent_group + request->parent) % groups;
	for (uint64_t step = 1; step < groups && inode_search_goes_on(search, error); step *= 2) {
		group = (group + step) % groups;
		if (group_free_clusters(&mb->groups[group]))
			error = inode_search_group(search, (uint32_t)group, 0, false);
	}
	return error;
}
