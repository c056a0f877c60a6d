// SPDX-License-Identifier: GPL-2.0-or-later
#include "populate/build/pack_range.h"

static errcode_t pass_by(struct pack_range *range, uint64_t blocks, struct ext2mb_extent *extent)
{
	errcode_t error = range->free.count ? 0 : ext2mb_next_free(range->mb, range->next, &range->free);

	if (error)
		return error;
	*extent = (struct ext2mb_extent){ .start = range->free.start,
		                          .count = blocks < range->free.count ? blocks : range->free.count };
	range->free.start += extent->count;
	range->free.count -= extent->count;
	range->next = range->free.start;
	return 0;
}

errcode_t pack_range_take(struct pack_range *range, uint64_t blocks, struct ext2mb_extent *extent)
{
	struct ext2mb_request request = {
		.struct_bytes = sizeof(request),
		.goal = range->next,
		.limit = range->limit,
		.count = blocks,
		.flags = EXT2MB_ALLOC_PACK,
	};

	if (!range->worker)
		return pass_by(range, blocks, extent);
	if (range->limit && range->next >= range->limit)
		return EXT2MB_ET_NO_SPACE;
	errcode_t error = ext2mb_alloc(range->worker, &request, extent);
	if (!error)
		range->next = extent->start + extent->count;
	return error;
}
