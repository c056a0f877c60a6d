/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "allocator/check/check.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "allocator/group/group.h"
#include "allocator/group/group_index.h"
#include "allocator/group/group_reserved.h"
#include "allocator/group/inode_group.h"
#include "allocator/group/totals.h"
#include "allocator/preallocation/preallocation_register.h"
#include "support/bits.h"

struct report {
	char *why;
	size_t why_bytes;
};

static errcode_t __attribute__((format(printf, 2, 3))) fails(const struct report *report, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	if (report->why)
		vsnprintf(report->why, report->why_bytes, format, arguments);
	va_end(arguments);
	return EXT2MB_ET_CHECK_FAILED;
}

/* The group must be in the set that it has recorded, in no other, and in the one where the policy wants it. */
static errcode_t check_sets(struct ext2mb *mb, uint32_t number, enum index_kind kind,
                            const struct group_summary *summary, const struct report *report)
{
	const char *name = kind == INDEX_LARGEST ? "largest order" : "average fragment";
	int recorded = mb->groups[number].set[kind];
	int order = mb->policy.index->expected(mb, number, kind, summary);

	if (order == INDEX_ANY_SET)
		return 0;
	if (recorded != order)
		return fails(report, "group %u: in %s set %d but its order is %d", number, name, recorded, order);
	for (int set = 0; set < (int)mb->orders; set++)
		if (mb->policy.index->has(mb, kind, (unsigned int)set, number) != (set == order))
			return fails(report, "group %u: wrongly %s %s set %d", number,
			             set == order ? "absent from" : "in", name, set);
	if (order >= 0 &&
	    mb->policy.index->next(mb, kind, (unsigned int)order, ORDER_SET_NONE, number, number + 1) != number)
		return fails(report, "group %u: not found in %s set %d", number, name, order);
	return 0;
}

static errcode_t check_blocks(struct ext2mb *mb, uint32_t number, struct buddy *scratch, const struct report *report)
{
	const struct group *group = &mb->groups[number];
	struct group_summary summary = group_summary_read(group);

	if (summary.state != (enum group_state)group->state)
		return fails(report, "group %u: summary says state %d, not %d", number, summary.state, group->state);
	if (lock_looks_held(&group->lock) || lock_looks_held(&group->inodes.lock))
		return fails(report, "group %u: locked", number);
	if (group->state == GROUP_LOADED) {
		const struct buddy *buddy = group->buddy;
		const char *wrong = buddy_check(buddy, scratch);

		if (wrong)
			return fails(report, "group %u: %s", number, wrong);
		if (summary.free_clusters != buddy->free_clusters || summary.fragments != buddy->fragments ||
		    summary.largest_order != buddy_largest_order(buddy) ||
		    summary.average_order != group_average_order(buddy->free_clusters, buddy->fragments, buddy->orders))
			return fails(report, "group %u: summary is out of date", number);
	}
	errcode_t error = check_sets(mb, number, INDEX_LARGEST, &summary, report);
	if (!error)
		error = check_sets(mb, number, INDEX_AVERAGE, &summary, report);
	if (error)
		return error;
	const char *wrong = mb->policy.pending->check(mb, number);
	return wrong ? fails(report, "group %u: %s", number, wrong) : 0;
}

static errcode_t check_inodes(const struct ext2mb *mb, uint32_t number, const struct report *report)
{
	const struct inode_group *inodes = &mb->groups[number].inodes;
	uint32_t per_group = mb->geometry.inodes_per_group;

	if (inodes->state != GROUP_LOADED)
		return 0;
	if (per_group - bits_count(inodes->bitmap, 0, per_group) != inode_group_free(mb, number))
		return fails(report, "group %u: free inodes are miscounted", number);
	if (bits_next_zero(inodes->bitmap, 0, per_group) < inodes->first_free)
		return fails(report, "group %u: a free inode lies before the first free one", number);
	if (bits_next_one(inodes->bitmap, per_group - inodes->unused_inodes, per_group) != per_group)
		return fails(report, "group %u: an inode in use lies among the never used", number);
	return 0;
}

static int by_position(const void *left, const void *right)
{
	const struct preallocation *one = left;
	const struct preallocation *other = right;

	return (one->position > other->position) - (one->position < other->position);
}

static const char *check_one(const struct ext2mb *mb, const struct preallocation *found)
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
		return "lies in another preallocation";
	return NULL;
}

/*
 * True if all preallocations lie in clusters that their groups count as in use, none overlaps another or waits to be
 * freed, and their clusters are as many as are counted and marked (group_reserved.h).
 */
static errcode_t check_preallocations(struct ext2mb *mb, const struct report *report)
{
	uint64_t clusters = 0, marked = 0;

	preallocation_register_clear_served(mb);
	size_t count = preallocation_register_list(mb, NULL);
	SCOPE_FREE struct preallocation *found = calloc(count + 1, sizeof(*found));
	if (!found)
		return ENOMEM;
	preallocation_register_list(mb, found);
	qsort(found, count, sizeof(*found), by_position);
	for (size_t index = 0; index < count; index++) {
		const char *wrong = check_one(mb, &found[index]);

		if (wrong)
			return fails(report, "the preallocation at cluster %llu %s",
			             (unsigned long long)found[index].position, wrong);
		clusters += found[index].count;
	}
	for (uint32_t number = 0; number < mb->geometry.groups; number++)
		marked += group_reserved_count(mb, number);
	uint64_t counted = totals_space(mb).reserved_clusters;
	if (clusters != counted || clusters != marked)
		return fails(report, "%llu clusters lie in preallocations, but %llu are counted and %llu are marked",
		             (unsigned long long)clusters, (unsigned long long)counted, (unsigned long long)marked);
	return 0;
}

errcode_t check_everything(struct ext2mb *mb, char *why, size_t why_bytes)
{
	struct report report = { why, why_bytes };
	uint64_t free_clusters = 0;
	uint64_t free_inodes = 0;
	SCOPE_FREE struct buddy *scratch = malloc(buddy_bytes(mb->geometry.block_bits));

	if (!scratch)
		return ENOMEM;
	for (uint32_t number = 0; number < mb->geometry.groups; number++) {
		errcode_t error = check_blocks(mb, number, scratch, &report);

		if (!error)
			error = check_inodes(mb, number, &report);
		if (error)
			return error;
		free_clusters += group_free_clusters(&mb->groups[number]);
		free_inodes += inode_group_free(mb, number);
	}
	struct space_totals totals = totals_space(mb);
	if (free_clusters != totals.free_clusters)
		return fails(&report, "%llu blocks are free in all groups, but %llu are counted",
		             (unsigned long long)geometry_to_blocks(&mb->geometry, free_clusters),
		             (unsigned long long)geometry_to_blocks(&mb->geometry, totals.free_clusters));
	if (free_inodes != totals.free_inodes)
		return fails(&report, "%llu inodes are free in all groups, but %llu are counted",
		             (unsigned long long)free_inodes, (unsigned long long)totals.free_inodes);
	return check_preallocations(mb, &report);
}
