/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "compare/user_policy.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "compare/kernel_policy.h"
#include "allocator/core/arithmetic.h"
#include "allocator/group/group.h"
#include "allocator/preallocation/preallocation.h"

#define GROUPS_A_SEARCH 4u /* how often a search may visit each group; more means that the policy does not end */

static struct user_policy *own_of(const struct ext2mb *mb)
{
	return kernel_policy_of(mb)->user;
}

/* --- The library's view ------------------------------------------------------------------------------------------ */

static void read_group(const struct ext2mb_policy_view *view, uint32_t number, struct ext2mb_policy_group *group)
{
	const struct ext2mb *mb = view->allocator;
	const struct geometry *geometry = &mb->geometry;

	*group = (struct ext2mb_policy_group){ .largest_order = -1 };
	if (number >= geometry->groups)
		return;
	struct group_summary summary = group_summary_read(&mb->groups[number]);

	*group = (struct ext2mb_policy_group){
		.free_blocks = (uint32_t)geometry_to_blocks(geometry, summary.free_clusters),
		.fragments = summary.fragments,
		.longest_blocks = (uint32_t)geometry_to_blocks(geometry, group_longest(&mb->groups[number])),
		.largest_order = summary.largest_order,
		.is_loaded = summary.state == GROUP_LOADED,
	};
}

errcode_t user_policy_open(struct ext2mb *mb, struct user_policy *user)
{
	const struct geometry *geometry = &mb->geometry;

	user->filesystem = (struct ext2mb_policy_filesystem){
		.first_block = geometry->first_block,
		.end_block = geometry->end_block,
		.block_bytes = (uint32_t)geometry_block_bytes(geometry),
		.cluster_blocks = (uint32_t)geometry_cluster_blocks(geometry),
		.group_blocks = (uint32_t)geometry_to_blocks(geometry, geometry->clusters_per_group),
		.groups = geometry->groups,
		.flex_groups = geometry->flex_groups,
		.stripe_blocks = mb->stripe.blocks,
	};
	user->view = (struct ext2mb_policy_view){ &user->filesystem, read_group, mb };
	errcode_t error = user->library->open ? user->library->open(&user->view, &user->state) : 0;

	user->library->open_error = error;
	user->is_open = !error;
	return error;
}

void user_policy_close(struct user_policy *user)
{
	if (user && user->is_open && user->library->close)
		user->library->close(user->state);
	if (user)
		user->is_open = false;
}

/* --- Impossible answers ------------------------------------------------------------------------------------------ */

const char *user_policy_failure(const struct user_policy *user)
{
	return user && atomic_load_explicit(&user->failures, memory_order_acquire) > 1 ? user->failure : NULL;
}

static bool has_failed(const struct user_policy *user)
{
	return atomic_load_explicit(&user->failures, memory_order_relaxed);
}

/* Keeps the first failure. */
__attribute__((format(printf, 2, 3))) static errcode_t fail(struct user_policy *user, const char *format, ...)
{
	int none = 0;
	va_list arguments;

	if (!atomic_compare_exchange_strong(&user->failures, &none, 1))
		return ELIBBAD;
	va_start(arguments, format);
	vsnprintf(user->failure, sizeof(user->failure), format, arguments);
	va_end(arguments);
	atomic_store_explicit(&user->failures, 2, memory_order_release);
	return ELIBBAD;
}

static errcode_t check_answer(struct user_policy *user, const char *function, int answer, int most)
{
	if (answer >= 0 && answer <= most)
		return 0;
	return fail(user, "%s: it returned %d, which is no answer", function, answer);
}

/* --- Files ------------------------------------------------------------------------------------------------------- */

static struct ext2mb_policy_file describe_request(const struct ext2mb_file *file,
                                                  const struct normalize_request *request)
{
	return (struct ext2mb_policy_file){
		.inode = file->ino,
		.parent = file->parent,
		.file_blocks = file->blocks,
		.is_final = file->is_final,
		.start = request->start,
		.count = request->count,
		.whole_count = request->whole_count,
		.hole_start = request->hole_start,
		.hole_end = request->hole_end,
		.left_physical = request->left_physical,
		.right_physical = request->right_physical,
		.free_blocks = request->hints.free_blocks,
		.is_unwritten = request->unwritten,
	};
}

static errcode_t ask_goal(struct user_policy *user, const struct ext2mb_policy_file *file, uint64_t *block,
                          bool *has_goal)
{
	static const char function[] = "ext2mb_policy_goal";
	const struct ext2mb_policy_filesystem *filesystem = &user->filesystem;

	*has_goal = false;
	if (has_failed(user))
		return ELIBBAD;
	*block = UINT64_MAX;
	int answer = user->library->goal(user->state, &user->view, file, block);
	errcode_t error = check_answer(user, function, answer, EXT2MB_POLICY_DONE);

	if (error || answer == EXT2MB_POLICY_PASS)
		return error;
	if (*block == UINT64_MAX)
		return fail(user, "%s: it named no block", function);
	if (*block < filesystem->first_block || *block >= filesystem->end_block)
		return fail(user, "%s: block %llu is not in the filesystem, which has %llu to %llu", function,
		            (unsigned long long)*block, (unsigned long long)filesystem->first_block,
		            (unsigned long long)filesystem->end_block - 1);
	if ((*block - filesystem->first_block) % filesystem->cluster_blocks)
		return fail(user, "%s: no cluster begins at block %llu", function, (unsigned long long)*block);
	*has_goal = true;
	return 0;
}

static errcode_t goal(const struct ext2mb_file *file, const struct normalize_request *request, uint64_t *block,
                      bool *has_goal)
{
	const struct ext2mb_policy_file described = describe_request(file, request);

	return ask_goal(own_of(file->mb), &described, block, has_goal);
}

/* An impossible answer is recorded; the following search fails because of it. */
struct small_goal user_policy_small_goal(const struct ext2mb_file *file)
{
	struct user_policy *user = own_of(file->mb);
	const struct ext2mb_policy_file described = describe_request(file, &(struct normalize_request){ 0 });
	uint64_t block;
	bool has_goal;

	if (ask_goal(user, &described, &block, &has_goal) || !has_goal)
		return user->small_file_goal(file);
	return (struct small_goal){ geometry_position(&file->mb->geometry, block), false };
}

static errcode_t check_range(struct user_policy *user, const struct ext2mb_policy_file *file, uint64_t start,
                             uint64_t count)
{
	static const char function[] = "ext2mb_policy_normalize";
	const struct ext2mb_policy_filesystem *filesystem = &user->filesystem;

	if (!count)
		return fail(user, "%s: a length of 0", function);
	if (count > filesystem->group_blocks)
		return fail(user, "%s: %llu blocks are more than a group, which has %u", function,
		            (unsigned long long)count, filesystem->group_blocks);
	if (start > file->start || count <= file->start - start)
		return fail(user, "%s: %llu blocks from %llu on do not contain the request, which begins at %llu",
		            function, (unsigned long long)count, (unsigned long long)start,
		            (unsigned long long)file->start);
	if (start < file->hole_start || start + count > file->hole_end)
		return fail(user, "%s: %llu blocks from %llu on leave the hole, which is %llu to %llu", function,
		            (unsigned long long)count, (unsigned long long)start, (unsigned long long)file->hole_start,
		            (unsigned long long)file->hole_end - 1);
	if ((start | count) % filesystem->cluster_blocks)
		return fail(user, "%s: %llu blocks from %llu on are not whole clusters", function,
		            (unsigned long long)count, (unsigned long long)start);
	return 0;
}

static errcode_t normalize_own(const struct ext2mb_file *file, const struct normalize_request *request,
                               struct normalize_goal *normalized, bool *is_normalized)
{
	struct user_policy *user = own_of(file->mb);
	const struct ext2mb_policy_file described = describe_request(file, request);
	uint64_t start = request->start, count = 0;

	*is_normalized = false;
	if (has_failed(user))
		return ELIBBAD;
	int answer = user->library->normalize(user->state, &user->view, &described, &start, &count);
	errcode_t error = check_answer(user, "ext2mb_policy_normalize", answer, EXT2MB_POLICY_DONE);

	if (error || answer == EXT2MB_POLICY_PASS)
		return error;
	error = check_range(user, &described, start, count);
	if (error)
		return error;
	*normalized = (struct normalize_goal){ .start = start, .count = count };
	/* A request that continues the left neighbour is tried after it, as in Linux. */
	if (request->left_physical && start == request->hole_start &&
	    request->left_physical < user->filesystem.end_block)
		*normalized = (struct normalize_goal){ start, count, request->left_physical, count, count };
	*is_normalized = true;
	return 0;
}

const struct user_operations user_operations = { goal, normalize_own };

/* --- The search --------------------------------------------------------------------------------------------------- */

struct user_search {
	struct user_policy *user;
	struct free_search *search;
	struct ext2mb_policy_search described;
	struct group_piece best;
	bool is_over; /* the best extent is good enough, or there is no further group */
};

static uint32_t to_blocks(const struct user_search *looking, uint32_t clusters)
{
	return (uint32_t)geometry_to_blocks(&looking->search->mb->geometry, clusters);
}

/* Decides as Linux does: an exact length, enough extents that suit, or the limit of extents in all. */
static int weigh_as_linux(const struct user_search *looking, const struct group_piece *run)
{
	const struct search_limits *limits = &looking->search->mb->policy.limits;
	uint32_t seen = looking->described.runs_seen;

	if (run->count == looking->search->wanted)
		return EXT2MB_POLICY_TAKE;
	if (seen > limits->most_to_scan ||
	    (looking->best.count >= looking->search->wanted && seen > limits->least_to_scan))
		return EXT2MB_POLICY_BEST;
	return EXT2MB_POLICY_GO_ON;
}

static void note_run(struct user_search *looking, const struct group_piece *run)
{
	uint32_t wanted = looking->search->wanted;
	struct group_piece *best = &looking->best;

	looking->described.runs_seen++;
	if (best->count < wanted ? run->count > best->count : run->count >= wanted && run->count < best->count)
		*best = *run;
	looking->described.best_blocks = to_blocks(looking, best->count);
}

/* Asks the library about a free extent; the group is locked. */
static errcode_t weigh(struct user_search *looking, const struct group_piece *run)
{
	struct user_policy *user = looking->user;
	const struct ext2mb_policy_run described = {
		.block = geometry_block(&looking->search->mb->geometry, run->group, run->start),
		.group = run->group,
		.blocks = to_blocks(looking, run->count),
	};

	note_run(looking, run);
	int answer = user->library->give_up(user->state, &user->view, &looking->described, &described);
	errcode_t error = check_answer(user, "ext2mb_policy_give_up", answer, EXT2MB_POLICY_BEST);

	if (answer == EXT2MB_POLICY_PASS)
		answer = weigh_as_linux(looking, run);
	if (answer == EXT2MB_POLICY_TAKE)
		looking->best = *run;
	looking->is_over = answer == EXT2MB_POLICY_TAKE || answer == EXT2MB_POLICY_BEST;
	return error;
}

static errcode_t look_into(struct user_search *looking, uint32_t number)
{
	struct free_search *search = looking->search;
	struct ext2mb *mb = search->mb;
	errcode_t error = group_enter(mb, number);
	uint32_t end = 0, seen = looking->described.runs_seen;

	looking->described.groups_looked++;
	looking->described.last_group = number;
	if (error)
		return error == EXT2MB_ET_CORRUPT_GROUP ? 0 : error;
	const struct buddy *buddy = mb->groups[number].buddy;

	stats_add(&search->worker->stats, COUNT_GROUPS_SCANNED, 1);
	while (!error && !looking->is_over) {
		uint32_t start = buddy_next_free(buddy, end, buddy->clusters);

		if (start == buddy->clusters)
			break;
		end = buddy_run_end(buddy, start);
		if (end - start >= search->least)
			error = weigh(looking, &(struct group_piece){ number, start, end - start });
	}
	stats_add(&search->worker->stats, COUNT_EXTENTS_SCANNED, looking->described.runs_seen - seen);
	group_leave(mb, number);
	return error;
}

static errcode_t ask_group(struct user_search *looking, uint32_t *number)
{
	static const char function[] = "ext2mb_policy_next_group";
	struct user_policy *user = looking->user;
	uint32_t groups = user->filesystem.groups;

	if (has_failed(user))
		return ELIBBAD;
	*number = UINT32_MAX;
	int answer = user->library->next_group(user->state, &user->view, &looking->described, number);
	errcode_t error = check_answer(user, function, answer, EXT2MB_POLICY_DONE);

	if (error)
		return error;
	looking->is_over = answer == EXT2MB_POLICY_PASS;
	if (looking->is_over)
		return 0;
	if (*number >= groups)
		return fail(user, "%s: group %u is beyond the last, %u", function, *number, groups - 1);
	if (looking->described.groups_looked >= (uint64_t)GROUPS_A_SEARCH * groups)
		return fail(user, "%s: after %u groups in one search, of %u that there are, it names another", function,
		            looking->described.groups_looked, groups);
	return 0;
}

errcode_t user_policy_search(struct free_search *search)
{
	const struct geometry *geometry = &search->mb->geometry;
	struct user_search looking = {
		.user = own_of(search->mb),
		.search = search,
		.described = {
			.inode = search->inode,
			.wanted_blocks = (uint32_t)geometry_to_blocks(geometry, search->wanted),
			.asked_blocks = (uint32_t)geometry_to_blocks(geometry, search->original),
			.start_group = search->start_group,
			.last_group = UINT32_MAX,
		},
	};
	errcode_t error = 0;

	while (!error && !looking.is_over) {
		uint32_t number;

		error = ask_group(&looking, &number);
		if (!error && !looking.is_over)
			error = look_into(&looking, number);
	}
	if (error || !looking.best.count)
		return error;
	error = search_alloc_at(search, looking.best.group, looking.best.start,
	                        (uint32_t)min_u64(looking.best.count, search->wanted));
	/* Another thread has taken the extent: Linux's criteria go on. */
	if (!error && search->status != SEARCH_HAS_TAKEN)
		stats_add(&search->worker->stats, COUNT_LOST_CHUNKS, 1);
	return error;
}
