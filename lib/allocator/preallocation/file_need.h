/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A file's request that none of its preallocations serves: the input of large_search.h and small_search.h. */
#pragma once

#include "allocator/core/arithmetic.h"
#include "allocator/preallocation/file_search.h"
#include "allocator/preallocation/preallocation.h"
#include "allocator/search/stream_goals.h"

struct file_need {
	struct ext2mb_worker *worker;
	struct ext2mb *mb;
	struct ext2mb_file *file;
	const struct ext2mb_file_request *request;
	uint64_t count;      /* blocks: the request's, cut where one of the file's preallocations begins */
	uint64_t hole_start; /* blocks */
	uint64_t hole_end;
	uint64_t left_physical;
	uint64_t right_physical;
	bool begins_with_slice; /* a small file whose first piece may be longer than the request */

	/* For a large file: */
	bool is_held; /* files that begin like this one are held open, and what they reserve does not come back */
	struct normalize_goal goal;
	bool ends_closed;   /* the kernel reserves nothing, and does not use the stream's goal */
	bool has_user_goal; /* the user's own policy names a goal block */
	uint64_t user_goal;
};

static inline uint32_t need_to_clusters(const struct file_need *need, uint64_t blocks)
{
	return (uint32_t)geometry_to_clusters(&need->mb->geometry, blocks);
}

/* The logical cluster at which the request begins. */
static inline uint32_t need_logical(const struct file_need *need)
{
	return need_to_clusters(need, need->request->logical);
}

/* Whether our own normalization is used with this rule (RULE_*). */
static inline bool need_follows(const struct file_need *need, uint32_t rule)
{
	return preallocation_is_ours(need->mb) && need->mb->policy.rules & rule;
}

/* For our own normalization: the position of the cluster after the left neighbour; 0: none. */
static inline uint64_t need_left_position(const struct file_need *need)
{
	if (!preallocation_is_ours(need->mb) || !need->left_physical)
		return 0;
	return geometry_position(&need->mb->geometry, need->left_physical);
}

#define FEWEST_GOALS 4u

/*
 * The stream whose goal the file has. As long as most groups are free, each region that files begin is a hole in the
 * end. So there is a goal for each GiB then, which files that grow side by side share on a small filesystem.
 */
static inline uint64_t need_stream(const struct file_need *need)
{
	const struct geometry *geometry = &need->mb->geometry;
	uint64_t bytes = geometry_to_blocks(geometry, geometry->clusters) << geometry->block_bits;
	uint64_t places = max_u64(bytes >> 30, FEWEST_GOALS);
	uint64_t distance = need->mb->goals->count / places;

	if (!need_follows(need, RULE_TOGETHER) || !need->worker->preallocation->is_roomy || distance < 2)
		return need->file->ino;
	return need->file->ino % places * distance;
}

/* The length of a large file's goal. */
static inline uint32_t need_goal_clusters(const struct file_need *need)
{
	return need_to_clusters(need, need->goal.count);
}

/* The part of the request that lies in the goal. */
static inline uint32_t need_asked_clusters(const struct file_need *need)
{
	return need_to_clusters(need, min_u64(need->count, need->goal.count));
}

/* The logical cluster for a run that may be shorter than the goal. */
static inline uint32_t need_place(const struct file_need *need, uint32_t clusters)
{
	return inode_pa_place(need_to_clusters(need, need->goal.start), need_goal_clusters(need), need_logical(need),
	                      need_asked_clusters(need), clusters);
}
