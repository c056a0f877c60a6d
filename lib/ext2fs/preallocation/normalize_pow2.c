// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Lukas Czerner's proposal of June 2014, whole, with what the discussion added: from the request's own start to
 * the next power of two of the assumed end of the file, in blocks whatever their size, at most a group, the end
 * aligned to the stripe width afterwards. fallocate knows what it needs and is left alone, but for a limit of
 * half an extent: whole unwritten extents are a block too short to lie side by side.
 */
#include "ext2fs/preallocation/normalize_goal.h"

#define UNWRITTEN_LIMIT (NORMALIZE_WRITTEN_MAX / 2)

struct normalize_goal normalize_pow2(const struct normalize_request *request)
{
	uint64_t start = request->start, group = normalize_group_blocks(request);

	if (request->unwritten)
		return normalize_untouched(request, UNWRITTEN_LIMIT);

	uint64_t end = normalize_power_above(normalize_assumed_end(request));
	if (request->stripe_blocks)
		end = normalize_round_up(end, request->stripe_blocks);
	if (end - start > group) {
		end = start + group;
		/* Down to a stripe only if the request keeps as much of the group as it can use. */
		uint64_t used = start + min_u64(request->count, group);
		uint64_t aligned = request->stripe_blocks ? normalize_round_down(end, request->stripe_blocks) : end;
		end = aligned >= used ? aligned : end;
	}
	struct normalize_goal goal = normalize_clip(request, start, end);
	normalize_adjoin(request, &goal);
	return goal;
}
