/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Models which groups the kernel has loaded. After a mount it has only descriptors, and an unloaded group is in no
 * index. A search by an expensive criterion (GOAL_LENGTH_SLOW, ANY_FREE) loads each group that it comes to; one by a
 * cheap criterion skips unloaded groups, except the first of a flex group and those that were never initialised.
 * Meanwhile it reads bitmaps ahead, a flex group at a time, whenever it comes to the group where reading ahead ended;
 * after the search the bitmaps read last are loaded, too.
 *
 * A group is loaded here if, and only if, the library has loaded it, however that came about.
 */
#include "compare/kernel_policy.h"
#include "compare/kernel_forms.h"

#include <errno.h>
#include <stdlib.h>

#include "allocator/fs/fs_state.h"
#include "allocator/group/group.h"

#define PAGE_BYTES 4096u
#define READ_AHEAD_WITHOUT_FLEX 32u
#define READ_AHEAD_FLEX_GROUPS 8u /* mb_prefetch: the bitmaps of this many flex groups */
#define READ_AHEAD_STEPS 4u       /* mb_prefetch_limit: this many times that for cheap criteria */

static bool is_loaded(const struct ext2mb *mb, uint32_t number)
{
	return group_summary_read(&mb->groups[number]).state != GROUP_UNTOUCHED;
}

errcode_t kernel_groups_create(struct ext2mb *mb)
{
	struct kernel_policy *kernel = kernel_policy_of(mb);

	kernel->was_read = calloc(kernel->groups, sizeof(*kernel->was_read));
	return kernel->was_read ? 0 : ENOMEM;
}

static errcode_t load_one(struct ext2mb *mb, uint32_t number)
{
	errcode_t error = group_enter(mb, number);

	if (!error)
		group_leave(mb, number);
	return error == EXT2MB_ET_CORRUPT_GROUP ? 0 : error;
}

/* Loads a group with those whose bitmaps and buddies are in the same page. */
static errcode_t load(struct ext2mb *mb, uint32_t number)
{
	uint32_t in_page = PAGE_BYTES >> mb->geometry.block_bits >> 1;
	uint32_t first = in_page > 1 ? number - number % in_page : number;
	uint32_t end = in_page > 1 ? first + in_page : number + 1;
	errcode_t error = 0;

	for (number = first; number < end && number < mb->geometry.groups && !error; number++)
		if (!is_loaded(mb, number))
			error = load_one(mb, number);
	return error;
}

errcode_t kernel_groups_load(struct ext2mb *mb)
{
	errcode_t error = 0;

	for (uint32_t number = 0; number < mb->geometry.groups && !error; number++)
		error = load_one(mb, number);
	return error;
}

static bool is_cheap(const struct free_search *search)
{
	return search->criterion < GOAL_LENGTH_SLOW;
}

static uint32_t least_of(uint64_t one, uint32_t other)
{
	return one < other ? (uint32_t)one : other;
}

uint32_t kernel_read_ahead(const struct ext2mb *mb)
{
	uint32_t flex = mb->geometry.flex_groups;
	uint64_t groups = flex > 1 ? (uint64_t)flex * READ_AHEAD_FLEX_GROUPS : READ_AHEAD_WITHOUT_FLEX;

	if (kernel_policy_of(mb) && kernel_policy_of(mb)->read_ahead)
		groups = kernel_policy_of(mb)->read_ahead;
	return least_of(groups, mb->geometry.groups);
}

uint32_t kernel_read_ahead_most(const struct ext2mb *mb)
{
	uint64_t groups = (uint64_t)READ_AHEAD_STEPS * kernel_read_ahead(mb);

	if (kernel_policy_of(mb) && kernel_policy_of(mb)->read_ahead_most)
		groups = kernel_policy_of(mb)->read_ahead_most;
	return least_of(groups, mb->geometry.groups);
}

/* Reads ahead to the end of the flex group. A group is read only once. */
static void read_ahead(struct free_search *search, uint32_t number)
{
	struct ext2mb *mb = search->mb;
	struct read_ahead *ahead = &search->read_ahead;
	uint32_t flex = mb->geometry.flex_groups, most = kernel_read_ahead(mb);
	uint32_t groups = flex > 1 && flex - number % flex < most ? flex - number % flex : most;

	if (number != ahead->next || (is_cheap(search) && ahead->reads >= kernel_read_ahead_most(mb)))
		return;
	ahead->groups = groups;
	for (; groups--; ahead->next = (ahead->next + 1) % mb->geometry.groups) {
		uint8_t was_read =
			atomic_exchange_explicit(&kernel_policy_of(mb)->was_read[ahead->next], 1, memory_order_relaxed);

		if (!was_read && !is_loaded(mb, ahead->next) && group_free_clusters(&mb->groups[ahead->next]))
			ahead->reads += !fs_state_is_block_uninit(mb->fs_state, ahead->next);
	}
}

void kernel_begin_criterion(struct free_search *search)
{
	search->read_ahead.next = search->start_group;
	search->read_ahead.groups = 0;
}

/* Decides by the group's descriptor. */
static bool may_be_loaded(const struct free_search *search, uint32_t number)
{
	const struct ext2mb *mb = search->mb;
	uint32_t flex = mb->geometry.flex_groups, free_clusters = group_free_clusters(&mb->groups[number]);

	if (!free_clusters || (search->criterion < ANY_FREE && free_clusters < search->wanted))
		return false;
	return !is_cheap(search) || (flex > 1 && number % flex == 0) || fs_state_is_block_uninit(mb->fs_state, number);
}

errcode_t kernel_visit(struct free_search *search, uint32_t number, bool waits)
{
	struct ext2mb *mb = search->mb;

	if (kernel_policy_of(mb)->was_read) {
		read_ahead(search, number);
		if (!is_loaded(mb, number)) {
			if (!may_be_loaded(search, number)) {
				stats_add(&search->worker->stats, COUNT_CRITERION_GROUPS + search->criterion, 1);
				return 0;
			}
			errcode_t error = load(mb, number);
			if (error)
				return error;
		}
	}
	return search_group(search, number, waits);
}

errcode_t kernel_end(struct free_search *search)
{
	struct ext2mb *mb = search->mb;
	uint32_t number = search->read_ahead.next;
	errcode_t error = 0;

	for (uint32_t left = search->read_ahead.groups; left && !error; left--) {
		number = number ? number - 1 : mb->geometry.groups - 1;
		if (!is_loaded(mb, number) && group_free_clusters(&mb->groups[number]))
			error = load(mb, number);
	}
	return error;
}
