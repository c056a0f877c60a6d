/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ext2fs/free.h"

#include "ext2fs/group/group_reserved.h"

static bool is_pending(const struct ext2mb *mb, const struct group_piece *piece)
{
	if (mb->base_pending)
		return base_pending_overlaps(mb->base_pending, piece->group, piece->start, piece->count);
	return pending_free_overlaps(&mb->groups[piece->group].pending, piece->start, piece->count);
}

/* Whether the piece may be freed, and room for noting that it was. The group stays locked unless this fails. */
static errcode_t enter_piece(struct ext2mb *mb, const struct group_piece *piece)
{
	struct group *group = &mb->groups[piece->group];
	errcode_t error = group_enter(mb, piece->group);

	if (error)
		return error;
	if (buddy_next_free(group->buddy, piece->start, piece->start + piece->count) < piece->start + piece->count ||
	    is_pending(mb, piece))
		error = EXT2MB_ET_DOUBLE_FREE;
	else if (group_reserved_overlaps(mb, piece->group, piece->start, piece->count))
		error = EXT2MB_ET_RESERVED_FREE;
	else if (mb->base_pending)
		error = base_pending_reserve(mb->base_pending, piece->group);
	else
		error = pending_free_reserve(&group->pending);
	if (error)
		group_leave(mb, piece->group);
	return error;
}

static void add_piece(struct ext2mb *mb, const struct group_piece *piece)
{
	struct group *group = &mb->groups[piece->group];
	bool is_first = !group->pending.count;

	if (mb->base_pending) {
		base_pending_add(mb->base_pending, piece->group, piece->start, piece->count);
		group_leave(mb, piece->group);
		return;
	}
	pending_free_add(&group->pending, piece->start, piece->count,
	                 atomic_load_explicit(&mb->epoch, memory_order_relaxed));
	if (is_first)
		order_set_add(&mb->pending, piece->group);
	group_leave(mb, piece->group);
}

/*
 * All groups of the range are locked, in ascending order, before any is changed: a refused range changes
 * nothing. Nobody else holds more than one group's lock, so this cannot deadlock.
 */
static errcode_t try_to_free(struct ext2mb *mb, uint64_t position, uint64_t count)
{
	uint64_t checked = 0;
	errcode_t error = 0;

	while (checked < count && !error) {
		struct group_piece piece = geometry_piece(&mb->geometry, position + checked, count - checked);

		error = enter_piece(mb, &piece);
		if (!error)
			checked += piece.count;
	}
	for (uint64_t done = 0; done < checked;) {
		struct group_piece piece = geometry_piece(&mb->geometry, position + done, count - done);

		if (error)
			group_leave(mb, piece.group);
		else
			add_piece(mb, &piece);
		done += piece.count;
	}
	return error;
}

errcode_t free_clusters(struct ext2mb_worker *worker, uint64_t position, uint64_t count)
{
	struct ext2mb *mb = worker->mb;
	errcode_t error = try_to_free(mb, position, count);

	/* It may have been handed out since; what the caller has been given certainly has been. */
	if (error == EXT2MB_ET_RESERVED_FREE) {
		window_register_clear_served(&mb->windows);
		error = try_to_free(mb, position, count);
	}
	if (error)
		return error;
	stats_add(&worker->stats, COUNT_FREES, 1);
	stats_add(&worker->stats, COUNT_CLUSTERS_FREED, count);
	return 0;
}

errcode_t free_at_once(struct ext2mb_worker *worker, uint64_t position, uint64_t count)
{
	struct ext2mb *mb = worker->mb;
	struct hand_out *last = &worker->last;
	struct group_piece piece = geometry_piece(&mb->geometry, position, count);
	errcode_t error = 0;

	if (position < last->position || count > last->count || position - last->position > last->count - count)
		return EXT2MB_ET_BAD_RANGE;
	atomic_fetch_add(&mb->releases_begun, 1);
	lock_wait(&mb->groups[piece.group].lock);
	/* Without a commit since, whatever another worker has freed of it still waits. */
	if (atomic_load_explicit(&mb->epoch, memory_order_relaxed) != last->epoch)
		error = EXT2MB_ET_BAD_RANGE;
	else if (is_pending(mb, &piece))
		error = EXT2MB_ET_DOUBLE_FREE;
	if (!error) {
		buddy_give(mb->groups[piece.group].buddy, piece.start, piece.count);
		mb->groups[piece.group].is_dirty = true;
		atomic_fetch_add_explicit(&mb->clusters_released, count, memory_order_relaxed);
		group_leave_changed(mb, piece.group);
	} else {
		group_leave(mb, piece.group);
	}
	atomic_fetch_add(&mb->releases_ended, 1);
	if (error)
		return error;
	/* The next request without a goal goes on where this one now ends. */
	if (worker->goes_on_at.group == piece.group && worker->goes_on_at.cluster == piece.start + piece.count)
		worker->goes_on_at.cluster = piece.start;
	if (position == last->position)
		*last = (struct hand_out){ position + count, last->count - (uint32_t)count, last->epoch };
	else
		last->count = (uint32_t)(position - last->position);
	stats_add(&worker->stats, COUNT_FREES, 1);
	stats_add(&worker->stats, COUNT_CLUSTERS_FREED, count);
	return 0;
}

errcode_t free_refuse_in_discard(struct ext2mb *mb)
{
	if (pthread_mutex_lock(&mb->commit_lock))
		return EXT2MB_ET_IN_DISCARD;
	pthread_mutex_unlock(&mb->commit_lock);
	return 0;
}

static void give_back(void *context, uint32_t start, uint32_t count)
{
	struct group *group = context;

	buddy_give(group->buddy, start, count);
}

/* The group's pending frees that are old enough become free. */
static void release_group(struct ext2mb *mb, uint32_t number, uint32_t epoch)
{
	struct group *group = &mb->groups[number];

	atomic_fetch_add(&mb->releases_begun, 1);
	lock_wait(&group->lock);
	uint32_t released = pending_free_release(&group->pending, epoch, give_back, group);
	if (!group->pending.count)
		order_set_remove(&mb->pending, number);
	group->is_dirty |= released > 0;
	atomic_fetch_add_explicit(&mb->clusters_released, released, memory_order_relaxed);
	group_leave_changed(mb, number);
	atomic_fetch_add(&mb->releases_ended, 1);
}

/*
 * What is to be released is shown first: run by run, without a group's lock, for the caller may take its time. The
 * commit lock keeps the runs as they are, and once a group has been looked through nothing is added to them: whoever
 * frees reads the epoch under the group's lock. A run that goes on in the next group holds its groups back.
 */
struct showing {
	struct ext2mb *mb;
	uint32_t epoch;
	uint64_t start; /* position; the run that may go on */
	uint64_t end;
	uint32_t held_from; /* groups that were looked through and are not released yet */
	uint32_t held_end;
	errcode_t error; /* the first */
};

static void show(struct showing *showing)
{
	struct ext2mb *mb = showing->mb;
	unsigned int cluster_bits = mb->geometry.cluster_bits;

	if (showing->start < showing->end) {
		uint64_t block = mb->geometry.first_block + (showing->start << cluster_bits);
		uint64_t blocks = (showing->end - showing->start) << cluster_bits;
		errcode_t error = mb->discard(mb->discard_context, block, blocks);

		if (!showing->error)
			showing->error = error;
	}
	showing->start = showing->end;
	while (showing->held_from < showing->held_end)
		release_group(mb, showing->held_from++, showing->epoch);
}

static bool next_run(struct showing *showing, uint32_t number, uint32_t from, uint32_t *start, uint32_t *count)
{
	struct group *group = &showing->mb->groups[number];

	lock_wait(&group->lock);
	bool has_run = pending_free_next(&group->pending, from, showing->epoch, start, count);
	lock_release(&group->lock);
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

errcode_t free_commit(struct ext2mb *mb)
{
	if (pthread_mutex_lock(&mb->commit_lock))
		return EXT2MB_ET_IN_DISCARD;

	struct showing showing = { .mb = mb, .epoch = atomic_fetch_add_explicit(&mb->epoch, 1, memory_order_relaxed) };
	if (mb->base_pending) {
		errcode_t error = base_pending_commit(mb);

		pthread_mutex_unlock(&mb->commit_lock);
		return error;
	}

	for (uint32_t number = order_set_next(&mb->pending, 0, mb->geometry.groups); number != ORDER_SET_NONE;
	     number = order_set_next(&mb->pending, number + 1, mb->geometry.groups))
		if (mb->discard)
			show_group(&showing, number);
		else
			release_group(mb, number, showing.epoch);
	show(&showing);
	pthread_mutex_unlock(&mb->commit_lock);
	return showing.error;
}
