/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "compare/policies.h"

#include <errno.h>
#include <string.h>

#include "allocator/allocator.h"
#include "compare/kernel_forms.h"
#include "compare/kernel_policy.h"
#include "compare/user_policy.h"
#include "ext2fs/messages.h"
#include "allocator/fs/fs_state.h"
#include "allocator/inode/orlov.h"
#include "allocator/search/scan.h"

#define SERIES                                                                                                         \
	(CHOICE_TRY_LOCK | CHOICE_STREAM_HITS_APART | CHOICE_STREAM_GROUP | CHOICE_STREAM_HINT |                       \
	 CHOICE_SEVERAL_GOALS | CHOICE_PENDING_ATOMIC | CHOICE_MERGE_FIRST | CHOICE_FULL_UNLISTED |                    \
	 CHOICE_ALWAYS_LEAVE | CHOICE_ORDERED_SETS | CHOICE_SCAN_IN_PLACE | CHOICE_ONE_DIRECTION)
#define OURS                                                                                                           \
	(CHOICE_GOAL_FIRST | CHOICE_WAIT_AT_EQUAL | CHOICE_PADDED_GOALS | CHOICE_OWN_PENDING |                         \
	 CHOICE_DIRECTORY_SHARES | CHOICE_BY_LARGEST | CHOICE_GO_ON)
#define KERNEL_LEAST_GROUPS 16 /* with fewer groups mb_optimize_scan is off by default */

static const struct {
	const char *name;
	uint32_t choices;
} policies[] = {
	[POLICY_EXT2MB] = { "ext2mb", SERIES | OURS | CHOICE_RULES },
	[POLICY_SERIES] = { "series", SERIES | CHOICE_RULES },
	[POLICY_BASE] = { "base", CHOICE_GOAL_FIRST | CHOICE_RULES },
	[POLICY_USER] = { NULL, SERIES | CHOICE_RULES }, /* named by the library's path */
};

#define RULE(rule, name, subject)                                                                                      \
	{                                                                                                              \
		(rule) << CHOICE_RULE_SHIFT, 0, name, subject                                                          \
	}

const struct choice all_choices[] = {
	{ CHOICE_TRY_LOCK, 1, "try-lock", "add ext4_try_lock_group() to skip busy groups" },
	{ CHOICE_STREAM_HITS_APART, 2, "stream-hits-apart",
	  "separate stream goal hits from s_bal_goals for better tracking" },
	{ CHOICE_STREAM_GROUP, 3, "stream-group", "remove unnecessary s_mb_last_start" },
	{ CHOICE_STREAM_HINT, 4, "stream-hint", "remove unnecessary s_md_lock on update s_mb_last_group" },
	{ CHOICE_SEVERAL_GOALS, 5, "several-goals", "utilize multiple global goals to reduce contention" },
	{ CHOICE_PENDING_ATOMIC, 8, "pending-atomic", "convert sbi->s_mb_free_pending to atomic_t" },
	{ CHOICE_MERGE_FIRST, 9, "merge-first", "merge freed extent with existing extents before insertion" },
	{ CHOICE_FULL_UNLISTED, 10, "full-unlisted", "fix zombie groups in average fragment size lists" },
	{ CHOICE_ALWAYS_LEAVE, 11, "always-leave",
	  "fix largest free orders lists corruption on mb_optimize_scan switch" },
	{ CHOICE_ORDERED_SETS, 15, "ordered-sets", "convert free groups order lists to xarrays" },
	{ CHOICE_SCAN_IN_PLACE, 16, "scan-in-place", "refactor choose group to scan group" },
	{ CHOICE_ONE_DIRECTION, 17, "one-direction", "implement linear-like traversal across order xarrays" },
	{ CHOICE_GOAL_FIRST, 0, "goal-first", "look into the goal group before any set" },
	{ CHOICE_WAIT_AT_EQUAL, 0, "wait-at-equal", "wait for busy groups before quality is lowered" },
	{ CHOICE_PADDED_GOALS, 0, "padded-goals", "stream goals on lines of their own, stored on change" },
	{ CHOICE_OWN_PENDING, 0, "own-pending", "pending frees in their groups, no global list" },
	{ CHOICE_DIRECTORY_SHARES, 0, "directory-shares", "files and their inodes in their directory's group" },
	{ CHOICE_BY_LARGEST, 0, "by-largest", "the largest buddies where no average is long enough" },
	{ CHOICE_GO_ON, 0, "go-on", "without a goal, after the worker's last request" },
	RULE(RULE_END_AT_EXTENT, "end-at-extent", "preallocations end where the longest extents do"),
	RULE(RULE_FROM_SMALL, "from-small", "what outgrows the small files goes on where it lies"),
	RULE(RULE_WHOLE_EXTENT, "whole-extent", "a new extent rather whole in a free group"),
	RULE(RULE_FREE_GROUPS, "free-groups", "more than a group goes where several groups are free"),
	RULE(RULE_FREE_GROUP, "free-group", "what begins with much begins a free group"),
	RULE(RULE_NEAR, "near", "rather half in the flex group than all elsewhere"),
	RULE(RULE_AFTER_SMALL, "after-small", "in order of directories, whole files join the small ones"),
	RULE(RULE_UNALIGNED, "unaligned", "runs that are long enough without such a buddy"),
	RULE(RULE_LONGEST, "longest", "the longest of many runs where none is long enough"),
	RULE(RULE_LARGE_APART, "large-apart", "what may grow does not begin among small files"),
	RULE(RULE_SLICES, "slices", "a small file that goes on gets all of a small file's blocks"),
	RULE(RULE_TOGETHER, "together", "while there is room, what gets all that it asked for lies together"),
	{ 0 },
};

#define POLICIES (sizeof(policies) / sizeof(*policies))

errcode_t policy_find(const char *name, enum policy_name *policy)
{
	for (unsigned int index = 0; index < POLICIES; index++) {
		if (!policies[index].name || strcmp(policies[index].name, name))
			continue;
		*policy = (enum policy_name)index;
		return 0;
	}
	return EXT2MB_ET_BAD_ARGUMENT;
}

uint32_t policy_choices(enum policy_name policy)
{
	return (unsigned int)policy < POLICIES ? policies[policy].choices : 0;
}

static errcode_t create(struct ext2mb *mb)
{
	struct kernel_policy *kernel = kernel_policy_of(mb);
	errcode_t error = 0;

	kernel->groups = mb->geometry.groups;
	kernel->has_stale_index = !mb->is_indexed && !(kernel->choices & CHOICE_ALWAYS_LEAVE);
	for (unsigned int kind = 0; kind < INDEX_KINDS && !error && !(kernel->choices & CHOICE_ORDERED_SETS); kind++)
		error = kernel_lists_create(kernel->groups, &kernel->lists[kind]);
	if (!error && kernel->loading == GROUPS_COLD)
		error = kernel_groups_create(mb);
	if (!error && !(kernel->choices & CHOICE_OWN_PENDING))
		error = kernel_pending_create(kernel);
	kernel->goal_groups = calloc(mb->goals->count, sizeof(*kernel->goal_groups));
	kernel->goal_starts = calloc(mb->goals->count, sizeof(*kernel->goal_starts));
	if (!error && (!kernel->goal_groups || !kernel->goal_starts))
		error = ENOMEM;
	return !error && kernel->user ? user_policy_open(mb, kernel->user) : error;
}

static void destroy(void *state)
{
	struct kernel_policy *kernel = state;

	for (unsigned int kind = 0; kind < INDEX_KINDS; kind++)
		kernel_lists_destroy(kernel->lists[kind]);
	kernel_pending_destroy(kernel);
	user_policy_close(kernel->user);
	free(kernel->user);
	free((void *)kernel->was_read);
	free((void *)kernel->goal_groups);
	free((void *)kernel->goal_starts);
	free(kernel);
}

static void enter_goals(struct kernel_policy *kernel)
{
	if (!(kernel->choices & CHOICE_STREAM_HINT))
		md_lock_enter(kernel);
}

static void leave_goals(struct kernel_policy *kernel)
{
	if (!(kernel->choices & CHOICE_STREAM_HINT))
		md_lock_leave(kernel);
}

static struct cluster_place load_goal(struct ext2mb *mb, uint64_t stream)
{
	struct kernel_policy *kernel = kernel_policy_of(mb);
	uint32_t index = (uint32_t)(stream % mb->goals->count);

	enter_goals(kernel);
	struct cluster_place place = {
		.group = atomic_load_explicit(&kernel->goal_groups[index], memory_order_relaxed),
		.cluster = atomic_load_explicit(&kernel->goal_starts[index], memory_order_relaxed),
	};
	leave_goals(kernel);
	return place;
}

static void store_goal(struct ext2mb *mb, uint64_t stream, uint32_t group, uint32_t cluster)
{
	struct kernel_policy *kernel = kernel_policy_of(mb);
	uint32_t index = (uint32_t)(stream % mb->goals->count);

	enter_goals(kernel);
	atomic_store_explicit(&kernel->goal_groups[index], group, memory_order_relaxed);
	if (!(kernel->choices & CHOICE_STREAM_GROUP))
		atomic_store_explicit(&kernel->goal_starts[index], cluster, memory_order_relaxed);
	leave_goals(kernel);
}

static errcode_t alloc_for_directory(struct inode_search *search, const struct ext2mb_inode_request *request)
{
	return orlov_alloc_for_directory(search, request, inode_search_groups);
}

/* Spreads directories over flex groups, without shares. */
static uint32_t hash_name(const struct ext2mb *mb, const char *name)
{
	return fs_state_hash_name(mb->fs_state, name);
}

static const struct inode_operations kernel_inodes = { alloc_for_directory, orlov_alloc_for_file, hash_name };

/* Tries nothing before the criteria. */
static errcode_t begin_nowhere(struct free_search *search UNUSED)
{
	return 0;
}

/* Our policy, with the kernel's functions for each choice that is the kernel's. */
static struct policy bind(struct kernel_policy *kernel, bool is_kernels)
{
	const uint32_t our_index = CHOICE_FULL_UNLISTED | CHOICE_ALWAYS_LEAVE | CHOICE_ORDERED_SETS;
	const uint32_t our_goals = CHOICE_STREAM_GROUP | CHOICE_STREAM_HINT | CHOICE_PADDED_GOALS;
	uint32_t choices = kernel->choices;
	struct policy policy = allocator_policy;

	if ((choices & our_index) != our_index || kernel->loading == GROUPS_COLD)
		policy.index = &kernel_index;
	if (!(choices & CHOICE_OWN_PENDING))
		policy.pending = &kernel_pending;
	bool is_padded = (choices & our_goals) == our_goals;

	kernel->goal_operations = (struct goal_operations){
		.load = is_padded ? stream_goals_padded.load : load_goal,
		.store = is_padded ? stream_goals_padded.store : store_goal,
		.is_cluster = !(choices & CHOICE_STREAM_GROUP),
		.hit_counter = choices & CHOICE_STREAM_HITS_APART ? COUNT_STREAM_GOAL_HITS : COUNT_GOAL_HITS,
	};
	policy.goals = &kernel->goal_operations;
	kernel->search_operations = (struct search_operations){
		.sweep = kernel_sweep,
		.sweep_all = is_kernels ? kernel_sweep_all : search_sweep_all,
		.walk = is_kernels ? kernel_walk : search_walk,
		.meet_busy = kernel_meet_busy,
		.begin = choices & CHOICE_GO_ON ? scan_operations.begin : begin_nowhere,
		.tries_goals = !is_kernels,
		.end = kernel->loading == GROUPS_COLD ? kernel_end : NULL,
	};
	policy.search = &kernel->search_operations;
	if (!(choices & CHOICE_DIRECTORY_SHARES)) {
		policy.small_file_goal = file_goal_in_flex_group;
		policy.inodes = &kernel_inodes;
	}
	policy.state = kernel;
	policy.create = create;
	policy.destroy = destroy;
	policy.rules = (choices & CHOICE_RULES) >> CHOICE_RULE_SHIFT;
	if (is_kernels) {
		policy.small_file_goal = file_goal_near_inode;
		policy.small_file_alloc = kernel_small_file_alloc;
		policy.normalization = EXT2MB_NORMALIZE_TABLE;
		policy.locality = EXT2MB_LOCALITY_THREAD;
		policy.least_groups = KERNEL_LEAST_GROUPS;
	}
	if (kernel->user) {
		kernel->user->small_file_goal = policy.small_file_goal;
		policy.small_file_goal = user_policy_small_goal;
		policy.user = &user_operations;
		kernel->search_operations.user = user_policy_search;
	}
	return policy;
}

/* Opens with a policy and the options that are no choices. */
static errcode_t open_with(ext2_filsys fs, const struct policy_options *options, struct ext2mb_options *allocator,
                           struct policy policy, struct ext2mb **ret)
{
	if (options->has_limits)
		policy.limits = options->limits;
	return allocator_open(fs, allocator, &policy, ret);
}

static errcode_t open_policy(ext2_filsys fs, const struct policy_options *options, struct ext2mb **ret)
{
	struct ext2mb_options allocator = options->allocator;

	if ((unsigned int)options->policy >= POLICIES || (options->policy == POLICY_USER && !options->user) ||
	    (options->choices_added | options->choices_dropped) & ~(SERIES | OURS | CHOICE_RULES) ||
	    options->choices_added & options->choices_dropped)
		return EXT2MB_ET_BAD_ARGUMENT;
	messages_register();
	uint32_t choices = (policies[options->policy].choices | options->choices_added) & ~options->choices_dropped;
	if (choices == (SERIES | OURS | CHOICE_RULES) && options->policy == POLICY_EXT2MB)
		return open_with(fs, options, &allocator, allocator_policy, ret);
	struct kernel_policy *kernel = aligned_alloc(_Alignof(struct kernel_policy), sizeof(*kernel));
	SCOPE_FREE struct user_policy *user = calloc(1, sizeof(*user));
	bool is_kernels = options->policy != POLICY_EXT2MB;

	if (!kernel || !user) {
		free(kernel);
		return ENOMEM;
	}
	*user = (struct user_policy){ .library = options->user };
	*kernel = (struct kernel_policy){
		.choices = choices,
		.user = options->policy == POLICY_USER ? TAKE(user) : NULL,
		.lists_loaded_only = is_kernels,
		.loading = is_kernels ? options->loading : GROUPS_WARM,
		.linear_groups = is_kernels ? options->linear_groups : 0,
		.read_ahead = is_kernels ? options->read_ahead : 0,
		.read_ahead_most = is_kernels ? options->read_ahead_most : 0,
	};
	if (!(choices & CHOICE_SEVERAL_GOALS))
		allocator.streams = 1;
	struct policy policy = bind(kernel, is_kernels);
	policy.ignores_neighbours = is_kernels && !ext2fs_has_feature_extents(fs->super);
	errcode_t error = open_with(fs, options, &allocator, policy, ret);
	if (error || !is_kernels || kernel->loading == GROUPS_COLD)
		return error;
	error = kernel_groups_load(*ret);
	if (error)
		ext2mb_close(TAKE(*ret));
	return error;
}

errcode_t policy_open(ext2_filsys fs, const struct policy_options *options, struct ext2mb **ret)
{
	uint8_t flex_bits = fs->super->s_log_groups_per_flex;

	/* flex_bg is read only while the allocator is being opened. */
	if (options->ignores_flex_groups)
		fs->super->s_log_groups_per_flex = 0;
	errcode_t error = open_policy(fs, options, ret);

	fs->super->s_log_groups_per_flex = flex_bits;
	return error;
}

const char *policy_failure(const struct ext2mb *mb)
{
	struct kernel_policy *kernel = kernel_policy_of(mb);

	return kernel ? user_policy_failure(kernel->user) : NULL;
}

void contention_simulate(struct ext2mb *mb, const struct contention *contention)
{
	mb->contention = contention;
}

void policy_observe_locks(struct ext2mb *mb, const struct lock_observer *observer)
{
	if (kernel_policy_of(mb))
		kernel_policy_of(mb)->observer = observer;
}

struct policy_stats policy_read_stats(struct ext2mb *mb)
{
	struct kernel_policy *kernel = kernel_policy_of(mb);

	if (!kernel)
		return (struct policy_stats){ 0 };
	lock_wait(&kernel->md_lock);
	struct policy_stats stats = { .bounces = kernel->bounces, .global_locks = kernel->md_locks };
	lock_release(&kernel->md_lock);
	return stats;
}
