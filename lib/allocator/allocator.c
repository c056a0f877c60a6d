/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An allocator and its workers come and go. */
#include "allocator/allocator.h"

#include <errno.h>
#include <string.h>

#include "allocator/core/worker_use.h"
#include "allocator/free/commit.h"
#include "allocator/free/marked.h"
#include "allocator/free/sync.h"
#include "allocator/fs/fs_state.h"
#include "allocator/group/group.h"
#include "allocator/group/group_index.h"
#include "allocator/group/totals.h"
#include "allocator/inode/inode_alloc.h"
#include "allocator/preallocation/directory_locality.h"
#include "allocator/preallocation/file_search.h"
#include "allocator/preallocation/preallocation.h"
#include "allocator/search/stream_goals.h"
#include "transaction/channel.h"

const struct policy allocator_policy = {
	.index = &group_index_ordered,
	.pending = &pending_in_groups,
	.goals = &stream_goals_padded,
	.search = &scan_operations,
	.small_file_goal = file_goal_in_share,
	.small_file_alloc = locality_group_alloc,
	.inodes = &inodes_in_shares,
	.normalization = EXT2MB_NORMALIZE_EXT2MB,
	.locality = EXT2MB_LOCALITY_DIRECTORY,
	.limits = SEARCH_LIMITS_DEFAULT,
	.rules = RULES,
};

/* One piece of memory: an allocator with the parts that its rooms have in it. */
struct rooms {
	struct ext2mb mb; /* must be the first */
	struct fs_state fs_state;
	struct group_index index;
	struct stream_goals goals;
	struct preallocation_options prealloc;
	struct preallocation_register preallocations;
	struct directory_localities localities;
	struct directory_goals directory_goals;
};

struct worker_rooms {
	struct ext2mb_worker worker; /* must be the first */
	struct search_memory search;
	struct worker_preallocation preallocation;
};

static void *allocate(size_t alignment, size_t bytes)
{
	void *memory = aligned_alloc(alignment, bytes);

	return memory ? memset(memory, 0, bytes) : NULL;
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

static errcode_t create_rooms(struct ext2mb *mb, const struct ext2mb_options *options)
{
	errcode_t error = preallocation_options_set(mb, options);

	if (!error)
		error = group_index_create(mb);
	if (!error)
		error = order_set_create(&mb->pending, mb->geometry.groups);
	if (!error)
		error = stream_goals_create(mb->goals, options->streams ? options->streams : STREAM_GOALS_DEFAULT,
		                            &mb->geometry);
	if (!error && mb->policy.create)
		error = mb->policy.create(mb);
	if (!error)
		error = group_table_create(mb);
	return error;
}

static errcode_t create(struct ext2mb *mb, const struct ext2mb_options *options)
{
	static const struct ext2mb_options defaults = { 0 };

	options = options ? options : &defaults;
	if (options->optimize_scan > EXT2MB_SCAN_INDEXED)
		return EXT2MB_ET_BAD_ARGUMENT;
	mb->geometry = mb->fs_state->geometry;
	mb->orders = mb->geometry.block_bits + 2;
	mb->stripe = fs_state_stripe(mb->fs_state, options->stripe_blocks);
	mb->discard = options->discard;
	mb->discard_context = options->discard_context;
	mb->is_indexed = options->optimize_scan ? options->optimize_scan == EXT2MB_SCAN_INDEXED :
	                                          mb->geometry.groups >= mb->policy.least_groups;
	return create_rooms(mb, options);
}

static void destroy(struct ext2mb *mb)
{
	for (struct ext2mb_worker *worker; (worker = mb->closed_workers);) {
		mb->closed_workers = worker->next;
		free(worker);
	}
	directory_localities_destroy(mb);
	preallocation_register_destroy(mb->preallocations);
	group_table_destroy(mb);
	group_index_destroy(mb);
	order_set_destroy(&mb->pending);
	stream_goals_destroy(mb->goals);
	if (mb->policy.destroy)
		mb->policy.destroy(mb->policy.state);
	pthread_mutex_destroy(&mb->worker_lock);
	pthread_mutex_destroy(&mb->switch_lock);
	pthread_mutex_destroy(&mb->commit_lock);
	process_claim_close(&mb->own_claim);
	fs_state_close(mb->fs_state);
	free(mb);
}

/* The transaction's claim serves the allocator, too. With two claims two processes could hold one each, and neither
 * could go on. */
static errcode_t open_claim(struct ext2mb *mb, ext2_filsys fs)
{
	struct channel_state *state = channel_state_of(fs->io);

	mb->claim = state ? &state->claim : &mb->own_claim;
	return state ? 0 : process_claim_open(mb->claim);
}

static errcode_t open_rooms(ext2_filsys fs, const struct ext2mb_options *options, const struct policy *policy,
                            bool follows_map, struct ext2mb **ret)
{
	struct rooms *rooms = allocate(_Alignof(struct rooms), sizeof(*rooms));
	errcode_t error = rooms ? fs_state_open(&rooms->fs_state, fs, follows_map) : ENOMEM;

	if (error) {
		if (policy->destroy)
			policy->destroy(policy->state);
		free(rooms);
		return error;
	}
	struct ext2mb *mb = &rooms->mb;
	mb->policy = *policy;
	mb->fs_state = &rooms->fs_state;
	mb->fs_state->mb = mb;
	mb->fs_state->sync = sync_all;
	mb->fs_state->most_blocks = sync_most_blocks;
	mb->index = &rooms->index;
	mb->goals = &rooms->goals;
	mb->prealloc = &rooms->prealloc;
	mb->preallocations = &rooms->preallocations;
	mb->localities = &rooms->localities;
	mb->directory_goals = &rooms->directory_goals;
	init_commit_lock(&mb->commit_lock);
	pthread_mutex_init(&mb->switch_lock, NULL);
	pthread_mutex_init(&mb->worker_lock, NULL);
	preallocation_register_init(mb->preallocations);
	directory_localities_init(mb->localities);
	error = open_claim(mb, fs);
	if (!error)
		error = create(mb, options);
	if (error) {
		destroy(mb);
		return error;
	}
	*ret = mb;
	return 0;
}

errcode_t allocator_open(ext2_filsys fs, const struct ext2mb_options *options, const struct policy *policy,
                         struct ext2mb **ret)
{
	return open_rooms(fs, options, policy, false, ret);
}

errcode_t allocator_open_following(ext2_filsys fs, const struct ext2mb_options *options, struct ext2mb **ret)
{
	return open_rooms(fs, options, &allocator_policy, true, ret);
}

errcode_t ext2mb_close(struct ext2mb *mb)
{
	if (mb && mb->fs_state->follows_map)
		return EXT2MB_ET_ATTACHED;
	return allocator_close(mb);
}

bool allocator_is_used(struct ext2mb *mb, const struct ext2mb_worker *own, uint64_t own_files)
{
	uint64_t sums[2];

	totals_sum(mb, COUNT_FILES_OPENED, COUNT_FILES_CLOSED + 1, sums);
	if (sums[0] - sums[1] != own_files)
		return true;
	pthread_mutex_lock(&mb->worker_lock);
	const struct ext2mb_worker *worker = mb->workers;

	while (worker && worker == own)
		worker = worker->next;
	pthread_mutex_unlock(&mb->worker_lock);
	return worker;
}

errcode_t allocator_close(struct ext2mb *mb)
{
	errcode_t error = mb ? commit_refuse_in_discard(mb) : 0;

	if (mb && !error && allocator_is_used(mb, NULL, 0))
		return EXT2MB_ET_IN_USE;

	if (mb && !error)
		destroy(mb);
	return error;
}

/*
 * Reuses the memory of a closed worker, if there is one that no open file refers to: a program that opens many workers
 * one after the other needs no more memory.
 */
static struct worker_rooms *allocate_worker(struct ext2mb *mb)
{
	pthread_mutex_lock(&mb->worker_lock);
	struct ext2mb_worker **link = &mb->closed_workers;

	while (*link && !preallocation_is_left(*link))
		link = &(*link)->next;
	struct ext2mb_worker *closed = *link;
	if (closed)
		*link = closed->next;
	pthread_mutex_unlock(&mb->worker_lock);
	if (!closed)
		return allocate(_Alignof(struct worker_rooms), sizeof(struct worker_rooms));
	return memset(closed, 0, sizeof(struct worker_rooms));
}

errcode_t allocator_open_worker(struct ext2mb *mb, struct ext2mb_worker **ret)
{
	struct worker_rooms *rooms = allocate_worker(mb);

	if (!rooms)
		return ENOMEM;
	struct ext2mb_worker *worker = &rooms->worker;
	worker->mb = mb;
	worker->search = &rooms->search;
	worker->preallocation = &rooms->preallocation;
	pthread_mutex_lock(&mb->worker_lock);
	worker->number = mb->workers_opened++;
	worker->next = mb->workers;
	mb->workers = worker;
	pthread_mutex_unlock(&mb->worker_lock);
	preallocation_open_worker(worker);
	*ret = worker;
	return 0;
}

errcode_t ext2mb_worker_open(struct ext2mb *mb, struct ext2mb_worker **ret)
{
	errcode_t error = mb && ret ? allocator_open_worker(mb, ret) : EXT2MB_ET_BAD_ARGUMENT;

	if (!error && mb->fs_state->follows_map)
		(*ret)->has_none_marked = marked_has_none;
	return error;
}

void ext2mb_worker_close(struct ext2mb_worker *worker)
{
	/* Another thread is using the worker, so it stays open. ext2mb_close() reports it. */
	if (worker_use_begin(worker).error)
		return;

	struct ext2mb *mb = worker->mb;
	preallocation_close_worker(worker);
	pthread_mutex_lock(&mb->worker_lock);
	struct ext2mb_worker **link = &mb->workers;
	while (*link != worker)
		link = &(*link)->next;
	*link = worker->next;
	stats_merge(&mb->closed_stats, &worker->stats);
	worker->mb = NULL;
	worker->next = mb->closed_workers;
	mb->closed_workers = worker;
	pthread_mutex_unlock(&mb->worker_lock);
}
