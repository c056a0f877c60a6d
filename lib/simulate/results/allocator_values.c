// SPDX-License-Identifier: GPL-2.0-or-later
#include "simulate/results/allocator_values.h"

#include "ext2fs/compare/policies.h"

errcode_t allocator_values_add(struct simulation *simulation, const char *section, const struct streams_cost *cost)
{
	struct ext2mb_stats stats = { .struct_bytes = sizeof(stats) };
	errcode_t error = ext2mb_read_stats(simulation->image->mb, &stats);

	if (error)
		return problem_set(simulation->problem, error, simulation->image->path, "cannot read statistics");
	const struct policy_stats policy = policy_read_stats(simulation->image->mb);
	const struct {
		const char *key, *label;
		uint64_t count;
	} counts[] = {
		{ "requests", "Requests", stats.requests },
		{ "window_hits", "Served from windows", stats.preallocation_hits },
		{ "goal_hits", "Goal hits", stats.goal_hits },
		{ "stream_goal_hits", "Stream goal hits", stats.stream_goal_hits },
		{ "groups_scanned", "Groups scanned", stats.groups_scanned },
		{ "busy_skips", "Busy groups skipped", stats.busy_skips },
		{ "busy_waits", "Busy groups waited for", stats.busy_waits },
		{ "bounces", "Chosen in vain", policy.bounces },
		{ "lock_waits", "Waits for a lock", cost->lock_waits },
		{ "global_locks", "Global lock taken", policy.global_locks },
	};

	for (size_t index = 0; index < sizeof(counts) / sizeof(*counts); index++)
		result_add(simulation->result,
		           &(struct result_value){ section, counts[index].key, counts[index].label, RESULT_COUNTED,
		                                   (double)counts[index].count, 0 },
		           1);
	return 0;
}
