/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "allocator/preallocation/large_attempts.h"

#include "allocator/core/arithmetic.h"
#include "allocator/group/group.h"
#include "allocator/search/empty_groups.h"
#include "allocator/search/first_fit.h"
#include "allocator/search/stream_goals.h"

#define BEGUN_MOST 4u  /* files of a worker that have begun a free group and not gone on, while most are free */
#define ALIKE_LEAST 4u /* files in a row that begin with fallocate(2) of one length, and so may grow by it */
#define MUCH_SHARE 16u /* one part of a group in so many is much to ask for at once: 8 MiB of 128 */

errcode_t large_alloc_at(const struct file_need *need, uint64_t position, uint64_t blocks, uint32_t flags,
                         struct preallocation *found)
{
	const struct scan_request scan = {
		.goal = position,
		.has_goal = true,
		.count = need_to_clusters(need, blocks),
		.stream = need_stream(need),
		.flags = EXT2MB_ALLOC_STREAM | EXT2MB_ALLOC_GOAL_ONLY | flags,
	};

	return preallocation_alloc(need->worker, &scan, found);
}

/*
 * Continues a neighbour, after or before it. A part of the goal will do only if it begins where the request does:
 * blocks that continue the left neighbour might end before the request begins.
 */
errcode_t large_alloc_at_neighbour(const struct file_need *need, struct preallocation *found)
{
	const struct normalize_goal *goal = &need->goal;
	bool may_be_short = goal->start == need->request->logical && goal->try_least < goal->try_count;

	if (!goal->try_count || goal->start + goal->try_count <= need->request->logical)
		return EXT2MB_ET_NO_SPACE;
	return large_alloc_at(need, geometry_position(&need->mb->geometry, goal->physical), goal->try_count,
	                      may_be_short ? 0 : EXT2MB_ALLOC_WHOLE, found);
}

errcode_t large_alloc_anywhere(const struct file_need *need, struct preallocation *found)
{
	struct scan_request scan = {
		.count = need_goal_clusters(need),
		.asked = need_asked_clusters(need),
		.stream = need_stream(need),
		.flags = EXT2MB_ALLOC_STREAM,
	};
	errcode_t error = preallocation_alloc(need->worker, &scan, found);

	if (!error)
		found->logical = need_place(need, found->count);
	return error;
}

/*
 * A file that is opened anew for each append gives its preallocation back in between. Two that once lie side by side
 * would go on by turns there. (20 mailboxes on an old disk had 159 extents, now 37, in Linux 71.)
 */
static bool is_opened_anew(const struct file_need *need)
{
	return !need->file->last_physical && need->count <= need->mb->prealloc->small_file_blocks;
}

/*
 * Our policy rather stays in its flex group with half of the goal than leave it for the whole goal: preallocations of a
 * group's length would leave unused every group that holds metadata.
 */
static errcode_t alloc_near(const struct file_need *need, struct preallocation *found)
{
	struct flex_search_request near = {
		.position = geometry_position(&need->mb->geometry, need->left_physical),
		.count = need_goal_clusters(need),
		.least = (uint32_t)max_u64(need_goal_clusters(need) / 2, need_asked_clusters(need)),
	};

	if (!need->left_physical || need->file->goes_far || is_opened_anew(need))
		return EXT2MB_ET_NO_SPACE;
	errcode_t error = flex_search_alloc(need->worker, &near, &found->position, &found->count);
	if (!error)
		found->logical = need_place(need, found->count);
	return error;
}

/* A file that has outgrown the small ones goes on in the preallocation where it lies. */
static errcode_t alloc_of_small(const struct file_need *need, struct preallocation *found)
{
	struct preallocation_owner *pool = &need->worker->preallocation->pool.owner;

	if (!need->goal.try_count || need->goal.start != need->request->logical || !need_left_position(need))
		return EXT2MB_ET_NO_SPACE;
	preallocation_move_begin(&need->worker->stats);
	lock_wait(&pool->lock);
	bool is_taken = group_pa_alloc_at(&pool->list, need_left_position(need), need_goal_clusters(need), found);
	lock_release(&pool->lock);
	preallocation_move_end(&need->worker->stats);
	return is_taken ? 0 : EXT2MB_ET_NO_SPACE;
}

/* Where directories are written one after the other, a file of known size joins the small ones. */
static errcode_t alloc_after_small(const struct file_need *need, struct preallocation *found)
{
	const struct flex_search_request near = {
		.position = need->worker->preallocation->pool.next,
		.count = need_goal_clusters(need),
		.least = need_goal_clusters(need),
	};

	if (!near.position || !(need->file->is_final || need->is_held) || need->goal.try_count ||
	    !worker_goes_in_order(need->worker))
		return EXT2MB_ET_NO_SPACE;
	return flex_search_alloc(need->worker, &near, &found->position, &found->count);
}

/* A request for more than a group, all of which is known to be needed, goes where several groups are free. */
static errcode_t alloc_free_groups(const struct file_need *need, struct preallocation *found)
{
	struct ext2mb *mb = need->mb;
	const struct normalize_goal *goal = &need->goal;
	bool is_unwritten = need->request->flags & EXT2MB_FILE_UNWRITTEN;
	uint64_t stripe = mb->stripe.blocks, position;
	const struct empty_groups_request wanted = {
		/* Not the goal that files share: what begins there would cut the groups on end that others need. */
		.from = mb->policy.goals->load(mb, need->file->ino).group,
		.clusters = need_to_clusters(need, need->request->count),
		.extent_blocks = is_unwritten ? NORMALIZE_UNWRITTEN_MAX : NORMALIZE_WRITTEN_MAX,
		.begins_with_stripe = stripe && goal->count >= stripe && goal->start % stripe == 0,
	};

	if (wanted.clusters <= mb->geometry.clusters_per_group || !empty_groups_find(mb, &wanted, &position))
		return EXT2MB_ET_NO_SPACE;
	return large_alloc_at(need, position, goal->count, 0, found);
}

/* Requests of this length come from the writeback of a file that is longer than what is kept in memory. */
static bool asks_for_much(const struct file_need *need)
{
	return !need->file->is_final &&
	       need_to_clusters(need, need->count) >= need->mb->geometry.clusters_per_group / MUCH_SHARE;
}

static bool begins_with_much(const struct file_need *need)
{
	return !need->left_physical && !need->request->logical && asks_for_much(need);
}

/*
 * As long as most groups are free, a hundred files that never grow would cut the free space into as many pieces. Some
 * have to go on before others may begin a group of their own, and fallocate(2) most often says all that a file needs.
 */
static bool may_begin_group(const struct file_need *need)
{
	const struct worker_preallocation *own = need->worker->preallocation;

	if (!own->is_roomy || !need_follows(need, RULE_TOGETHER))
		return true;
	return !(need->request->flags & EXT2MB_FILE_UNWRITTEN) && own->begun_groups < BEGUN_MOST;
}

static void note_begun_group(const struct file_need *need)
{
	need->worker->preallocation->begun_groups++;
	need->file->has_begun_group = true;
}

static void note_gone_on(const struct file_need *need)
{
	struct worker_preallocation *own = need->worker->preallocation;

	if (!need->file->has_begun_group || !need->request->logical)
		return;
	need->file->has_begun_group = false;
	if (own->begun_groups)
		own->begun_groups--;
}

/* A file that begins with a long request and has no known end begins in a free group, where it can grow. */
static errcode_t begin_free_group(const struct file_need *need, struct preallocation *found)
{
	struct ext2mb *mb = need->mb;
	uint64_t position;

	if (!begins_with_much(need) || !may_begin_group(need) ||
	    !empty_groups_first(mb, mb->policy.goals->load(mb, need_stream(need)).group, &position))
		return EXT2MB_ET_NO_SPACE;
	errcode_t error = large_alloc_at(need, position, need->goal.count, 0, found);
	if (!error)
		note_begun_group(need);
	return error;
}

/* True if the whole goal is free after the left neighbour, even across the end of the group. */
static bool fits_after(const struct file_need *need)
{
	uint64_t position = need_left_position(need), end = position + need_goal_clusters(need), start;
	uint32_t count;

	while (need->goal.try_count && position < end) {
		if (first_fit_find(need->mb, position, end, &start, &count) || start != position)
			return false;
		position += count;
	}
	return position >= end;
}

/*
 * Where an extent has its greatest length, a new one begins in any case. So it may as well lie whole in a free group as
 * in parts after the left neighbour. This is not for files that grow by little: 64 streams of 4 KiB at a time would
 * leave half as many free extents again (143 instead of 84).
 */
static errcode_t begin_extent(const struct file_need *need, struct preallocation *found)
{
	const struct normalize_goal *goal = &need->goal;
	uint64_t position = need_left_position(need);
	bool begins = position && goal->start == need->request->logical && goal->start % NORMALIZE_WRITTEN_MAX == 0 &&
	              goal->count == NORMALIZE_WRITTEN_MAX && !(need->request->flags & EXT2MB_FILE_UNWRITTEN);

	if (!begins || !asks_for_much(need) || fits_after(need) ||
	    !empty_groups_first(need->mb, (uint32_t)(position / need->mb->geometry.clusters_per_group), &position))
		return EXT2MB_ET_NO_SPACE;
	return large_alloc_at(need, position, goal->count, 0, found);
}

static bool begins_by_fallocate(const struct file_need *need)
{
	return need->request->flags & EXT2MB_FILE_UNWRITTEN && !need->left_physical && !need->request->logical;
}

/*
 * The first fallocate(2) of a file says either all that it needs, as a package manager's does, or the step in which it
 * grows side by side with others. Steps are alike, files are not.
 */
static void note_beginning(const struct file_need *need)
{
	struct worker_preallocation *own = need->worker->preallocation;

	if (!begins_by_fallocate(need))
		return;
	if (own->reserved_first && own->reserved_first != need->count)
		own->varied = ALIKE_LEAST;
	else if (own->varied)
		own->varied--;
	own->reserved_first = need->count;
}

static bool begins_whole(const struct file_need *need)
{
	return begins_by_fallocate(need) && need->worker->preallocation->varied;
}

/* A file that begins small, or gets its first pieces little by little, may grow side by side with others. */
static bool gets_all(const struct file_need *need)
{
	uint64_t end = need->request->logical + need->count;

	return (end > need->mb->prealloc->small_file_blocks || begins_whole(need)) &&
	       (need_asked_clusters(need) == need_goal_clusters(need) || begins_with_much(need));
}

/*
 * Requests that get all that they ask for, and nothing to grow into, need no regions of their own, as streams do that
 * grow side by side: a worker's lie one after the other. (100 files of 8 MiB on an empty disk of 8 GiB leave 14 free
 * extents, as in Linux; by the goals of streams 28.) If free space is in pieces, a place at the stream's goal is better
 * for files that go on after all. Another thread in the group is a reason to go elsewhere, and so are stripes.
 */
static errcode_t alloc_together(const struct file_need *need, struct preallocation *found)
{
	struct worker_preallocation *own = need->worker->preallocation;
	struct ext2mb *mb = need->mb;
	struct scan_request scan = {
		.goal = own->after_whole,
		.has_goal = true,
		.count = need_asked_clusters(need),
	};

	if (!own->is_roomy || need->left_physical || !gets_all(need) ||
	    (mb->stripe.clusters && scan.count >= mb->stripe.clusters))
		return EXT2MB_ET_NO_SPACE;
	if (!scan.goal)
		scan.goal = (uint64_t)mb->policy.goals->load(mb, need->worker->number).group *
		            mb->geometry.clusters_per_group;
	if (scan.goal >= mb->geometry.clusters)
		scan.goal = 0;
	if (lock_looks_held(&mb->groups[scan.goal / mb->geometry.clusters_per_group].lock))
		return EXT2MB_ET_NO_SPACE;
	errcode_t error = preallocation_alloc(need->worker, &scan, found);
	if (error)
		return error;
	found->logical = need_logical(need);
	own->after_whole = found->position + found->count;
	return 0;
}

/* For a file that is written in no order: the place that the chunk would have if the file was in one piece. */
static errcode_t alloc_in_line(const struct file_need *need, struct preallocation *found)
{
	const struct geometry *geometry = &need->mb->geometry;
	const struct ext2mb_file *file = need->file;
	uint64_t start = need->goal.start, position;

	if (!file->last_physical || need->left_physical || need_asked_clusters(need) == need_goal_clusters(need))
		return EXT2MB_ET_NO_SPACE;
	position = geometry_position(geometry, file->last_physical);
	if (start >= file->last_logical)
		position += geometry_to_clusters(geometry, start - file->last_logical);
	else if (position >= geometry_to_clusters(geometry, file->last_logical - start))
		position -= geometry_to_clusters(geometry, file->last_logical - start);
	else
		return EXT2MB_ET_NO_SPACE;
	if (position >= geometry->clusters)
		return EXT2MB_ET_NO_SPACE;
	return large_alloc_at(need, position, need->goal.count, EXT2MB_ALLOC_WHOLE, found);
}

typedef errcode_t (*large_attempt)(const struct file_need *need, struct preallocation *found);

errcode_t large_attempts_try(const struct file_need *need, struct preallocation *found)
{
	static const struct {
		uint32_t rule; /* 0: it is no choice */
		large_attempt run;
	} attempts[] = {
		{ RULE_FROM_SMALL, alloc_of_small },     { RULE_WHOLE_EXTENT, begin_extent },
		{ 0, large_alloc_at_neighbour },         { RULE_FREE_GROUPS, alloc_free_groups },
		{ RULE_FREE_GROUP, begin_free_group },   { RULE_NEAR, alloc_near },
		{ RULE_AFTER_SMALL, alloc_after_small }, { RULE_TOGETHER, alloc_in_line },
		{ RULE_TOGETHER, alloc_together },       { 0, large_alloc_anywhere },
	};
	errcode_t error = EXT2MB_ET_NO_SPACE;

	note_gone_on(need);
	note_beginning(need);
	for (unsigned int n = 0; n < sizeof(attempts) / sizeof(*attempts) && error == EXT2MB_ET_NO_SPACE; n++)
		if (!attempts[n].rule || need_follows(need, attempts[n].rule))
			error = attempts[n].run(need, found);
	return error;
}
