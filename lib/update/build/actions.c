/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "update/build/actions.h"

#include <stdlib.h>
#include <string.h>

#include "support/vector.h"

void update_plan_free(struct update_plan *plan)
{
	protection_release(&plan->protection);
	tree_destroy(plan->tree);
	free(plan->base);
	free(plan->inos);
	free(plan->actions);
	arena_destroy(&plan->memory);
	*plan = (struct update_plan){ 0 };
}

errcode_t update_plan_add(struct update_plan *plan, const struct update_action *action)
{
	errcode_t error = vector_reserve(&plan->actions, &plan->capacity, plan->count + 1, sizeof(*plan->actions));

	if (!error)
		plan->actions[plan->count++] = *action;
	return error;
}

char *update_node_path(const struct update_plan *plan, uint32_t node)
{
	char *path = path_text(plan->base, tree_ascend, plan->tree, node, NULL);

	if (!path || *path)
		return path;
	free(path);
	return strdup("/");
}

char *update_action_path(const struct update_plan *plan, const struct update_action *action)
{
	return action->path ? strdup(action->path) : update_node_path(plan, action->node);
}
