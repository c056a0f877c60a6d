// SPDX-License-Identifier: GPL-2.0-or-later
#include "populate/build/pack_range.h"

errcode_t pack_range_take(struct pack_range *range, uint64_t blocks, struct ext2mb_extent *extent)
{
	struct ext2mb_request request = {
		.struct_bytes = sizeof(request),
		.goal = range->next,
		.limit = range->limit,
		.count = blocks,
		.flags = EXT2MB_ALLOC_PACK,
	};

	if (range->limit && range->next >= range->limit)
		return EXT2MB_ET_NO_SPACE;
	errcode_t error = ext2mb_alloc(range->worker, &request, extent);
	if (!error)
		range->next = extent->start + extent->count;
	return error;
}
