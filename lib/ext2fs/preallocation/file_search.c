// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * What a file needs and has no preallocation for: from a small file's preallocation, or by a search that may leave a
 * preallocation.
 */
#include "ext2fs/preallocation/file_search.h"

#include "ext2fs/core/arithmetic.h"
#include "ext2fs/group/group_reserved.h"
#include "ext2fs/preallocation/directory_locality.h"
#include "ext2fs/preallocation/preallocation.h"
#include "ext2fs/preallocation/reclaim.h"
#include "ext2fs/search/empty_groups.h"
#include "ext2fs/search/first_fit.h"
#include "ext2fs/search/short_runs.h"
#include "ext2fs/search/stream_goals.h"

#define MUCH_SHARE 16u  /* one part of a group in so many is much to ask for at once: 8 MiB of 128 */
#define LITTLE_BYTES (UINT64_C(64) << 10)    /* a request of no more is a little one */
#define SHORT_FILE_BYTES (UINT64_C(16) << 20) /* of short runs, for each file that grows at the time */
#define SHORT_RUNS_A_HINT 16u                 /* taken with the same hints */

struct need {
	struct ext2mb_worker *worker;
	struct ext2mb *mb;
	struct ext2mb_file *file;
	const struct ext2mb_file_request *request;
	uint64_t count;      /* blocks: the request's, cut where one of the file's preallocations begins */
	uint64_t hole_start; /* blocks */
	uint64_t hole_end;
	uint64_t left_physical;
	uint64_t right_physical;
	struct normalize_goal goal; /* of a large file */
	bool ends_closed;           /* the kernel reserves nothing, and does not go where others went on */
	bool has_own_goal;          /* a block that somebody's own policy wishes for it */
	uint64_t own_goal;
};

static uint32_t to_clusters(const struct need *need, uint64_t blocks)
{
	return (uint32_t)geometry_to_clusters(&need->mb->geometry, blocks);
}

static uint32_t logical_of(const struct need *need)
{
	return to_clusters(need, need->request->logical);
}

/* What is known of the hole: from the caller, from the file's end, or no more than that the request is one. */
static void find_hole(struct need *need)
{
	const struct ext2mb_file_request *request = need->request;
	const struct ext2mb_file *file = need->file;
	uint64_t cluster = geometry_cluster_blocks(&need->mb->geometry);

	need->right_physical = request->hole_end ? request->right_physical : 0;
	need->left_physical = request->left_physical;
	if (request->hole_end) {
		need->hole_start = request->hole_start;
		need->hole_end = request->hole_end;
	} else if (request->logical >= file->end) {
		need->hole_start = min_u64(round_up(file->end, cluster), request->logical);
		need->hole_end = round_down(NORMALIZE_END, cluster);
	} else {
		need->hole_start = request->logical;
		need->hole_end = request->logical + request->count;
	}
	if (!need->left_physical && file->last_physical && file->last_logical == need->hole_start)
		need->left_physical = file->last_physical;
}

/* With the file's lock: other preallocations of the file are no part of the hole. */
static void clip_hole(struct need *need)
{
	const struct geometry *geometry = &need->mb->geometry;
	uint64_t start = geometry_to_clusters(geometry, need->hole_start);
	uint64_t end = geometry_to_clusters(geometry, need->hole_end);

	inode_pa_clip_hole(&need->file->own.list, logical_of(need), &start, &end);
	if (geometry_to_blocks(geometry, start) != need->hole_start)
		need->left_physical = 0;
	if (geometry_to_blocks(geometry, end) != need->hole_end)
		need->right_physical = 0;
	need->hole_start = geometry_to_blocks(geometry, start);
	need->hole_end = geometry_to_blocks(geometry, end);
	need->count = min_u64(need->request->count, need->hole_end - need->request->logical);
}

/* Of the cluster after the left neighbour, for our own policy; 0: there is none. */
static uint64_t left_position(const struct need *need)
{
	const struct geometry *geometry = &need->mb->geometry;

	if (!preallocation_is_ours(need->mb) || !need->left_physical)
		return 0;
	return geometry_position(geometry, need->left_physical);
}

/* --- Large files -------------------------------------------------------------------------------------------- */

/*
 * Where the longest extents of a file that has no other ones end, our own preallocations end too, unless that cuts the
 * request or a stripe. Files often end there as well, and then nothing of their last preallocation is left over.
 */
static void clip_at_extent(struct need *need)
{
	uint64_t stripe = need->mb->stripe.blocks;
	uint64_t unit = max_u64(NORMALIZE_WRITTEN_MAX, geometry_cluster_blocks(&need->mb->geometry));
	uint64_t end = round_up(need->request->logical + need->count, unit);

	if (!preallocation_is_ours(need->mb) || (stripe && end % stripe) ||
	    need->count > unit - need->request->logical % unit || end >= need->hole_end)
		return;
	need->hole_end = end;
	need->right_physical = 0;
}

static bool is_contended(const struct ext2mb *mb)
{
	return mb->contention && mb->contention->is_contended && mb->contention->is_contended(mb->contention->context);
}

static errcode_t choose_goal(struct need *need)
{
	const struct ext2mb_file *file = need->file;
	struct normalize_request request = {
		.geometry = &need->mb->geometry,
		.stripe_blocks = need->mb->stripe.blocks,
		.start = need->request->logical,
		.count = need->count,
		.whole_count = need->request->whole_count,
		.file_blocks = file->blocks,
		.unwritten = need->request->flags & EXT2MB_FILE_UNWRITTEN,
		.final_size = file->is_final,
		.is_contended = is_contended(need->mb),
		.hole_start = need->hole_start,
		.hole_end = need->hole_end,
		.left_physical = need->left_physical,
		.right_physical = need->right_physical,
		.hints = need->worker->preallocation->hints,
	};

	/* The run that the longest buddy lies in may be longer, and all of it is welcome. */
	if (preallocation_is_ours(need->mb) && request.hints.largest_order >= 0)
		request.hints.largest_order++;
	const struct own_operations *own = need->mb->policy.own;
	bool is_normalized = false;
	errcode_t error = own ? own->goal(file, &request, &need->own_goal, &need->has_own_goal) : 0;

	if (own && !error)
		error = own->normalize(file, &request, &need->goal, &is_normalized);
	if (!error && !is_normalized)
		need->goal = normalize(need->mb->prealloc->normalization, &request);
	need->ends_closed = !is_normalized && normalize_ends_closed(&request);
	return error;
}

static uint32_t goal_clusters(const struct need *need)
{
	return to_clusters(need, need->goal.count);
}

/* What the goal has of the request. */
static uint32_t asked_clusters(const struct need *need)
{
	return to_clusters(need, min_u64(need->count, need->goal.count));
}

/* A run that may be shorter than the goal: where in the file it goes. */
static uint32_t place(const struct need *need, uint32_t clusters)
{
	return inode_pa_place(to_clusters(need, need->goal.start), goal_clusters(need), logical_of(need),
	                      asked_clusters(need), clusters);
}

static errcode_t take_at(const struct need *need, uint64_t position, uint64_t blocks, uint32_t flags,
                         struct preallocation *found)
{
	const struct scan_request scan = {
		.goal = position,
		.has_goal = true,
		.count = to_clusters(need, blocks),
		.stream = need->file->ino,
		.flags = EXT2MB_ALLOC_STREAM | EXT2MB_ALLOC_GOAL_ONLY | flags,
	};

	return preallocation_take(need->worker, &scan, found);
}

/*
 * After or before a neighbour; a part of it only if that begins where the request does. What continues the left
 * neighbour might end before the request begins.
 */
static errcode_t take_at_neighbour(const struct need *need, struct preallocation *found)
{
	const struct normalize_goal *goal = &need->goal;
	bool may_be_short = goal->start == need->request->logical && goal->try_least < goal->try_count;

	if (!goal->try_count || goal->start + goal->try_count <= need->request->logical)
		return EXT2MB_ET_NO_SPACE;
	return take_at(need, geometry_position(&need->mb->geometry, goal->physical), goal->try_count,
	               may_be_short ? 0 : EXT2MB_ALLOC_WHOLE, found);
}

/*
 * Our own policy rather stays in its flex group with half of what it wants than go elsewhere for the whole:
 * preallocations of a group's length would leave every group that holds metadata unused.
 */
static errcode_t take_near(const struct need *need, struct preallocation *found)
{
	struct flex_search_request near = {
		.position = geometry_position(&need->mb->geometry, need->left_physical),
		.count = goal_clusters(need),
		.least = (uint32_t)max_u64(goal_clusters(need) / 2, asked_clusters(need)),
	};

	if (!need->left_physical || need->file->goes_far)
		return EXT2MB_ET_NO_SPACE;
	errcode_t error = flex_search_take(need->worker, &near, &found->position, &found->count);
	if (!error)
		found->logical = place(need, found->count);
	return error;
}

static errcode_t take_anywhere(const struct need *need, struct preallocation *found)
{
	struct scan_request scan = {
		.count = goal_clusters(need),
		.asked = asked_clusters(need),
		.stream = need->file->ino,
		.flags = EXT2MB_ALLOC_STREAM,
	};
	errcode_t error = preallocation_take(need->worker, &scan, found);

	if (!error)
		found->logical = place(need, found->count);
	return error;
}

/* As the kernel looks for the end of a closed file: from the group on where the file is, or its inode. */
static errcode_t take_closed(const struct need *need, struct preallocation *found)
{
	const struct geometry *geometry = &need->mb->geometry;
	uint64_t left = need->left_physical ? geometry_position(geometry, need->left_physical) : 0;
	struct scan_request scan = {
		.goal = left && left < geometry->clusters ? left : need->mb->policy.small_file_goal(need->file).position,
		.has_goal = true,
		.count = goal_clusters(need),
		.asked = asked_clusters(need),
	};

	if (!need->ends_closed)
		return EXT2MB_ET_NO_SPACE;
	return preallocation_take(need->worker, &scan, found);
}

/* A file that has outgrown the small ones goes on in the preallocation where it lies. */
static errcode_t take_of_pool(const struct need *need, struct preallocation *found)
{
	struct preallocation_owner *pool = &need->worker->preallocation->pool.own;

	if (!need->goal.try_count || need->goal.start != need->request->logical || !left_position(need))
		return EXT2MB_ET_NO_SPACE;
	preallocation_move_begin(&need->worker->stats);
	lock_wait(&pool->lock);
	bool is_taken = group_pa_take_at(&pool->list, left_position(need), goal_clusters(need), found);
	lock_release(&pool->lock);
	preallocation_move_end(&need->worker->stats);
	return is_taken ? 0 : EXT2MB_ET_NO_SPACE;
}

/* Where directories are written one after the other, a file that is known whole joins the small ones. */
static errcode_t take_after_small(const struct need *need, struct preallocation *found)
{
	const struct flex_search_request near = {
		.position = need->worker->preallocation->pool.next,
		.count = goal_clusters(need),
		.least = goal_clusters(need),
	};

	if (!near.position || !need->file->is_final || need->goal.try_count || !worker_goes_in_order(need->worker))
		return EXT2MB_ET_NO_SPACE;
	return flex_search_take(need->worker, &near, &found->position, &found->count);
}

/*
 * Of free space that is in pieces, a file that grows by little takes whole short runs. A file that grows alone does so
 * no longer than it is short itself.
 */
static bool goes_by_short_runs(const struct need *need)
{
	const struct geometry *geometry = &need->mb->geometry;
	const struct normalize_hints *hints = &need->worker->preallocation->hints;
	uint64_t most = (SHORT_FILE_BYTES >> geometry->block_bits) * ((uint64_t)hints->open_preallocations + 1);
	uint64_t little = max_u64(LITTLE_BYTES >> geometry->block_bits, geometry_cluster_blocks(geometry));

	return short_runs_are_first(need->mb) && !need->file->is_final && need->count <= little &&
	       need->request->whole_count <= little && need->goal.start == need->request->logical &&
	       need->hole_end - need->goal.start > need->goal.count && need->request->logical < most;
}

static errcode_t take_short_run(const struct need *need, struct preallocation *found)
{
	struct worker_preallocation *worker = need->worker->preallocation;
	uint64_t most = min_u64(normalize_share(&worker->hints), need->hole_end - need->goal.start);
	const struct short_run_request request = {
		.stream = need->file->ino,
		.least = asked_clusters(need),
		.most = (uint32_t)min_u64(max_u64(to_clusters(need, most), asked_clusters(need)),
		                          need->mb->geometry.clusters_per_group),
	};

	if (!goes_by_short_runs(need))
		return EXT2MB_ET_NO_SPACE;
	errcode_t error = short_runs_take(need->worker, &request, &found->position, &found->count);
	if (++worker->short_runs == SHORT_RUNS_A_HINT || (!error && found->count == request.most))
		worker->hints_are_due = true;
	return error;
}

/* More than a group, all of it known to be needed, goes where several groups are free. */
static errcode_t take_free_groups(const struct need *need, struct preallocation *found)
{
	struct ext2mb *mb = need->mb;
	const struct normalize_goal *goal = &need->goal;
	bool is_unwritten = need->request->flags & EXT2MB_FILE_UNWRITTEN;
	uint64_t stripe = mb->stripe.blocks, position;
	const struct empty_groups_request wanted = {
		.from = mb->policy.goals->load(mb, need->file->ino).group,
		.clusters = to_clusters(need, need->request->count),
		.extent_blocks = is_unwritten ? NORMALIZE_UNWRITTEN_MAX : NORMALIZE_WRITTEN_MAX,
		.begins_with_stripe = stripe && goal->count >= stripe && goal->start % stripe == 0,
	};

	if (wanted.clusters <= mb->geometry.clusters_per_group || !empty_groups_find(mb, &wanted, &position))
		return EXT2MB_ET_NO_SPACE;
	return take_at(need, position, goal->count, 0, found);
}

/* As writeback asks for a file that is longer than what is kept in memory. */
static bool asks_for_much(const struct need *need)
{
	return !need->file->is_final &&
	       to_clusters(need, need->count) >= need->mb->geometry.clusters_per_group / MUCH_SHARE;
}

/* A file that begins with much, and has no known end, begins a free group: there it can grow. */
static errcode_t begin_free_group(const struct need *need, struct preallocation *found)
{
	struct ext2mb *mb = need->mb;
	uint64_t position;

	if (need->left_physical || need->request->logical || !asks_for_much(need) ||
	    !empty_groups_first(mb, mb->policy.goals->load(mb, need->file->ino).group, &position))
		return EXT2MB_ET_NO_SPACE;
	return take_at(need, position, need->goal.count, 0, found);
}

/* Whether all that is wanted is free after the left neighbour, be it in the next group. */
static bool fits_after(const struct need *need)
{
	uint64_t position = left_position(need), end = position + goal_clusters(need), start;
	uint32_t count;

	while (need->goal.try_count && position < end) {
		if (first_fit_find(need->mb, position, end, &start, &count) || start != position)
			return false;
		position += count;
	}
	return position >= end;
}

/*
 * Where the longest extents of a file end, a new one begins in any case: rather whole in a free group, than after the
 * left neighbour in parts. Not for files that grow by little: 64 streams of 4 KiB at a time would leave half as many
 * free extents again (143 instead of 84).
 */
static errcode_t begin_extent(const struct need *need, struct preallocation *found)
{
	const struct normalize_goal *goal = &need->goal;
	uint64_t position = left_position(need);
	bool begins = position && goal->start == need->request->logical && goal->start % NORMALIZE_WRITTEN_MAX == 0 &&
	              goal->count == NORMALIZE_WRITTEN_MAX && !(need->request->flags & EXT2MB_FILE_UNWRITTEN);

	if (!begins || !asks_for_much(need) || fits_after(need) ||
	    !empty_groups_first(need->mb, (uint32_t)(position / need->mb->geometry.clusters_per_group), &position))
		return EXT2MB_ET_NO_SPACE;
	return take_at(need, position, goal->count, 0, found);
}

/* Where somebody's own policy wishes it: what is free there if that holds the request, else from its group on. */
static errcode_t take_at_own_goal(const struct need *need, struct preallocation *found)
{
	struct scan_request scan = {
		.goal = geometry_position(&need->mb->geometry, need->own_goal),
		.has_goal = true,
		.count = goal_clusters(need),
		.least = asked_clusters(need),
		.asked = asked_clusters(need),
		.stream = need->file->ino,
		.flags = EXT2MB_ALLOC_GOAL_ONLY,
	};
	errcode_t error = preallocation_take(need->worker, &scan, found);

	if (error == EXT2MB_ET_NO_SPACE) {
		scan.least = 0;
		scan.flags = 0;
		error = preallocation_take(need->worker, &scan, found);
	}
	if (!error)
		found->logical = place(need, found->count);
	return error;
}

typedef errcode_t (*take_attempt)(const struct need *need, struct preallocation *found);

/*
 * By the first attempt that succeeds: whatever fails with NO_SPACE has taken nothing. The file's lock is held. What is
 * found and is more than the request is a preallocation, of which the request is served.
 */
static errcode_t take_large(const struct need *need, struct preallocation *taken)
{
	static const take_attempt owns[] = { take_at_own_goal, NULL };
	static const take_attempt kernels[] = { take_closed, take_at_neighbour, take_anywhere, NULL };
	static const take_attempt ours[] = { take_of_pool,     begin_extent,     take_at_neighbour, take_short_run,
		                             take_free_groups, begin_free_group, take_near,
		                             take_after_small, take_anywhere,    NULL };
	struct preallocation_owner *own = &need->file->own;
	struct preallocation found = { .logical = to_clusters(need, need->goal.start) };
	errcode_t error = preallocation_list_reserve(&own->list, 2);

	if (error)
		return error;
	const take_attempt *attempt = need->has_own_goal ? owns : preallocation_is_ours(need->mb) ? ours : kernels;
	do {
		error = (*attempt++)(need, &found);
	} while (error == EXT2MB_ET_NO_SPACE && *attempt);
	if (error)
		return error;
	if (found.logical == logical_of(need) && found.count <= to_clusters(need, need->count)) {
		*taken = found;
		group_reserved_clear(need->mb, found.position, found.count);
		return 0;
	}
	preallocation_owner_clear_served(own, need->mb);
	inode_pa_add(&own->list, &found);
	return preallocation_owner_take(own, need->mb, logical_of(need), to_clusters(need, need->count), taken);
}

/* --- Small files -------------------------------------------------------------------------------------------- */

/* A file of no more than so many blocks, as far as is known, may share preallocations with others. */
static bool may_be_small(const struct need *need)
{
	uint64_t end = need->request->logical + need->request->count;

	return need->mb->prealloc->locality != EXT2MB_LOCALITY_NONE &&
	       max_u64(end, need->file->blocks) <= need->mb->prealloc->small_file_blocks;
}

/*
 * The kernel goes by the size alone, so that every large file begins with 16 blocks elsewhere. With our own policy a
 * file that may still grow begins in a preallocation of its own, unless there have been small files here, or directory
 * after directory of them elsewhere: its last 16 blocks would else leave a hole in what it fills from then on (64 files
 * of 1 GiB: 64 free extents more).
 */
static bool joins_small(const struct need *need, const struct locality_group *pool)
{
	return !preallocation_is_ours(need->mb) || locality_group_is_wanted(pool) ||
	       worker_goes_in_order(need->worker);
}

/*
 * A file that goes on gets the rest of what a small file may have in one slice, with our own policy, so that files
 * which grow side by side in one preallocation do not alternate block by block. The first piece of a file gets no
 * slice, as most small files are written at once; but it does where directories are written one after the other: what
 * is not used of it is what the next file begins with, and if it is not known to be whole it may be written back in
 * part.
 */
static uint32_t slice_clusters(const struct need *need)
{
	const struct ext2mb_file *file = need->file;
	uint64_t limit = min_u64(need->mb->prealloc->small_file_blocks, need->hole_end);
	uint64_t room = to_clusters(need, limit - min_u64(limit, need->request->logical));
	uint32_t count = to_clusters(need, need->count);
	bool goes_on = file->last_physical && file->last_logical == need->request->logical;
	bool may_go_on = goes_on || worker_goes_in_order(need->worker);

	if (!preallocation_is_ours(need->mb) || file->is_final || !may_go_on)
		return count;
	return (uint32_t)max_u64(count, room);
}

/* In the second group of the inode's flex group: the first one is for directories. */
static struct small_goal goal_near(const struct geometry *geometry, ext2_ino_t ino)
{
	uint32_t group = (ino - 1) / geometry->inodes_per_group;

	if (geometry->flex_groups >= GEOMETRY_LEAST_FLEX) {
		group -= group % geometry->flex_groups;
		if (group + 1 < geometry->groups)
			group++;
	}
	return (struct small_goal){ (uint64_t)group * geometry->clusters_per_group, false };
}

struct small_goal file_goal_in_flex_group(const struct ext2mb_file *file)
{
	return goal_near(&file->mb->geometry, file->parent ? file->parent : file->ino);
}

struct small_goal file_goal_near_inode(const struct ext2mb_file *file)
{
	return goal_near(&file->mb->geometry, file->ino);
}

/*
 * Where the group's blocks are divided as its inodes are, so that directories that are neighbours by inode are
 * neighbours on disk.
 */
struct small_goal file_goal_in_share(const struct ext2mb_file *file)
{
	const struct geometry *geometry = &file->mb->geometry;
	uint64_t clusters = geometry->clusters_per_group;

	if (!file->directory)
		return file_goal_in_flex_group(file);
	uint64_t group = (file->parent - 1) / geometry->inodes_per_group;
	uint64_t in_group = (file->parent - 1) % geometry->inodes_per_group;
	return (struct small_goal){ group * clusters + in_group * clusters / geometry->inodes_per_group, true };
}

static struct locality_group *lock_pool(const struct need *need)
{
	struct locality_group *pool = &need->worker->preallocation->pool;

	if (need->file->directory && !worker_goes_in_order(need->worker))
		return directory_locality_lock(need->worker, need->file->directory);
	lock_wait(&pool->own.lock);
	return pool;
}

/* The file's lock is held. What the request does not need of a slice becomes a preallocation of the file. */
static errcode_t take_small(const struct need *need, struct preallocation *taken)
{
	struct preallocation_owner *own = &need->file->own;
	struct stats *stats = &need->worker->stats;
	uint32_t count = to_clusters(need, need->count);
	const struct small_goal goal = need->mb->policy.small_file_goal(need->file);
	const struct small_request request = {
		.goal = goal.position,
		.count = count,
		.most = slice_clusters(need),
		.is_in_order = worker_goes_in_order(need->worker),
		.in_group = goal.is_in_group,
		.after = left_position(need),
		.left = need->left_physical ? geometry_position(&need->mb->geometry, need->left_physical) : 0,
		.is_exact = need->request->flags & EXT2MB_FILE_UNWRITTEN,
	};
	bool may_move = request.most > count;
	struct preallocation run;
	errcode_t error = preallocation_list_reserve(&own->list, 1);

	if (error)
		return error;
	if (may_move)
		preallocation_move_begin(stats);
	struct locality_group *pool = lock_pool(need);
	error = need->mb->policy.small_file_take(need->worker, pool, &request, &run);
	lock_release(&pool->own.lock);
	if (!error) {
		taken->position = run.position;
		taken->count = (uint32_t)min_u64(run.count, count);
		group_reserved_clear(need->mb, taken->position, taken->count);
		preallocation_owner_clear_served(own, need->mb);
		if (run.count > count)
			inode_pa_add(&own->list,
			             &(struct preallocation){ run.position + count, logical_of(need) + count,
			                                      run.count - count });
	}
	if (may_move)
		preallocation_move_end(stats);
	return error;
}

/* --- Either ------------------------------------------------------------------------------------------------- */

errcode_t file_find_pool(struct ext2mb_worker *worker, struct ext2mb_file *file, struct locality_group **pool)
{
	*pool = &worker->preallocation->pool;
	if (!file->directory && file->parent && file->mb->prealloc->locality == EXT2MB_LOCALITY_DIRECTORY) {
		errcode_t error = directory_locality_visit(worker, file->parent, &file->directory);
		if (error)
			return error;
	}
	if (file->directory)
		*pool = &file->directory->pools[0];
	return 0;
}

/* What cannot be done with the file's lock in hand. */
static errcode_t prepare(const struct need *need, bool *small)
{
	struct ext2mb_file *file = need->file;

	preallocation_renew_hints(need->worker);
	if (*small) {
		struct locality_group *pool;
		errcode_t error = file_find_pool(need->worker, file, &pool);
		if (error)
			return error;
		if (file->is_final)
			locality_group_want(pool);
		*small = joins_small(need, pool);
	}
	bool may_get_any = *small ? slice_clusters(need) > to_clusters(need, need->count) :
	                            need->mb->prealloc->normalization != EXT2MB_NORMALIZE_NONE;
	if (may_get_any && !file->is_registered) {
		preallocation_register_add(need->mb->preallocations, &file->own, need->worker->number);
		file->is_registered = true;
	}
	return 0;
}

/* The last clusters are handed out without a preallocation. */
static errcode_t take_last(const struct need *need, struct preallocation *taken)
{
	struct scan_request scan = {
		.count = geometry_to_clusters(&need->mb->geometry, need->count),
		.stream = need->file->ino,
		.flags = EXT2MB_ALLOC_STREAM,
	};

	return reclaim_take(need->worker, &scan, &taken->position, &taken->count);
}

errcode_t file_search(struct ext2mb_worker *worker, struct ext2mb_file *file, const struct ext2mb_file_request *request,
                      struct preallocation *taken)
{
	struct need need = {
		.worker = worker,
		.mb = worker->mb,
		.file = file,
		.request = request,
		.count = request->count,
	};
	bool small = may_be_small(&need);

	find_hole(&need);
	errcode_t error = prepare(&need, &small);
	if (error)
		return error;
	lock_wait(&file->own.lock);
	uint32_t before = file->own.list.count;
	clip_hole(&need);
	if (small) {
		error = take_small(&need, taken);
	} else {
		clip_at_extent(&need);
		error = choose_goal(&need);
		if (!error)
			error = take_large(&need, taken);
	}
	uint32_t after = file->own.list.count;
	lock_release(&file->own.lock);
	file_count_preallocations(file, &worker->stats, before, after);
	if (error == EXT2MB_ET_NO_SPACE)
		return take_last(&need, taken);
	if (!error)
		stats_add(&worker->stats, COUNT_CLUSTERS_SERVED, taken->count);
	return error;
}
