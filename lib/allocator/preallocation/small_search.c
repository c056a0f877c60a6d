/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "allocator/preallocation/small_search.h"

#include "allocator/core/arithmetic.h"
#include "allocator/group/group_reserved.h"
#include "allocator/preallocation/directory_locality.h"

#define OPEN_CLUSTERS 64u /* room for a file that may outgrow the small ones */
#define FIRST_SLICES 2u   /* open files that have what is left of the slice that they began with */

bool small_search_suits(const struct file_need *need)
{
	uint64_t end = need->request->logical + need->request->count;

	return need->mb->prealloc->locality != EXT2MB_LOCALITY_NONE &&
	       max_u64(end, need->file->blocks) <= need->mb->prealloc->small_file_blocks;
}

/*
 * The kernel decides by the size alone, so every large file begins with 16 blocks elsewhere. With our policy a file
 * that may still grow begins in a preallocation of its own, unless small files were seen here, or directory after
 * directory of them elsewhere: its last 16 blocks would otherwise leave a hole in what it fills from then on (64 files
 * of 1 GiB: 64 free extents more).
 */
bool small_search_joins(const struct file_need *need, const struct locality_group *pool)
{
	return !need_follows(need, RULE_LARGE_APART) || locality_group_is_wanted(pool) ||
	       worker_goes_in_order(need->worker);
}

/*
 * Whether the first piece of a file gets a slice. Most small files are written at once, so it does only where
 * directories are written one after the other: what is not used of it is what the next file begins with, and if it is
 * not known to be whole it may be written back in part. That needs files that are closed one after the other: those
 * that are held open, as a package manager does until it has written all, would leave a hole each. And fallocate(2)
 * says how much it needs.
 */
bool small_search_begins_with_slice(const struct file_need *need)
{
	if (need->request->flags & EXT2MB_FILE_UNWRITTEN || !worker_goes_in_order(need->worker))
		return false;
	return need->worker->preallocation->goes_in_order || !small_search_holds_slices(need, FIRST_SLICES);
}

bool small_search_holds_slices(const struct file_need *need, uint32_t least)
{
	return atomic_load_explicit(&need->worker->preallocation->pool.slices, memory_order_relaxed) >= least;
}

/*
 * A file that goes on gets the rest of what a small file may have in one slice, with our own policy, so that files
 * which grow side by side in one preallocation do not alternate block by block.
 */
static uint32_t slice_clusters(const struct file_need *need)
{
	const struct ext2mb_file *file = need->file;
	uint64_t end = file->is_final ? min_u64(file->blocks, need->hole_end) : need->hole_end;
	uint64_t limit = min_u64(need->mb->prealloc->small_file_blocks, end);
	uint64_t room = need_to_clusters(need, limit - min_u64(limit, need->request->logical));
	uint32_t count = need_to_clusters(need, need->count);
	bool goes_on = file->last_physical && file->last_logical == need->request->logical;

	if (!need_follows(need, RULE_SLICES) || !(goes_on || need->begins_with_slice))
		return count;
	return (uint32_t)max_u64(count, room);
}

/*
 * The room that a file needs which is written block by block: at least its slice. A file of unknown size may outgrow
 * the small ones, and can continue in place only if no other file is there.
 */
static uint32_t room_clusters(const struct file_need *need)
{
	if (!need->worker->preallocation->goes_in_order)
		return 0;
	return need->file->is_final ? slice_clusters(need) : (uint32_t)max_u64(slice_clusters(need), OPEN_CLUSTERS);
}

/* The second group of the inode's flex group: directories use the first. */
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
 * Divides the group's blocks as its inodes are divided, so that directories with neighbouring inode numbers are
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

static struct locality_group *lock_pool(const struct file_need *need)
{
	struct locality_group *pool = &need->worker->preallocation->pool;

	if (need->file->directory && !worker_goes_in_order(need->worker))
		return directory_locality_lock(need->worker, need->file->directory);
	lock_wait(&pool->owner.lock);
	return pool;
}

static void join_home(struct ext2mb_file *file, struct locality_group *pool, bool has_slice)
{
	file->home = pool;
	locality_group_join(pool);
	file->has_slice = has_slice;
	if (has_slice)
		atomic_fetch_add_explicit(&pool->slices, 1, memory_order_relaxed);
}

/* The file's rest goes there when it is closed. It has a slice from its first piece on, or never. */
static void note_home(const struct file_need *need, struct locality_group *pool, bool has_rest)
{
	struct ext2mb_file *file = need->file;

	if (file->home || pool != &need->worker->preallocation->pool || !preallocation_is_ours(need->mb))
		return;
	file->began_in_order = worker_goes_in_order(need->worker);
	join_home(file, pool, has_rest && !file->last_physical);
}

void small_search_count_slice(const struct file_need *need)
{
	if (!need->file->home)
		join_home(need->file, &need->worker->preallocation->pool, true);
}

bool small_search_gives_more(const struct file_need *need)
{
	return slice_clusters(need) > need_to_clusters(need, need->count);
}

/* The part of a slice that the request does not need becomes a preallocation of the file. */
errcode_t small_search(const struct file_need *need, struct preallocation *taken)
{
	struct preallocation_owner *own = &need->file->owner;
	struct stats *stats = &need->worker->stats;
	uint32_t count = need_to_clusters(need, need->count);
	const struct small_goal goal = need->mb->policy.small_file_goal(need->file);
	const struct small_request request = {
		.goal = goal.position,
		.count = count,
		.most = slice_clusters(need),
		.room = room_clusters(need),
		.is_open = need->worker->preallocation->goes_in_order && !need->file->is_final,
		.is_in_order = worker_goes_in_order(need->worker),
		.is_scattered = goal.is_in_group && worker_is_scattered(need->worker),
		.in_group = goal.is_in_group,
		.after = need_left_position(need),
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
	uint64_t next = pool->next;
	error = need->mb->policy.small_file_alloc(need->worker, pool, &request, &run);
	if (!error && !need->left_physical)
		pool->newest = need->file->ino;
	bool has_begun = pool->next != next && pool != &need->worker->preallocation->pool;
	lock_release(&pool->owner.lock);
	if (has_begun)
		directory_locality_note_begun(need->worker, need->file->parent);
	if (!error) {
		need->file->began_small = true;
		note_home(need, pool, run.count > count);
		taken->position = run.position;
		taken->count = (uint32_t)min_u64(run.count, count);
		group_reserved_clear(need->mb, taken->position, taken->count);
		preallocation_owner_clear_served(own, need->mb);
		if (run.count > count)
			inode_pa_add(&own->list,
			             &(struct preallocation){ run.position + count, need_logical(need) + count,
			                                      run.count - count });
	}
	if (may_move)
		preallocation_move_end(stats);
	return error;
}
