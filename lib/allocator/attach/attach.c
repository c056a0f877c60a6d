/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* libext2fs's hooks, and the table that maps a handle to its allocator. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "allocator/allocator.h"
#include "allocator/attach/attached.h"
#include "allocator/core/allocator.h"
#include "ext2fs/messages.h"
#include "ext2fs/sized_struct.h"
#include "allocator/preallocation/preallocation.h"
#include "transaction/freed.h"

SIZED_STRUCT_HAS_NO_PADDING(struct ext2mb_attach_options, open_files);

/* fs->priv_data belongs to the program, so handles are found by their address. */
static struct {
	pthread_mutex_t lock;
	struct attached *first;
} table = { .lock = PTHREAD_MUTEX_INITIALIZER };

static struct attached *find(ext2_filsys fs)
{
	pthread_mutex_lock(&table.lock);
	struct attached *attached = table.first;
	while (attached && attached->fs != fs)
		attached = attached->next;
	pthread_mutex_unlock(&table.lock);
	return attached;
}

static void add(struct attached *attached)
{
	pthread_mutex_lock(&table.lock);
	attached->next = table.first;
	table.first = attached;
	pthread_mutex_unlock(&table.lock);
}

/* NULL: it is not there. */
static struct attached *remove_hooks(ext2_filsys fs)
{
	pthread_mutex_lock(&table.lock);
	struct attached **link = &table.first;
	while (*link && (*link)->fs != fs)
		link = &(*link)->next;
	struct attached *attached = *link;
	if (attached)
		*link = attached->next;
	pthread_mutex_unlock(&table.lock);
	return attached;
}

/* --- The hooks ---------------------------------------------------------------------------------------------- */

/*
 * Returns the handle's allocator. NULL: this handle is a copy of an attached one (ext2fs_dup_handle() copies the
 * hooks), or the allocator cannot serve it. Then the hook does what libext2fs does without one.
 */
static struct attached *ready(ext2_filsys fs)
{
	struct attached *attached = find(fs);

	return attached && !attached_prepare(attached) ? attached : NULL;
}

/*
 * True after fork(): the allocator belongs to the other process. Without us libext2fs would hand out blocks that the
 * other process has taken.
 */
static bool is_lost(ext2_filsys fs)
{
	struct attached *attached = find(fs);

	return attached && !process_claim_acquire(attached->mb->claim);
}

/*
 * The program has set a hook of its own since, as resize2fs does. That hook may call libext2fs, which must not call the
 * hook again.
 */
static errcode_t ask_program(ext2_filsys fs, uint64_t goal, blk64_t *block)
{
	errcode_t (*function)(ext2_filsys, blk64_t, blk64_t *) = fs->get_alloc_block;

	fs->get_alloc_block = NULL;
	errcode_t error = function(fs, goal, block);
	fs->get_alloc_block = function;
	return error;
}

static errcode_t hand_out_block(ext2_filsys fs, blk64_t goal, blk64_t *block, struct blk_alloc_ctx *ctx)
{
	if (fs->get_alloc_block)
		return ask_program(fs, goal, block);
	if (is_lost(fs))
		return EXT2MB_ET_FORKED;
	struct attached *attached = ready(fs);
	uint64_t taken;

	if (attached && !attached_alloc_block(attached, goal, ctx, &taken)) {
		*block = taken;
		return 0;
	}
	errcode_t error = fs->block_map ? 0 : ext2fs_read_block_bitmap(fs);
	if (!error)
		error = ext2fs_new_block3(fs, goal, fs->block_map, block, ctx);
	if (!error && attached)
		attached_alloc_found(attached, *block, 1);
	return error;
}

/* Finds in [from, end) the first run of at least `least` free blocks, cut to count. */
static bool find_between(ext2fs_block_bitmap map, uint64_t from, uint64_t end, uint64_t count, uint64_t least,
                         struct ext2mb_extent *extent)
{
	for (blk64_t start, stop; from < end; from = stop) {
		if (ext2fs_find_first_zero_block_bitmap2(map, from, end - 1, &start))
			return false;
		uint64_t most = count < end - start ? start + count : end;
		if (ext2fs_find_first_set_block_bitmap2(map, start, most - 1, &stop))
			stop = most;
		if (stop - start >= least) {
			*extent = (struct ext2mb_extent){ start, stop - start };
			return true;
		}
	}
	return false;
}

/*
 * Does what ext2fs_new_range() does. That function (seen in 1.47.0) never ends if a least length is asked for, no such
 * run lies before the goal, and too few or no free blocks lie after it.
 */
static bool map_find_range(ext2_filsys fs, int flags, uint64_t goal, uint64_t count, struct ext2mb_extent *extent)
{
	uint64_t first = fs->super->s_first_data_block, end = ext2fs_blocks_count(fs->super);
	uint64_t least = flags & EXT2_NEWRANGE_MIN_LENGTH ? count : 1;

	if (goal < first || goal >= end)
		goal = first;
	if (flags & EXT2_NEWRANGE_FIXED_GOAL)
		return find_between(fs->block_map, goal, goal + 1, 1, 1, extent) &&
		       find_between(fs->block_map, goal, end, count, least, extent) && extent->start == goal;
	return find_between(fs->block_map, goal, end, count, least, extent) ||
	       find_between(fs->block_map, first, end, count, least, extent);
}

static errcode_t hand_out_range(ext2_filsys fs, int flags, blk64_t goal, blk64_t count, blk64_t *start, blk64_t *taken)
{
	if (is_lost(fs))
		return EXT2MB_ET_FORKED;
	struct attached *attached = ready(fs);
	struct ext2mb_extent extent;

	if (attached && !attached_alloc_range(attached, flags, goal, count, &extent)) {
		*start = extent.start;
		*taken = extent.count;
		return 0;
	}
	/* Blocks that another file has preallocated there are skipped: this request can go elsewhere. */
	if (attached && flags & EXT2_NEWRANGE_FIXED_GOAL)
		return EXT2_ET_BLOCK_ALLOC_FAIL;
	if (!fs->block_map)
		return EXT2_ET_NO_BLOCK_BITMAP;
	if (!map_find_range(fs, flags, goal, count, &extent))
		return EXT2_ET_BLOCK_ALLOC_FAIL;
	*start = extent.start;
	*taken = extent.count;
	if (attached)
		attached_alloc_found(attached, *start, *taken);
	return 0;
}

/* Returns the allocator that follows changes of blocks. NULL before the block bitmap has been read. */
static struct attached *listener(ext2_filsys fs)
{
	struct attached *attached = find(fs);

	return attached && attached->map && attached->map == fs->block_map ? attached : NULL;
}

static void hear_of_block(ext2_filsys fs, blk64_t block, int in_use)
{
	struct attached *attached = listener(fs);

	freed_hear_of_block(fs, block, in_use);
	if (attached)
		attached_follow_block(attached, block, in_use > 0);
}

/* Before 1.47.4 libext2fs passes the end of the range as its start, and a length of 0. */
static void hear_of_range(ext2_filsys fs, blk64_t start, blk_t count, int in_use)
{
	struct attached *attached = listener(fs);

	freed_hear_of_range(fs, start, count, in_use);
	if (!attached)
		return;
	if (count)
		attached_follow(attached, start, start + count);
	else if (start && (in_use < 0 || !attached_has_handed_out(attached, start - 1)))
		attached_follow_back(attached, start);
}

/* --- Attaching and detaching -------------------------------------------------------------------------------- */

/*
 * True if the hook is the program's. Copies of attached handles have ours, and handles that are open for a transaction
 * have the transaction's.
 */
static bool has_hooks(ext2_filsys fs)
{
	return fs->get_alloc_block || (fs->get_alloc_block2 && fs->get_alloc_block2 != hand_out_block) ||
	       (fs->block_alloc_stats && fs->block_alloc_stats != hear_of_block &&
	        fs->block_alloc_stats != freed_hear_of_block) ||
	       (fs->new_range && fs->new_range != hand_out_range) ||
	       (fs->block_alloc_stats_range && fs->block_alloc_stats_range != hear_of_range &&
	        fs->block_alloc_stats_range != freed_hear_of_range);
}

/* libext2fs has no function that sets get_alloc_block2, the only hook that is told the inode. */
static void set_hooks(ext2_filsys fs)
{
	fs->get_alloc_block2 = hand_out_block;
	ext2fs_set_new_range_callback(fs, hand_out_range, NULL);
	ext2fs_set_block_alloc_stats_callback(fs, hear_of_block, NULL);
	ext2fs_set_block_alloc_stats_range_callback(fs, hear_of_range, NULL);
	freed_are_told_by(fs, hear_of_block, hear_of_range);
}

/* Hooks that the program has set in their place stay. */
static void clear_hooks(ext2_filsys fs)
{
	if (fs->get_alloc_block2 == hand_out_block)
		fs->get_alloc_block2 = NULL;
	if (fs->new_range == hand_out_range)
		ext2fs_set_new_range_callback(fs, NULL, NULL);
	if (fs->block_alloc_stats == hear_of_block)
		ext2fs_set_block_alloc_stats_callback(fs, NULL, NULL);
	if (fs->block_alloc_stats_range == hear_of_range)
		ext2fs_set_block_alloc_stats_range_callback(fs, NULL, NULL);
	freed_listen(fs);
}

static void destroy(struct attached *attached)
{
	if (!attached)
		return;
	attached_files_destroy(&attached->files, attached->worker);
	ext2mb_worker_close(attached->worker);
	/*
	 * The handle was freed without ext2mb_detach(): workers or files of the program may still be open, so they keep
	 * their memory.
	 */
	allocator_close(attached->mb);
	free(attached);
}

static errcode_t create(ext2_filsys fs, const struct ext2mb_attach_options *options, struct attached *attached)
{
	struct ext2mb_options copy;
	const struct ext2mb_options *allocator = NULL;
	errcode_t error = 0;

	if (options->allocator)
		allocator = sized_struct_read(options->allocator, &copy, sizeof(copy),
		                              SIZED_STRUCT_LEAST(struct ext2mb_options, group_preallocation_blocks),
		                              &error);
	if (error)
		return error;
	/* Freed blocks can be allocated again before anything is written. */
	if ((allocator && allocator->discard) || options->open_files > ATTACHED_FILES_MOST)
		return EXT2MB_ET_BAD_ARGUMENT;
	attached->fs = fs;
	error = attached_files_create(&attached->files,
	                              options->open_files ? (uint32_t)options->open_files : ATTACHED_FILES_DEFAULT);
	if (!error)
		error = allocator_open_following(fs, allocator, &attached->mb);
	if (!error)
		error = allocator_open_worker(attached->mb, &attached->worker);
	if (!error)
		attached->worker->preallocation->goes_in_order = true;
	return error;
}

void attached_end_newest_file(ext2_filsys fs)
{
	struct attached *attached = find(fs);

	if (attached)
		attached_files_end_newest(&attached->files, attached->worker);
}

errcode_t ext2mb_attach(ext2_filsys fs, const struct ext2mb_attach_options *options)
{
	static const struct ext2mb_attach_options defaults = { .struct_bytes = sizeof(defaults) };
	struct ext2mb_attach_options copy;
	errcode_t error;

	messages_register();
	if (!fs)
		return EXT2MB_ET_BAD_ARGUMENT;
	options = sized_struct_read(options ? options : &defaults, &copy, sizeof(copy),
	                            SIZED_STRUCT_LEAST(struct ext2mb_attach_options, open_files), &error);
	if (!options)
		return error;
	if (fs->get_alloc_block2 == hand_out_block && find(fs))
		return EXT2MB_ET_ATTACHED;
	if (has_hooks(fs))
		return EXT2MB_ET_HOOKS_TAKEN;
	if (!(fs->flags & EXT2_FLAG_RW))
		return EXT2_ET_RO_FILSYS;
	/* Removes the hooks of a handle that had this address and was freed without ext2mb_detach(). */
	destroy(remove_hooks(fs));
	struct attached *attached = calloc(1, sizeof(*attached));
	if (!attached)
		return ENOMEM;
	error = create(fs, options, attached);
	if (error) {
		destroy(attached);
		return error;
	}
	add(attached);
	set_hooks(fs);
	return 0;
}

errcode_t ext2mb_detach(ext2_filsys fs)
{
	struct attached *attached = find(fs);

	if (!attached)
		return EXT2MB_ET_NOT_ATTACHED;
	if (allocator_is_used(attached->mb, attached->worker, attached->files.count))
		return EXT2MB_ET_IN_USE;
	remove_hooks(fs);
	clear_hooks(fs);
	destroy(attached);
	return 0;
}

struct ext2mb *ext2mb_attached(ext2_filsys fs)
{
	const struct attached *attached = find(fs);

	return attached ? attached->mb : NULL;
}
