/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "allocator/free/marked.h"

#include "allocator/free/commit.h"
#include "allocator/free/free.h"
#include "allocator/fs/fs_state.h"

/* If memory is short the block stays in use until one of libext2fs's own calls finds out. */
static void give_up(struct ext2mb_worker *worker, uint64_t start, uint64_t stop)
{
	const struct geometry *geometry = &worker->mb->geometry;
	errcode_t error =
		free_clusters(worker, geometry_position(geometry, start), geometry_to_clusters(geometry, stop - start));

	(void)error;
}

bool marked_has_none(struct ext2mb_worker *worker, const struct ext2mb_extent *extent)
{
	struct fs_state *state = worker->mb->fs_state;
	uint64_t end = extent->start + extent->count, start, stop = extent->start;

	if (!fs_state_find_run(state, true, extent->start, end, &start, &stop))
		return true;
	stop = extent->start;
	while (stop < end && fs_state_find_run(state, false, stop, end, &start, &stop))
		give_up(worker, start, stop);
	/* This fails only because of a discard function, and an attached allocator has none. */
	errcode_t error = commit_frees(worker->mb);
	(void)error;
	return false;
}
