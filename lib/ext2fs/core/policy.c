/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ext2fs/core/policy.h"

#include <string.h>

#define SERIES                                                                                                         \
	(EXT2MB_CHOICE_TRY_LOCK | EXT2MB_CHOICE_STREAM_HITS_APART | EXT2MB_CHOICE_STREAM_GROUP |                       \
	 EXT2MB_CHOICE_STREAM_HINT | EXT2MB_CHOICE_SEVERAL_GOALS | EXT2MB_CHOICE_PENDING_ATOMIC |                      \
	 EXT2MB_CHOICE_MERGE_FIRST | EXT2MB_CHOICE_FULL_UNLISTED | EXT2MB_CHOICE_ALWAYS_LEAVE |                        \
	 EXT2MB_CHOICE_ORDERED_SETS | EXT2MB_CHOICE_SCAN_IN_PLACE | EXT2MB_CHOICE_ONE_DIRECTION)
#define OURS                                                                                                           \
	(EXT2MB_CHOICE_GOAL_FIRST | EXT2MB_CHOICE_WAIT_AT_EQUAL | EXT2MB_CHOICE_PADDED_GOALS |                         \
	 EXT2MB_CHOICE_OWN_PENDING | EXT2MB_CHOICE_DIRECTORY_SHARES | EXT2MB_CHOICE_BY_LARGEST | EXT2MB_CHOICE_GO_ON)
#define KERNEL_LEAST_GROUPS 16

static const struct policy policies[] = {
	[EXT2MB_POLICY_EXT2MB] = { "ext2mb", SERIES | OURS, 0 },
	[EXT2MB_POLICY_SERIES] = { "series", SERIES, KERNEL_LEAST_GROUPS },
	[EXT2MB_POLICY_BASE] = { "base", EXT2MB_CHOICE_GOAL_FIRST, KERNEL_LEAST_GROUPS },
};

static const struct ext2mb_choice choices[] = {
	{ EXT2MB_CHOICE_TRY_LOCK, 1, "try-lock", "add ext4_try_lock_group() to skip busy groups" },
	{ EXT2MB_CHOICE_STREAM_HITS_APART, 2, "stream-hits-apart",
	  "separate stream goal hits from s_bal_goals for better tracking" },
	{ EXT2MB_CHOICE_STREAM_GROUP, 3, "stream-group", "remove unnecessary s_mb_last_start" },
	{ EXT2MB_CHOICE_STREAM_HINT, 4, "stream-hint", "remove unnecessary s_md_lock on update s_mb_last_group" },
	{ EXT2MB_CHOICE_SEVERAL_GOALS, 5, "several-goals", "utilize multiple global goals to reduce contention" },
	{ EXT2MB_CHOICE_PENDING_ATOMIC, 8, "pending-atomic", "convert sbi->s_mb_free_pending to atomic_t" },
	{ EXT2MB_CHOICE_MERGE_FIRST, 9, "merge-first", "merge freed extent with existing extents before insertion" },
	{ EXT2MB_CHOICE_FULL_UNLISTED, 10, "full-unlisted", "fix zombie groups in average fragment size lists" },
	{ EXT2MB_CHOICE_ALWAYS_LEAVE, 11, "always-leave",
	  "fix largest free orders lists corruption on mb_optimize_scan switch" },
	{ EXT2MB_CHOICE_ORDERED_SETS, 15, "ordered-sets", "convert free groups order lists to xarrays" },
	{ EXT2MB_CHOICE_SCAN_IN_PLACE, 16, "scan-in-place", "refactor choose group to scan group" },
	{ EXT2MB_CHOICE_ONE_DIRECTION, 17, "one-direction", "implement linear-like traversal across order xarrays" },
	{ EXT2MB_CHOICE_GOAL_FIRST, 0, "goal-first", "look into the goal group before any set" },
	{ EXT2MB_CHOICE_WAIT_AT_EQUAL, 0, "wait-at-equal", "wait for busy groups before quality is lowered" },
	{ EXT2MB_CHOICE_PADDED_GOALS, 0, "padded-goals", "stream goals on lines of their own, stored on change" },
	{ EXT2MB_CHOICE_OWN_PENDING, 0, "own-pending", "pending frees in their groups, no global list" },
	{ EXT2MB_CHOICE_DIRECTORY_SHARES, 0, "directory-shares", "files and their inodes in their directory's group" },
	{ EXT2MB_CHOICE_BY_LARGEST, 0, "by-largest", "the largest buddies where no average is long enough" },
	{ EXT2MB_CHOICE_GO_ON, 0, "go-on", "without a goal, after the worker's last request" },
};

#define CHOICES (sizeof(choices) / sizeof(*choices))
#define POLICIES (sizeof(policies) / sizeof(*policies))

const struct policy *policy_get(enum ext2mb_policy policy)
{
	return (unsigned int)policy < POLICIES ? &policies[policy] : NULL;
}

errcode_t policy_resolve(const struct ext2mb_options *options, struct policy *policy)
{
	const struct ext2mb_options defaults = { 0 };

	if (!options)
		options = &defaults;
	const struct policy *named = policy_get(options->policy);
	if (!named || (options->choices_added | options->choices_dropped) & ~(SERIES | OURS) ||
	    options->choices_added & options->choices_dropped || options->optimize_scan > EXT2MB_SCAN_INDEXED)
		return EXT2MB_ET_BAD_ARGUMENT;
	*policy = *named;
	policy->choices = (policy->choices | options->choices_added) & ~options->choices_dropped;
	return 0;
}

errcode_t ext2mb_policy_find(const char *name, enum ext2mb_policy *policy)
{
	for (unsigned int index = 0; index < POLICIES; index++) {
		if (strcmp(policies[index].name, name))
			continue;
		*policy = (enum ext2mb_policy)index;
		return 0;
	}
	return EXT2MB_ET_BAD_ARGUMENT;
}

const struct ext2mb_choice *ext2mb_choice_get(unsigned int index)
{
	return index < CHOICES ? &choices[index] : NULL;
}

uint32_t ext2mb_policy_choices(enum ext2mb_policy policy)
{
	const struct policy *named = policy_get(policy);

	return named ? named->choices : 0;
}
