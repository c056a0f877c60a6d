/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ext2fs/allocator.h"

#include "ext2fs/group/group_index.h"

static errcode_t create_index(struct ext2mb *mb, const struct ext2mb_options *options)
{
	const uint32_t default_scan = EXT2MB_CHOICE_ORDERED_SETS | EXT2MB_CHOICE_SCAN_IN_PLACE |
	                              EXT2MB_CHOICE_ONE_DIRECTION | EXT2MB_CHOICE_GOAL_FIRST;
	errcode_t error = policy_resolve(options, &mb->policy);

	if (error)
		return error;
	mb->has_default_scan = (mb->policy.choices & default_scan) == default_scan;
	mb->is_indexed = mb->geometry.groups >= mb->policy.least_groups;
	if (options && options->optimize_scan)
		mb->is_indexed = options->optimize_scan == EXT2MB_SCAN_INDEXED;
	mb->has_stale_index = !mb->is_indexed && !(mb->policy.choices & EXT2MB_CHOICE_ALWAYS_LEAVE);
	error = group_index_create(mb);
	if (!error)
		error = order_set_create(&mb->pending, mb->geometry.groups);
	return error;
}

static errcode_t create_goals(struct ext2mb *mb, uint32_t streams)
{
	const uint32_t ours = EXT2MB_CHOICE_STREAM_GROUP | EXT2MB_CHOICE_STREAM_HINT | EXT2MB_CHOICE_PADDED_GOALS;
	uint32_t choices = mb->policy.choices;
	errcode_t error = goals_create(&mb->goals, choices & EXT2MB_CHOICE_SEVERAL_GOALS ? streams : 1,
	                               mb->geometry.groups, mb->geometry.flex_groups);

	if (error || (choices & ours) == ours)
		return error;
	return base_goals_create(mb->goals.count, !(choices & EXT2MB_CHOICE_STREAM_GROUP),
	                         choices & EXT2MB_CHOICE_STREAM_HINT ? NULL : &mb->base_lock, &mb->base_goals);
}

static errcode_t create_pending(struct ext2mb *mb)
{
	uint32_t choices = mb->policy.choices;

	if (choices & EXT2MB_CHOICE_OWN_PENDING)
		return 0;
	return base_pending_create(mb->geometry.groups, choices & EXT2MB_CHOICE_MERGE_FIRST,
	                           choices & EXT2MB_CHOICE_PENDING_ATOMIC, &mb->base_lock, &mb->base_pending);
}

/* The discard function, which is called with this lock held, might try to take it again. */
static void init_commit_lock(pthread_mutex_t *lock)
{
	pthread_mutexattr_t attributes;

	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
	pthread_mutex_init(lock, &attributes);
	pthread_mutexattr_destroy(&attributes);
}

errcode_t allocator_create(struct ext2mb *mb, const struct ext2mb_options *options)
{
	uint32_t streams = options && options->streams ? options->streams : GOALS_DEFAULT_STREAMS;

	init_commit_lock(&mb->commit_lock);
	pthread_mutex_init(&mb->switch_lock, NULL);
	pthread_mutex_init(&mb->worker_lock, NULL);
	window_register_init(&mb->windows);
	directory_table_init(&mb->directory_table);
	mb->geometry = mb->fs_state.geometry;
	mb->orders = mb->geometry.block_bits + 2;
	mb->stripe = stripe_choose(options, &mb->fs_state);
	mb->discard = options ? options->discard : NULL;
	mb->discard_context = options ? options->discard_context : NULL;
	errcode_t error = create_index(mb, options);
	if (!error)
		error = prealloc_set(&mb->prealloc, options, &mb->geometry, mb->stripe.clusters);
	if (!error)
		error = create_goals(mb, streams);
	if (!error)
		error = create_pending(mb);
	if (!error)
		error = group_table_create(mb);
	return error;
}

void allocator_destroy(struct ext2mb *mb)
{
	directory_table_destroy(mb);
	window_register_destroy(&mb->windows);
	group_table_destroy(mb);
	group_index_destroy(mb);
	order_set_destroy(&mb->pending);
	goals_destroy(&mb->goals);
	base_goals_destroy(mb->base_goals);
	base_pending_destroy(mb->base_pending, mb->geometry.groups);
	pthread_mutex_destroy(&mb->worker_lock);
	pthread_mutex_destroy(&mb->switch_lock);
	pthread_mutex_destroy(&mb->commit_lock);
}

uint64_t allocator_sum(struct ext2mb *mb, unsigned int counter)
{
	pthread_mutex_lock(&mb->worker_lock);
	uint64_t sum = stats_read(&mb->closed_stats, counter);
	for (const struct ext2mb_worker *worker = mb->workers; worker; worker = worker->next)
		sum += stats_read(&worker->stats, counter);
	pthread_mutex_unlock(&mb->worker_lock);
	return sum;
}

void allocator_lose_group(struct ext2mb *mb, uint32_t number, uint32_t free_clusters, uint32_t free_inodes)
{
	/* Blocks and inodes are found out one after the other, perhaps by two threads. */
	if (!atomic_exchange_explicit(&mb->groups[number].is_counted_corrupt, true, memory_order_relaxed))
		atomic_fetch_add_explicit(&mb->corrupt_groups, 1, memory_order_relaxed);
	atomic_fetch_sub_explicit(&mb->clusters_at_open, free_clusters, memory_order_relaxed);
	atomic_fetch_sub_explicit(&mb->inodes_at_open, free_inodes, memory_order_relaxed);
}
