/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/owners/owner_map.h"

#include <errno.h>
#include <stdlib.h>

static void free_rule(struct owner_rule *rule)
{
	for (int kind = 0; kind < ACCOUNT_KINDS; kind++) {
		free(rule->from[kind].name);
		free(rule->to[kind].name);
	}
	free(rule->origin);
}

void owner_map_destroy(struct owner_map *map)
{
	for (int kind = 0; kind < ACCOUNT_KINDS; kind++)
		free(map->ids[kind].ranges);
	for (size_t i = 0; i < map->rule_count; i++)
		free_rule(&map->rules[i]);
	free(map->rules);
	*map = (struct owner_map){ 0 };
}

static int compare_to_range(const void *id, const void *range)
{
	const struct id_range *ids = range;
	uint32_t number = *(const uint32_t *)id;

	return number < ids->from ? -1 : number - ids->from >= ids->count;
}

bool id_map_apply(const struct id_map *ids, uint32_t *id)
{
	const struct id_range *range = NULL;

	if (ids->count)
		range = bsearch(id, ids->ranges, ids->count, sizeof(*ids->ranges), compare_to_range);
	if (range)
		*id = range->to + (*id - range->from);
	return range || !ids->count;
}

errcode_t owner_map_problem(const struct tree *tree, uint32_t node, const char *action, enum account_kind kind,
                            uint32_t id, struct problem *problem)
{
	SCOPE_FREE char *path = tree_path(tree, node);

	return problem_set_reason(problem, ERANGE, path, action, "%s %u is in no range of the map: add a range for it",
	                          account_kind_name(kind), id);
}

bool owner_map_id(const struct owner_map *map, enum account_kind kind, uint32_t *id)
{
	if (map->root_owned)
		return true;
	for (size_t i = 0; i < map->rule_count; i++) {
		const struct owner_rule *rule = &map->rules[i];

		if (rule->to[kind].kind == OWNER_ANY || rule->from[!kind].kind != OWNER_ANY ||
		    rule->from[kind].kind == OWNER_ANY || rule->from[kind].id != *id)
			continue;
		*id = rule->to[kind].id;
		return true;
	}
	return id_map_apply(&map->ids[kind], id);
}
