/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "allocator/group/group.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <time.h>

#include "allocator/core/allocator.h"
#include "allocator/fs/fs_state.h"
#include "allocator/group/group_index.h"
#include "allocator/group/totals.h"

static_assert(sizeof(struct group) == 128, "an untouched group costs two cache lines");

static void publish(struct ext2mb *mb, uint32_t number, const struct group_summary *summary)
{
	struct group *group = &mb->groups[number];

	atomic_store_explicit(&group->summary, group_summary_pack(summary), memory_order_release);
	/* A group that stays in its sets needs no call. */
	if (group->set[INDEX_LARGEST] != summary->largest_order || group->set[INDEX_AVERAGE] != summary->average_order)
		mb->policy.index->update(mb, number, summary);
}

static void publish_longest(struct group *group, uint32_t clusters)
{
	if (atomic_load_explicit(&group->longest, memory_order_relaxed) != clusters)
		atomic_store_explicit(&group->longest, clusters, memory_order_release);
}

static void publish_buddy(struct ext2mb *mb, uint32_t number)
{
	const struct buddy *buddy = mb->groups[number].buddy;

	publish_longest(&mb->groups[number], buddy->longest);
	publish(mb, number,
	        &(struct group_summary){
			.free_clusters = buddy->free_clusters,
			.fragments = buddy->fragments,
			.largest_order = buddy_largest_order(buddy),
			.average_order = group_average_order(buddy->free_clusters, buddy->fragments, buddy->orders),
			.state = GROUP_LOADED,
		});
}

static void publish_corrupt(struct ext2mb *mb, uint32_t number)
{
	mb->groups[number].state = GROUP_CORRUPT;
	publish(mb, number,
	        &(struct group_summary){
			.largest_order = -1,
			.average_order = -1,
			.state = GROUP_CORRUPT,
		});
}

/* The best that an untouched group can be. A thread that this leads to the group loads it, and corrects the summary. */
static void publish_untouched(struct ext2mb *mb, uint32_t number, uint32_t free_clusters)
{
	int largest = (int)last_set(free_clusters) - 1;

	publish_longest(&mb->groups[number], free_clusters);
	publish(mb, number,
	        &(struct group_summary){
			.free_clusters = free_clusters,
			.fragments = free_clusters != 0,
			.largest_order = largest < (int)mb->orders ? largest : (int)mb->orders - 1,
			.average_order = group_average_order(free_clusters, 1, mb->orders),
			.state = GROUP_UNTOUCHED,
		});
}

errcode_t group_table_create(struct ext2mb *mb)
{
	size_t bytes = mb->geometry.groups * sizeof(struct group);

	mb->groups = aligned_alloc(_Alignof(struct group), bytes);
	if (!mb->groups)
		return ENOMEM;
	memset(mb->groups, 0, bytes);
	for (uint32_t number = 0; number < mb->geometry.groups; number++) {
		struct group *group = &mb->groups[number];
		struct group_counts counts;

		group->set[INDEX_LARGEST] = group->set[INDEX_AVERAGE] = -1;
		if (fs_state_counts(mb->fs_state, number, &counts)) {
			publish_corrupt(mb, number);
			group->inodes.state = GROUP_CORRUPT;
			totals_lose_group(mb, number, 0, 0);
			continue;
		}
		publish_untouched(mb, number, counts.free_clusters);
		group->inodes.free_inodes = counts.free_inodes;
		group->inodes.directories = counts.directories;
		group->inodes.unused_inodes = counts.unused_inodes;
		mb->clusters_at_open += counts.free_clusters;
		mb->inodes_at_open += counts.free_inodes;
		mb->directories += counts.directories;
	}
	return 0;
}

void group_table_destroy(struct ext2mb *mb)
{
	for (uint32_t number = 0; mb->groups && number < mb->geometry.groups; number++) {
		free(mb->groups[number].buddy);
		free(mb->groups[number].inodes.bitmap);
		pending_free_destroy(&mb->groups[number].pending);
		free((void *)mb->groups[number].reserved);
	}
	free(mb->groups);
	mb->groups = NULL;
}

static uint64_t nanoseconds(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

errcode_t group_load(struct ext2mb *mb, uint32_t number)
{
	struct group *group = &mb->groups[number];

	if (group->state == GROUP_LOADED)
		return 0;
	if (group->state == GROUP_CORRUPT)
		return EXT2MB_ET_CORRUPT_GROUP;

	struct buddy *buddy = malloc(buddy_bytes(mb->geometry.block_bits));
	if (!buddy)
		return ENOMEM;
	buddy_init(buddy, mb->geometry.block_bits, geometry_group_clusters(&mb->geometry, number));
	errcode_t error = fs_state_read_blocks(mb->fs_state, number, buddy->bitmap);
	if (error) {
		free(buddy);
		if (error != ENOMEM) {
			totals_lose_group(mb, number, group_free_clusters(group), 0);
			publish_corrupt(mb, number);
		}
		return error;
	}
	uint64_t begun = nanoseconds();
	buddy_build(buddy);
	atomic_fetch_add_explicit(&mb->build_nanoseconds, nanoseconds() - begun, memory_order_relaxed);
	/* If the map is followed, the descriptor may have said something else. */
	atomic_fetch_add_explicit(&mb->clusters_at_open, (uint64_t)buddy->free_clusters - group_free_clusters(group),
	                          memory_order_relaxed);
	group->buddy = buddy;
	group->state = GROUP_LOADED;
	publish_buddy(mb, number);
	return 0;
}

errcode_t group_enter(struct ext2mb *mb, uint32_t number)
{
	group_lock(&mb->groups[number]);
	errcode_t error = group_load(mb, number);
	if (error)
		lock_release(&mb->groups[number].lock);
	return error;
}

void group_leave_changed(struct ext2mb *mb, uint32_t number)
{
	publish_buddy(mb, number);
	lock_release(&mb->groups[number].lock);
}

void group_note_longest(struct ext2mb *mb, uint32_t number, uint32_t clusters)
{
	struct group *group = &mb->groups[number];

	if (clusters < group->buddy->longest)
		group->buddy->longest = clusters;
	publish_longest(group, group->buddy->longest);
}

void group_leave(struct ext2mb *mb, uint32_t number)
{
	lock_release(&mb->groups[number].lock);
}

void group_note_change(struct ext2mb *mb, uint32_t number)
{
	struct group *group = &mb->groups[number];

	if (group->is_to_be_written)
		return;
	group->is_to_be_written = true;
	atomic_fetch_add_explicit(&mb->bitmaps_to_write, 1, memory_order_relaxed);
}

void group_alloc(struct ext2mb *mb, uint32_t number, uint32_t start, uint32_t count)
{
	buddy_alloc(mb->groups[number].buddy, start, count);
	mb->groups[number].is_dirty = true;
	group_note_change(mb, number);
}

errcode_t group_change_range(struct ext2mb *mb, uint64_t position, uint64_t count, group_enter_piece enter,
                             group_change_piece change)
{
	uint64_t checked = 0;
	errcode_t error = 0;

	while (checked < count && !error) {
		struct group_piece piece = geometry_piece(&mb->geometry, position + checked, count - checked);

		error = enter(mb, &piece);
		if (!error)
			checked += piece.count;
	}
	for (uint64_t done = 0; done < checked;) {
		struct group_piece piece = geometry_piece(&mb->geometry, position + done, count - done);

		if (error)
			group_leave(mb, piece.group);
		else
			change(mb, &piece);
		done += piece.count;
	}
	return error;
}
