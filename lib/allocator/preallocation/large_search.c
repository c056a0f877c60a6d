/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "allocator/preallocation/large_search.h"

#include "allocator/core/arithmetic.h"
#include "allocator/group/group_reserved.h"
#include "allocator/preallocation/large_attempts.h"
#include "allocator/preallocation/small_search.h"

#define LEAST_HELD 32u                  /* files that are held open at once; fewer may be growing side by side */
#define HELD_CLUSTERS 64u               /* a file that begins with more is not one of many small ones */
#define CHUNK_BYTES (UINT64_C(8) << 20) /* as for writes inside a file (normalize.c) */

/*
 * Our preallocations end where the extents of the greatest length would end if the file had only such ones, unless that
 * cuts the request or a stripe. Files often end there as well, and then nothing of their last preallocation is left
 * over.
 */
static void clip_at_extent(struct file_need *need)
{
	uint64_t stripe = need->mb->stripe.blocks;
	uint64_t unit = max_u64(NORMALIZE_WRITTEN_MAX, geometry_cluster_blocks(&need->mb->geometry));
	uint64_t end = round_up(need->request->logical + need->count, unit);

	if (!need_follows(need, RULE_END_AT_EXTENT) || (stripe && end % stripe) ||
	    need->count > unit - need->request->logical % unit || end >= need->hole_end)
		return;
	need->hole_end = end;
	need->right_physical = 0;
}

static bool is_contended(const struct ext2mb *mb)
{
	return mb->contention && mb->contention->is_contended && mb->contention->is_contended(mb->contention->context);
}

/*
 * A file whose new end leaves a hole is probably written in no order, or stays sparse. Its request is normalized as if
 * the file went on to the end of the chunk, so that the chunk's beginning is reserved, too. A database of 24 MiB that
 * was written so had 11 extents; it has one to three, in Linux two.
 */
static uint64_t supposed_blocks(const struct file_need *need)
{
	uint64_t end = need->request->logical + need->count;

	if (!need_follows(need, RULE_TOGETHER) || need->hole_start >= need->request->logical || need->file->is_final ||
	    need->request->flags & EXT2MB_FILE_UNWRITTEN || end < need->file->blocks)
		return need->file->blocks;
	return min_u64(round_up(end + 1, CHUNK_BYTES >> need->mb->geometry.block_bits), need->hole_end);
}

/* The first request of a short file of unknown size, whose worker goes in order. */
static bool begins_in_order(const struct file_need *need)
{
	return preallocation_is_ours(need->mb) && !need->file->is_final && !need->left_physical &&
	       !need->request->logical && !(need->request->flags & EXT2MB_FILE_UNWRITTEN) &&
	       need_to_clusters(need, need->count) <= HELD_CLUSTERS && !need->worker->preallocation->goes_in_order &&
	       worker_goes_in_order(need->worker);
}

static errcode_t choose_goal(struct file_need *need)
{
	const struct ext2mb_file *file = need->file;
	bool joins = !need->mb->policy.ignores_neighbours;
	struct normalize_request request = {
		.geometry = &need->mb->geometry,
		.stripe_blocks = need->mb->stripe.blocks,
		.start = need->request->logical,
		.count = need->count,
		.whole_count = need->request->whole_count,
		.file_blocks = supposed_blocks(need),
		.unwritten = need->request->flags & EXT2MB_FILE_UNWRITTEN,
		.final_size = file->is_final || need->is_held,
		.is_roomy = need->worker->preallocation->is_roomy && need_follows(need, RULE_TOGETHER),
		.is_contended = is_contended(need->mb),
		.hole_start = need->hole_start,
		.hole_end = need->hole_end,
		.left_physical = joins ? need->left_physical : 0,
		.right_physical = joins ? need->right_physical : 0,
		.hints = need->worker->preallocation->hints,
	};

	/* The run that the longest buddy lies in may be longer, and all of it is welcome. */
	if (preallocation_is_ours(need->mb) && request.hints.largest_order >= 0)
		request.hints.largest_order++;
	/* A file that is written in no order cuts its preallocations into many, and must not get less for it. */
	request.hints.open_preallocations -=
		(uint32_t)min_u64(file->owner.list.count, request.hints.open_preallocations);
	const struct user_operations *user = need->mb->policy.user;
	bool is_normalized = false;
	errcode_t error = user ? user->goal(file, &request, &need->user_goal, &need->has_user_goal) : 0;

	if (user && !error)
		error = user->normalize(file, &request, &need->goal, &is_normalized);
	if (!error && !is_normalized)
		need->goal = normalize(need->mb->prealloc->normalization, &request);
	need->ends_closed = !is_normalized && normalize_ends_closed(&request);
	return error;
}

/* Searches as the kernel does for the last blocks of a closed file: from the group of the file, or of its inode, on. */
static errcode_t alloc_closed(const struct file_need *need, struct preallocation *found)
{
	const struct geometry *geometry = &need->mb->geometry;
	uint64_t left = need->left_physical ? geometry_position(geometry, need->left_physical) : 0;
	struct scan_request scan = {
		.goal = left && left < geometry->clusters ? left :
		                                            need->mb->policy.small_file_goal(need->file).position,
		.has_goal = true,
		.count = need_goal_clusters(need),
		.asked = need_asked_clusters(need),
	};

	if (!need->ends_closed)
		return EXT2MB_ET_NO_SPACE;
	return preallocation_alloc(need->worker, &scan, found);
}

/*
 * A user's policy has chosen a place: the free blocks there if they hold the request, else a search from its group on.
 */
static errcode_t alloc_at_goal(const struct file_need *need, struct preallocation *found)
{
	struct scan_request scan = {
		.goal = geometry_position(&need->mb->geometry, need->user_goal),
		.has_goal = true,
		.count = need_goal_clusters(need),
		.least = need_asked_clusters(need),
		.asked = need_asked_clusters(need),
		.stream = need->file->ino,
		.flags = EXT2MB_ALLOC_GOAL_ONLY,
	};
	errcode_t error = preallocation_alloc(need->worker, &scan, found);

	if (error == EXT2MB_ET_NO_SPACE) {
		scan.least = 0;
		scan.flags = 0;
		error = preallocation_alloc(need->worker, &scan, found);
	}
	if (!error)
		found->logical = need_place(need, found->count);
	return error;
}

static errcode_t try_kernels(const struct file_need *need, struct preallocation *found)
{
	errcode_t error = alloc_closed(need, found);

	if (error == EXT2MB_ET_NO_SPACE)
		error = large_alloc_at_neighbour(need, found);
	return error == EXT2MB_ET_NO_SPACE ? large_alloc_anywhere(need, found) : error;
}

static errcode_t try_all(const struct file_need *need, struct preallocation *found)
{
	if (need->has_user_goal)
		return alloc_at_goal(need, found);
	return preallocation_is_ours(need->mb) ? large_attempts_try(need, found) : try_kernels(need, found);
}

errcode_t large_search(struct file_need *need, struct preallocation *taken)
{
	struct preallocation_owner *own = &need->file->owner;

	bool begins = begins_in_order(need);
	need->is_held = begins && small_search_holds_slices(need, LEAST_HELD);
	clip_at_extent(need);
	errcode_t error = choose_goal(need);
	if (!error)
		error = preallocation_list_reserve(&own->list, 2);
	if (error)
		return error;
	struct preallocation found = { .logical = need_to_clusters(need, need->goal.start) };
	error = try_all(need, &found);
	if (error)
		return error;
	if (found.logical == need_logical(need) && found.count <= need_to_clusters(need, need->count)) {
		*taken = found;
		group_reserved_clear(need->mb, found.position, found.count);
		return 0;
	}
	if (need->mb->policy.ignores_neighbours && found.logical < need_logical(need))
		need->file->held_end = geometry_to_blocks(&need->mb->geometry, found.logical + found.count);
	if (begins)
		small_search_count_slice(need);
	preallocation_owner_clear_served(own, need->mb);
	inode_pa_add(&own->list, &found);
	return preallocation_owner_alloc(own, need->mb, need_logical(need), need_to_clusters(need, need->count), taken);
}
