/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Our way with freed blocks: their runs wait in their groups, and a commit releases them. */
#include "allocator/free/commit.h"

#include "allocator/group/group.h"

static bool overlaps(const struct ext2mb *mb, uint32_t number, uint32_t start, uint32_t count)
{
	return pending_free_overlaps(&mb->groups[number].pending, start, count);
}

static errcode_t reserve(struct ext2mb *mb, uint32_t number)
{
	return pending_free_reserve(&mb->groups[number].pending);
}

static void add(struct ext2mb *mb, uint32_t number, uint32_t start, uint32_t count)
{
	struct pending_free *pending = &mb->groups[number].pending;
	bool is_first = !pending->count;

	pending_free_add(pending, start, count, atomic_load_explicit(&mb->tid, memory_order_relaxed));
	if (is_first)
		order_set_add(&mb->pending, number);
}

static void give_back(void *context, uint32_t start, uint32_t count)
{
	struct group *group = context;

	buddy_give(group->buddy, start, count);
}

/* Releases those of the group's pending frees that are old enough. */
static void release_group(struct ext2mb *mb, uint32_t number, uint32_t tid)
{
	struct group *group = &mb->groups[number];

	atomic_fetch_add(&mb->releases_begun, 1);
	group_lock(group);
	uint32_t released = pending_free_release(&group->pending, tid, give_back, group);
	if (!group->pending.count)
		order_set_remove(&mb->pending, number);
	group->is_dirty |= released > 0;
	atomic_fetch_add_explicit(&mb->clusters_released, released, memory_order_relaxed);
	group_leave_changed(mb, number);
	atomic_fetch_add(&mb->releases_ended, 1);
}

/*
 * The discard function gets the runs first, one by one and without a group's lock, since it may take long. The commit
 * lock keeps the runs as they are. Once a group has been looked through nothing is added to them: a thread that frees
 * blocks reads the tid under the group's lock. A run that continues in the next group holds back both groups.
 */
struct showing {
	struct ext2mb *mb;
	uint32_t tid;
	uint64_t start; /* position; the run that may go on */
	uint64_t end;
	uint32_t held_from; /* groups that were looked through and are not released yet */
	uint32_t held_end;
	errcode_t error; /* the first */
};

static void show(struct showing *showing)
{
	struct ext2mb *mb = showing->mb;

	if (showing->start < showing->end) {
		uint64_t block = geometry_block_at(&mb->geometry, showing->start);
		uint64_t blocks = geometry_to_blocks(&mb->geometry, showing->end - showing->start);
		errcode_t error = mb->discard(mb->discard_context, block, blocks);

		if (!showing->error)
			showing->error = error;
	}
	showing->start = showing->end;
	while (showing->held_from < showing->held_end)
		release_group(mb, showing->held_from++, showing->tid);
}

static bool next_run(struct showing *showing, uint32_t number, uint32_t from, uint32_t *start, uint32_t *count)
{
	struct group *group = &showing->mb->groups[number];

	group_lock(group);
	bool has_run = pending_free_next(&group->pending, from, showing->tid, start, count);
	group_leave(showing->mb, number);
	return has_run;
}

static void show_group(struct showing *showing, uint32_t number)
{
	uint64_t group_start = (uint64_t)number * showing->mb->geometry.clusters_per_group;
	uint32_t start = 0;
	uint32_t count = 0;

	if (showing->held_end != number) {
		show(showing);
		showing->held_from = showing->held_end = number;
	}
	while (next_run(showing, number, start + count, &start, &count)) {
		if (group_start + start != showing->end) {
			show(showing);
			showing->start = group_start + start;
		}
		showing->end = group_start + start + count;
	}
	showing->held_end = number + 1;
}

static errcode_t release_all(struct ext2mb *mb, uint32_t tid)
{
	struct showing showing = { .mb = mb, .tid = tid };

	for (uint32_t number = order_set_next(&mb->pending, 0, mb->geometry.groups); number != ORDER_SET_NONE;
	     number = order_set_next(&mb->pending, number + 1, mb->geometry.groups))
		if (mb->discard)
			show_group(&showing, number);
		else
			release_group(mb, number, tid);
	show(&showing);
	return showing.error;
}

static const char *check(const struct ext2mb *mb, uint32_t number)
{
	const struct group *group = &mb->groups[number];
	const struct pending_run *previous = NULL;
	const char *wrong = NULL;

	if (order_set_has(&mb->pending, number) != (group->pending.count > 0))
		return "pending frees and their set disagree";
	for (uint32_t index = 0; index < group->pending.count && !wrong; index++) {
		wrong = pending_run_check(&group->pending.runs[index], previous, group->buddy);
		previous = &group->pending.runs[index];
	}
	return wrong;
}

const struct pending_operations pending_in_groups = { overlaps, reserve, add, release_all, check };

errcode_t commit_frees(struct ext2mb *mb)
{
	/*
	 * The other process still refers to these blocks: they must neither be discarded nor be overwritten by a sync.
	 */
	if (!process_claim_acquire(mb->claim))
		return EXT2MB_ET_FORKED;
	if (pthread_mutex_lock(&mb->commit_lock))
		return EXT2MB_ET_IN_DISCARD;
	errcode_t error = mb->policy.pending->commit(mb, atomic_fetch_add_explicit(&mb->tid, 1, memory_order_relaxed));
	pthread_mutex_unlock(&mb->commit_lock);
	return error;
}

errcode_t commit_refuse_in_discard(struct ext2mb *mb)
{
	if (pthread_mutex_lock(&mb->commit_lock))
		return EXT2MB_ET_IN_DISCARD;
	pthread_mutex_unlock(&mb->commit_lock);
	return 0;
}
