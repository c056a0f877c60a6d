/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "populate/plan/layer_placement.h"

#include <errno.h>
#include <sys/stat.h>

#include "populate/plan/node_placement.h"
#include "support/run/interrupt.h"

/* The state of placing everything, in one range. */
struct filling {
	struct plan *plan;
	struct pack_range range;
	struct hidden_gaps gaps;
	struct extent_list list;
};

static errcode_t place_tree(struct filling *filling, uint32_t number)
{
	struct plan *plan = filling->plan;

	if (S_ISREG(plan_node(plan, number)->mode) || !node_is_unplaced(plan, number))
		return 0;
	return node_place(plan, &filling->range, number, &filling->list);
}

static errcode_t place_contents(struct filling *filling, uint32_t index)
{
	struct plan *plan = filling->plan;
	uint32_t number = plan->content_order[index];

	if (!node_is_unplaced(plan, number))
		return 0;
	return node_place_contents(plan, &filling->range, number, &filling->gaps, &filling->list);
}

static errcode_t place_map(struct filling *filling, uint32_t index)
{
	return node_place_map(filling->plan, &filling->range, filling->plan->content_order[index]);
}

static errcode_t place_all(struct filling *filling, uint32_t count,
                           errcode_t (*place)(struct filling *filling, uint32_t index))
{
	errcode_t error = 0;

	for (uint32_t index = 0; !error && index < count; index++)
		error = index % 1024 == 0 && interrupt_pending() ? EINTR : place(filling, index);
	return error;
}

errcode_t layer_placement_fill(struct plan *plan, const struct filesystem *filesystem, const struct workplace *work)
{
	struct filling filling = {
		.plan = plan,
		.range = { .worker = filesystem->workers[0], .limit = filesystem->geometry.blocks },
	};
	errcode_t error = hidden_gaps_open(&filling.gaps, plan, work->problem);

	if (!error)
		error = place_all(&filling, plan->source->tree->node_count, place_tree);
	if (!error)
		error = place_all(&filling, plan->content_count, place_contents);
	if (!error)
		error = place_all(&filling, plan->content_count, place_map);
	if (!error)
		error = pack_range_end(&filling.range);
	hidden_gaps_close(&filling.gaps);
	free(filling.list.extents);
	return error;
}
