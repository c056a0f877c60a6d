// SPDX-License-Identifier: LGPL-2.1-or-later
#include "ext2fs/preallocation/normalize.h"

#include <assert.h>

#include "ext2fs/preallocation/normalize_goal.h"

static struct normalize_goal normalize_none(const struct normalize_request *request)
{
	struct normalize_goal goal = normalize_untouched(request, request->count);

	normalize_adjoin(request, &goal);
	return goal;
}

struct normalize_goal normalize(enum ext2mb_normalization normalization, const struct normalize_request *request)
{
	static struct normalize_goal (*const normalizations[])(const struct normalize_request *) = {
		[EXT2MB_NORMALIZE_EXT2MB] = normalize_ext2mb,
		[EXT2MB_NORMALIZE_TABLE] = normalize_table,
		[EXT2MB_NORMALIZE_POW2] = normalize_pow2,
		[EXT2MB_NORMALIZE_NONE] = normalize_none,
	};

	assert(request->count && request->start >= request->hole_start);
	assert(request->hole_end <= NORMALIZE_END && normalize_request_end(request) <= request->hole_end);
	struct normalize_goal goal = normalizations[normalization](request);
	assert(goal.start <= request->start && request->start < goal.start + goal.count);
	assert(goal.start >= request->hole_start && goal.start + goal.count <= request->hole_end);
	return goal;
}
