/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An allocation policy for e2allocsim and debugmb: a file that grows gets as much again as it has, after what it has,
 * or where all of it is free. See ext2mb_policy.h.
 *
 *	make policy.so
 *	e2allocsim append --policy=./policy.so --compare=policies disk.img 20G
 *
 * It has no state, so threads may call it as they like.
 */
#include <ext2fs/ext2mb_policy.h>

#define LEAST_BYTES (64u << 10) /* of a file that begins */

EXT2MB_POLICY_LIBRARY;

static uint64_t round_up(uint64_t value, uint64_t unit)
{
	return (value + unit - 1) / unit * unit;
}

/* After the left neighbour; a file without one gets Linux's own goal. */
int ext2mb_policy_goal(void *state, const struct ext2mb_policy_view *view, const struct ext2mb_policy_file *file,
                       uint64_t *block)
{
	(void)state;
	if (!file->left_physical || file->left_physical >= view->filesystem->end_block)
		return EXT2MB_POLICY_PASS;
	*block = file->left_physical;
	return EXT2MB_POLICY_DONE;
}

/* As much again as the file has, but no more than a group. A file that has its length asks for what it needs. */
int ext2mb_policy_normalize(void *state, const struct ext2mb_policy_view *view, const struct ext2mb_policy_file *file,
                            uint64_t *start, uint64_t *count)
{
	const struct ext2mb_policy_filesystem *filesystem = view->filesystem;
	uint64_t most = file->hole_end - file->start;
	uint64_t wanted = file->start > file->count ? file->start : file->count;

	(void)state;
	if (file->is_final)
		return EXT2MB_POLICY_PASS;
	if (wanted < LEAST_BYTES / filesystem->block_bytes)
		wanted = LEAST_BYTES / filesystem->block_bytes;
	wanted = round_up(wanted, filesystem->cluster_blocks);
	if (most > filesystem->group_blocks)
		most = filesystem->group_blocks;
	*start = file->start;
	*count = wanted < most ? wanted : most;
	return EXT2MB_POLICY_DONE;
}

/* From the goal's group on, each that may have all of it; in the end Linux's own criteria. */
int ext2mb_policy_next_group(void *state, const struct ext2mb_policy_view *view,
                             const struct ext2mb_policy_search *search, uint32_t *group)
{
	uint32_t groups = view->filesystem->groups;
	uint32_t done = 0;

	(void)state;
	if (search->last_group != UINT32_MAX)
		done = (search->last_group + groups - search->start_group) % groups + 1;
	for (; done < groups; done++) {
		uint32_t number = (search->start_group + done) % groups;
		struct ext2mb_policy_group about;

		view->read_group(view, number, &about);
		if (about.longest_blocks < search->wanted_blocks)
			continue;
		*group = number;
		return EXT2MB_POLICY_DONE;
	}
	return EXT2MB_POLICY_PASS;
}

/* The first run that is long enough. */
int ext2mb_policy_give_up(void *state, const struct ext2mb_policy_view *view, const struct ext2mb_policy_search *search,
                          const struct ext2mb_policy_run *run)
{
	(void)state;
	(void)view;
	return run->blocks >= search->wanted_blocks ? EXT2MB_POLICY_TAKE : EXT2MB_POLICY_GO_ON;
}
