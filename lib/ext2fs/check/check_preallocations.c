// SPDX-License-Identifier: LGPL-2.1-or-later
#include "ext2fs/check/check_preallocations.h"

#include <errno.h>
#include <stdio.h>

#include "ext2fs/group/group.h"
#include "ext2fs/group/group_reserved.h"
#include "ext2fs/group/totals.h"
#include "ext2fs/preallocation/preallocation_register.h"
#include "support/cleanup.h"

struct found {
	uint64_t position;
	uint32_t count;
};

struct collection {
	struct found *found;
	size_t count;
};

/* Only counted, as long as there is no room for them. */
static void collect(void *context, uint64_t position, uint32_t count)
{
	struct collection *all = context;

	if (all->found)
		all->found[all->count] = (struct found){ position, count };
	all->count++;
}

static int by_position(const void *left, const void *right)
{
	const struct found *one = left;
	const struct found *other = right;

	return (one->position > other->position) - (one->position < other->position);
}

static const char *check_one(const struct ext2mb *mb, const struct found *found)
{
	uint32_t number = (uint32_t)(found->position / mb->geometry.clusters_per_group);
	const struct group *group = &mb->groups[number];
	uint32_t start = (uint32_t)(found->position % mb->geometry.clusters_per_group);
	uint32_t end = start + found->count;

	if (!found->count)
		return "is empty";
	if (group->state != GROUP_LOADED || end > group->buddy->clusters)
		return "lies outside its group";
	if (buddy_next_free(group->buddy, start, end) != end)
		return "lies in free space";
	if (mb->policy.pending->overlaps(mb, number, start, found->count))
		return "lies in what is to be freed";
	for (uint32_t cluster = start; cluster < end; cluster++)
		if (!group_reserved_overlaps(mb, number, cluster, 1))
			return "has clusters that are not marked as reserved";
	if (found[1].count && found->position + found->count > found[1].position)
		return "lies in another window";
	return NULL;
}

/* All preallocations together are as many clusters as are counted and as are marked. */
static errcode_t check_counts(struct ext2mb *mb, uint64_t clusters, char *why, size_t why_bytes)
{
	uint64_t counted = totals_space(mb).reserved_clusters, marked = 0;

	for (uint32_t number = 0; number < mb->geometry.groups; number++)
		marked += group_reserved_count(mb, number);
	if (clusters == counted && clusters == marked)
		return 0;
	if (why)
		snprintf(why, why_bytes, "%llu clusters lie in windows, but %llu are counted and %llu are marked",
		         (unsigned long long)clusters, (unsigned long long)counted, (unsigned long long)marked);
	return EXT2MB_ET_CHECK_FAILED;
}

errcode_t check_preallocations(struct ext2mb *mb, char *why, size_t why_bytes)
{
	struct collection all = { 0 };
	uint64_t clusters = 0;

	preallocation_register_clear_served(mb->preallocations);
	preallocation_register_visit(mb->preallocations, collect, &all);
	SCOPE_FREE struct found *found = calloc(all.count + 1, sizeof(*found));
	if (!found)
		return ENOMEM;
	all = (struct collection){ .found = found };
	preallocation_register_visit(mb->preallocations, collect, &all);
	qsort(found, all.count, sizeof(*found), by_position);
	for (size_t index = 0; index < all.count; index++) {
		const char *wrong = check_one(mb, &found[index]);

		if (wrong) {
			if (why)
				snprintf(why, why_bytes, "the window at cluster %llu %s",
				         (unsigned long long)found[index].position, wrong);
			return EXT2MB_ET_CHECK_FAILED;
		}
		clusters += found[index].count;
	}
	return check_counts(mb, clusters, why, why_bytes);
}
