/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "allocator/free/free.h"

#include "allocator/group/group.h"
#include "allocator/group/group_reserved.h"
#include "allocator/preallocation/preallocation_register.h"
#include "allocator/search/search_memory.h"

/* Checks that the piece may be freed, and makes room to note it. On success the group stays locked. */
static errcode_t enter_piece(struct ext2mb *mb, const struct group_piece *piece)
{
	const struct group *group = &mb->groups[piece->group];
	errcode_t error = group_enter(mb, piece->group);

	if (error)
		return error;
	if (buddy_next_free(group->buddy, piece->start, piece->start + piece->count) < piece->start + piece->count ||
	    mb->policy.pending->overlaps(mb, piece->group, piece->start, piece->count))
		error = EXT2MB_ET_DOUBLE_FREE;
	else if (group_reserved_overlaps(mb, piece->group, piece->start, piece->count))
		error = EXT2MB_ET_RESERVED_FREE;
	else
		error = mb->policy.pending->reserve(mb, piece->group);
	if (error)
		group_leave(mb, piece->group);
	return error;
}

static void add_piece(struct ext2mb *mb, const struct group_piece *piece)
{
	mb->policy.pending->add(mb, piece->group, piece->start, piece->count);
	group_note_change(mb, piece->group);
	group_leave(mb, piece->group);
}

errcode_t free_clusters(struct ext2mb_worker *worker, uint64_t position, uint64_t count)
{
	struct ext2mb *mb = worker->mb;
	errcode_t error = group_change_range(mb, position, count, enter_piece, add_piece);

	/* It may have been handed out since; what the caller has been given certainly has been. */
	if (error == EXT2MB_ET_RESERVED_FREE) {
		preallocation_register_clear_served(mb);
		error = group_change_range(mb, position, count, enter_piece, add_piece);
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
	struct hand_out *last = &worker->search->last;
	struct cluster_place *goes_on_at = &worker->search->goes_on_at;
	struct group_piece piece = geometry_piece(&mb->geometry, position, count);
	errcode_t error = 0;

	if (position < last->position || count > last->count || position - last->position > last->count - count)
		return EXT2MB_ET_BAD_RANGE;
	atomic_fetch_add(&mb->releases_begun, 1);
	group_lock(&mb->groups[piece.group]);
	/* As long as there was no commit, the blocks that another worker has freed there still wait. */
	if (atomic_load_explicit(&mb->tid, memory_order_relaxed) != last->tid)
		error = EXT2MB_ET_BAD_RANGE;
	else if (mb->policy.pending->overlaps(mb, piece.group, piece.start, piece.count))
		error = EXT2MB_ET_DOUBLE_FREE;
	if (!error) {
		buddy_give(mb->groups[piece.group].buddy, piece.start, piece.count);
		mb->groups[piece.group].is_dirty = true;
		group_note_change(mb, piece.group);
		atomic_fetch_add_explicit(&mb->clusters_released, count, memory_order_relaxed);
		group_leave_changed(mb, piece.group);
	} else {
		group_leave(mb, piece.group);
	}
	atomic_fetch_add(&mb->releases_ended, 1);
	if (error)
		return error;
	/* The next request without a goal continues where this one ends. */
	if (goes_on_at->group == piece.group && goes_on_at->cluster == piece.start + piece.count)
		goes_on_at->cluster = piece.start;
	if (position == last->position)
		*last = (struct hand_out){ position + count, last->count - (uint32_t)count, last->tid };
	else
		last->count = (uint32_t)(position - last->position);
	stats_add(&worker->stats, COUNT_FREES, 1);
	stats_add(&worker->stats, COUNT_CLUSTERS_FREED, count);
	return 0;
}
