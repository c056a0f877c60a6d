/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ext2fs/compare/kernel_policy.h"

#include "ext2fs/inode/orlov.h"

static errcode_t take_top_level(struct inode_search *search, const char *name, const struct flex_counts *average)
{
	struct ext2mb *mb = search->mb;
	uint32_t flex;

	if (!orlov_choose_flex(mb, name, average, &flex))
		return 0;
	return inode_search_groups(search, flex * mb->geometry.flex_groups, flex_end(mb, flex));
}

static errcode_t take_for_directory(struct inode_search *search, const struct ext2mb_inode_request *request)
{
	struct flex_counts average = orlov_average(search->mb);
	errcode_t error = request->parent == EXT2_ROOT_INO ? take_top_level(search, request->name, &average) :
	                                                     orlov_take_near_parent(search, &average);

	return inode_search_goes_on(search, error) ? orlov_take_above_average(search, &average) : error;
}

const struct inode_operations kernel_inodes = { take_for_directory, orlov_take_for_file };
