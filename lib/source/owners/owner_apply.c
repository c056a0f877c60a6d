// SPDX-License-Identifier: GPL-2.0-or-later
/* Rules and ranges, applied to a whole tree. */
#include <errno.h>

#include "source/owners/owner_map.h"
#include "source/owners/owner_xattrs.h"
#include "source/tree/xattr_sets.h"

static bool part_matches(const struct owner_part *part, uint32_t id)
{
	return part->kind == OWNER_ANY || part->id == id;
}

/* The first rule that matches and says something of that kind. */
static const struct owner_rule *find_rule(const struct owner_map *map, enum account_kind kind,
                                          const uint32_t owner[ACCOUNT_KINDS])
{
	for (size_t i = 0; i < map->rule_count; i++) {
		const struct owner_rule *rule = &map->rules[i];

		if (rule->to[kind].kind != OWNER_ANY && part_matches(&rule->from[ACCOUNT_USER], owner[ACCOUNT_USER]) &&
		    part_matches(&rule->from[ACCOUNT_GROUP], owner[ACCOUNT_GROUP]))
			return rule;
	}
	return NULL;
}

static errcode_t map_owner(const struct owner_map *map, struct tree *tree, uint32_t number, struct problem *problem)
{
	struct tree_node *node = &tree->nodes[number];
	const uint32_t owner[ACCOUNT_KINDS] = { node->uid, node->gid };
	uint32_t mapped[ACCOUNT_KINDS] = { 0 };

	for (enum account_kind kind = 0; !map->root_owned && kind < ACCOUNT_KINDS; kind++) {
		const struct owner_rule *rule = find_rule(map, kind, owner);

		mapped[kind] = rule ? rule->to[kind].id : owner[kind];
		if (!rule && !id_map_apply(&map->ids[kind], &mapped[kind]))
			return owner_map_problem(tree, number, "cannot map its owner", kind, owner[kind], problem);
	}
	node->uid = mapped[ACCOUNT_USER];
	node->gid = mapped[ACCOUNT_GROUP];
	return 0;
}

static errcode_t resolve_part(struct owner_part *part, enum account_kind kind, const char *origin,
                              struct account_names *names, struct problem *problem)
{
	errcode_t error = 0;

	if (part->kind == OWNER_NAME) {
		error = account_names_find(names, kind, part->name, origin, &part->id, problem);
		part->kind = error ? OWNER_NAME : OWNER_ID;
	}
	return error;
}

static errcode_t resolve_names(struct owner_map *map, const struct tree *tree, struct problem *problem)
{
	struct account_names *names;
	errcode_t error = account_names_create(tree, &names);

	if (error)
		return problem_set(problem, error, NULL, "cannot map owners");
	for (size_t i = 0; !error && i < map->rule_count; i++) {
		struct owner_rule *rule = &map->rules[i];

		for (enum account_kind kind = 0; !error && kind < ACCOUNT_KINDS; kind++) {
			error = resolve_part(&rule->from[kind], kind, rule->origin, names, problem);
			if (!error)
				error = resolve_part(&rule->to[kind], kind, rule->origin, names, problem);
		}
	}
	account_names_destroy(names);
	return error;
}

errcode_t owner_map_apply(struct owner_map *map, struct tree *tree, struct problem *problem)
{
	SCOPE_FREE bool *is_mapped = calloc(tree->xattr_set_count, sizeof(*is_mapped));
	bool is_changed = false;
	errcode_t error = is_mapped ? resolve_names(map, tree, problem) : ENOMEM;

	for (uint32_t node = 0; !error && node < tree->node_count; node++) {
		uint32_t set = tree->nodes[node].xattrs;

		error = map_owner(map, tree, node, problem);
		if (error || is_mapped[set])
			continue;
		is_mapped[set] = true;
		error = owner_xattrs_map(map, tree, node, &is_changed, problem);
	}
	if (!error && is_changed)
		error = xattr_sets_unify(tree);
	return error ? problem_set(problem, error, NULL, "cannot map owners") : 0;
}
