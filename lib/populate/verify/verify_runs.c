/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "populate/verify/verify_runs.h"

#include <string.h>

#include "filesystem/fs_errors.h"

struct visiting {
	struct extent_list *list;
	errcode_t error;
};

static int visit_block(ext2_filsys fs, blk64_t *block, e2_blkcnt_t logical, blk64_t reference, int offset,
                       void *context)
{
	struct visiting *visiting = context;

	(void)fs;
	(void)reference;
	(void)offset;
	visiting->error = extent_list_add(visiting->list, (uint32_t)logical, *block, 1);
	return visiting->error ? BLOCK_ABORT : 0;
}

static errcode_t add_extent(struct verify_runs *runs, const struct ext2fs_extent *extent)
{
	return extent->e_flags & EXT2_EXTENT_FLAGS_UNINIT ?
	               extent_list_add(&runs->unwritten, (uint32_t)extent->e_lblk, extent->e_lblk, extent->e_len) :
	               extent_list_add(&runs->written, (uint32_t)extent->e_lblk, extent->e_pblk, extent->e_len);
}

/* Only extents say what is unwritten. */
static errcode_t read_extents(ext2_filsys fs, ext2_ino_t ino, struct verify_runs *runs)
{
	ext2_extent_handle_t handle;
	errcode_t error = FS_ERROR_OF(ext2fs_extent_open(fs, ino, &handle));

	if (error)
		return error;
	do {
		struct ext2fs_extent extent;

		error = FS_ERROR_OF(ext2fs_extent_get(handle, EXT2_EXTENT_NEXT, &extent));
		if (!error && extent.e_flags & EXT2_EXTENT_FLAGS_LEAF &&
		    !(extent.e_flags & EXT2_EXTENT_FLAGS_SECOND_VISIT))
			error = add_extent(runs, &extent);
	} while (!error);
	ext2fs_extent_free(handle);
	return error == EXT2_ET_EXTENT_NO_NEXT ? 0 : error;
}

errcode_t verify_runs_read(const struct plan *plan, ext2_filsys fs, uint32_t node, struct verify_runs *runs)
{
	struct visiting visiting = { .list = &runs->written };
	ext2_ino_t ino = plan->placements[node].ino;

	runs->written.count = runs->unwritten.count = runs->wanted.count = 0;
	runs->unwritten.is_unwritten = runs->wanted.is_unwritten = true;
	if (plan_unwritten(plan, node))
		return read_extents(fs, ino, runs);
	errcode_t error = FS_ERROR_OF(ext2fs_block_iterate3(fs, ino, BLOCK_FLAG_READ_ONLY | BLOCK_FLAG_DATA_ONLY, NULL,
	                                                    visit_block, &visiting));

	return visiting.error ? visiting.error : error;
}

errcode_t verify_runs_compare(const struct plan *plan, uint32_t node, struct verify_runs *runs, bool *equal)
{
	struct block_runs planned;
	uint32_t logical, blocks;
	errcode_t error = 0;

	*equal = true;
	if (!plan_unwritten(plan, node))
		return 0;
	plan_start_runs(plan, node, &planned);
	while (!error && block_runs_next(&planned, &logical, &blocks))
		if (planned.is_unwritten)
			error = extent_list_add(&runs->wanted, logical, logical, blocks);
	*equal = !error && runs->wanted.count == runs->unwritten.count &&
	         (!runs->wanted.count || !memcmp(runs->wanted.extents, runs->unwritten.extents,
	                                         runs->wanted.count * sizeof(*runs->wanted.extents)));
	return error;
}

void verify_runs_free(struct verify_runs *runs)
{
	free(runs->written.extents);
	free(runs->unwritten.extents);
	free(runs->wanted.extents);
}
