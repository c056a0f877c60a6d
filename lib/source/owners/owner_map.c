/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/owners/owner_map.h"

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

bool id_map_apply(const struct id_map *ids, uint32_t *id)
{
	size_t low = 0, high = ids->count;

	/* The first range that ends behind the id. */
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (*id - ids->ranges[middle].from < ids->ranges[middle].count || *id < ids->ranges[middle].from)
			high = middle;
		else
			low = middle + 1;
	}
	if (low == ids->count || *id < ids->ranges[low].from)
		return !ids->count;
	*id = ids->ranges[low].to + (*id - ids->ranges[low].from);
	return true;
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
