/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Applies rules and ranges to a whole tree: to the owners of its files, and to the ids in their xattrs. */
#include <endian.h>
#include <errno.h>
#include <linux/capability.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <string.h>

#include "source/owners/owner_map.h"
#include "tree/xattr_table.h"

#define ENTRY_BYTES sizeof(struct posix_acl_xattr_entry)
#define HEADER_BYTES sizeof(struct posix_acl_xattr_header)

struct mapping {
	const struct owner_map *map;
	struct tree *tree;
	uint32_t node; /* the file at hand */
	struct problem *problem;
};

static int compare_to_range(const void *id, const void *range)
{
	const struct id_range *ids = range;
	uint32_t number = *(const uint32_t *)id;

	return number < ids->from ? -1 : number - ids->from >= ids->count;
}

/*
 * Maps an id by the ranges. It is an error if there are ranges and none contains the id; action: the action that the
 * error names.
 */
static errcode_t map_by_range(const struct mapping *mapping, const char *action, enum account_kind kind, uint32_t *id)
{
	const struct id_map *ids = &mapping->map->ids[kind];

	if (!ids->count)
		return 0;
	const struct id_range *range = bsearch(id, ids->ranges, ids->count, sizeof(*ids->ranges), compare_to_range);

	if (range) {
		*id = range->to + (*id - range->from);
		return 0;
	}
	SCOPE_FREE char *path = tree_path(mapping->tree, mapping->node);

	return problem_set_reason(mapping->problem, ERANGE, path, action,
	                          "%s %u is in no range of the map: add a range for it", account_kind_name(kind), *id);
}

/* Maps an id in an xattr: by the first rule that asks for this id alone, else by the ranges. */
static errcode_t map_id(const struct mapping *mapping, enum account_kind kind, uint32_t *id)
{
	const struct owner_map *map = mapping->map;

	if (map->root_owned)
		return 0;
	for (size_t i = 0; i < map->rule_count; i++) {
		const struct owner_rule *rule = &map->rules[i];

		if (rule->to[kind].kind == OWNER_ANY || rule->from[!kind].kind != OWNER_ANY ||
		    rule->from[kind].kind == OWNER_ANY || rule->from[kind].id != *id)
			continue;
		*id = rule->to[kind].id;
		return 0;
	}
	return map_by_range(mapping, "cannot map its extended attributes", kind, id);
}

/* Orders entries by tag and id. The kernel does not require the order of ids, but programs that compare ACLs do. */
static int compare_entries(const void *one, const void *other)
{
	const struct posix_acl_xattr_entry *first = one, *second = other;

	if (first->e_tag != second->e_tag)
		return le16toh(first->e_tag) < le16toh(second->e_tag) ? -1 : 1;
	if (first->e_id != second->e_id)
		return le32toh(first->e_id) < le32toh(second->e_id) ? -1 : 1;
	return 0;
}

static errcode_t map_acl(const struct mapping *mapping, struct tree_xattr *xattr)
{
	if (xattr->value_bytes < HEADER_BYTES || (xattr->value_bytes - HEADER_BYTES) % ENTRY_BYTES)
		return 0;
	size_t count = (xattr->value_bytes - HEADER_BYTES) / ENTRY_BYTES;
	struct posix_acl_xattr_header *copy = arena_alloc(&mapping->tree->memory, xattr->value_bytes);

	if (!copy)
		return ENOMEM;
	struct posix_acl_xattr_entry *entries = (void *)(copy + 1);

	memcpy(copy, xattr->value, xattr->value_bytes);
	for (size_t i = 0; i < count; i++) {
		uint16_t tag = le16toh(entries[i].e_tag);
		uint32_t id = le32toh(entries[i].e_id);

		if (tag != ACL_USER && tag != ACL_GROUP)
			continue;
		errcode_t error = map_id(mapping, tag == ACL_USER ? ACCOUNT_USER : ACCOUNT_GROUP, &id);

		if (error)
			return error;
		entries[i].e_id = htole32(id);
	}
	qsort(entries, count, ENTRY_BYTES, compare_entries);
	xattr->value = copy;
	return 0;
}

/*
 * Maps a capability's root id. Revision 3 with root id 0 means the same as revision 2, which has no root id; the kernel
 * converts it in the same way.
 */
static errcode_t map_capability(const struct mapping *mapping, struct tree_xattr *xattr)
{
	struct vfs_ns_cap_data *capability = arena_alloc(&mapping->tree->memory, sizeof(*capability));

	if (!capability)
		return ENOMEM;
	if (xattr->value_bytes != sizeof(*capability))
		return 0;
	memcpy(capability, xattr->value, sizeof(*capability));
	uint32_t magic = le32toh(capability->magic_etc), root = le32toh(capability->rootid);

	if ((magic & VFS_CAP_REVISION_MASK) != VFS_CAP_REVISION_3)
		return 0;
	errcode_t error = map_id(mapping, ACCOUNT_USER, &root);

	if (error)
		return error;
	capability->rootid = htole32(root);
	if (!root) {
		capability->magic_etc = htole32((magic & ~VFS_CAP_REVISION_MASK) | VFS_CAP_REVISION_2);
		xattr->value_bytes = XATTR_CAPS_SZ_2;
	}
	xattr->value = capability;
	return 0;
}

static errcode_t map_xattr(const struct mapping *mapping, struct tree_xattr *xattr)
{
	if (!strcmp(xattr->name, "security.capability"))
		return map_capability(mapping, xattr);
	if (!strcmp(xattr->name, "system.posix_acl_access") || !strcmp(xattr->name, "system.posix_acl_default"))
		return map_acl(mapping, xattr);
	return 0;
}

/*
 * Maps the ids within a file's set of xattrs, in place. *is_changed becomes true if any id was changed; two sets may
 * then be equal. Malformed values stay as they are.
 */
static errcode_t map_xattrs(const struct mapping *mapping, bool *is_changed)
{
	struct tree *tree = mapping->tree;
	struct tree_xattr_set *set = &tree->xattr_sets[tree->nodes[mapping->node].xattrs];
	struct tree_xattr *list = NULL;

	for (uint32_t i = 0; i < set->count; i++) {
		struct tree_xattr xattr = set->list[i];
		errcode_t error = map_xattr(mapping, &xattr);

		if (error)
			return error;
		if (xattr.value == set->list[i].value)
			continue;
		if (!list) {
			list = arena_alloc(&tree->memory, set->count * sizeof(*list));
			if (!list)
				return ENOMEM;
			memcpy(list, set->list, set->count * sizeof(*list));
			set->list = list;
		}
		list[i] = xattr;
		*is_changed = true;
	}
	return 0;
}

static bool part_matches(const struct owner_part *part, uint32_t id)
{
	return part->kind == OWNER_ANY || part->id == id;
}

/* Returns the first rule that matches the owner and gives an id of this kind. */
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

static errcode_t map_owner(const struct mapping *mapping)
{
	const struct owner_map *map = mapping->map;
	struct tree_node *node = &mapping->tree->nodes[mapping->node];
	const uint32_t owner[ACCOUNT_KINDS] = { node->uid, node->gid };
	uint32_t mapped[ACCOUNT_KINDS] = { 0 };

	for (enum account_kind kind = 0; !map->root_owned && kind < ACCOUNT_KINDS; kind++) {
		const struct owner_rule *rule = find_rule(map, kind, owner);

		mapped[kind] = rule ? rule->to[kind].id : owner[kind];
		errcode_t error = rule ? 0 : map_by_range(mapping, "cannot map its owner", kind, &mapped[kind]);

		if (error)
			return error;
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
	struct account_names names = { .tree = tree };
	errcode_t error = 0;

	for (size_t i = 0; !error && i < map->rule_count; i++) {
		struct owner_rule *rule = &map->rules[i];

		for (enum account_kind kind = 0; !error && kind < ACCOUNT_KINDS; kind++) {
			error = resolve_part(&rule->from[kind], kind, rule->origin, &names, problem);
			if (!error)
				error = resolve_part(&rule->to[kind], kind, rule->origin, &names, problem);
		}
	}
	account_names_destroy(&names);
	return error;
}

errcode_t owner_map_apply(struct owner_map *map, struct tree *tree, struct problem *problem)
{
	SCOPE_FREE bool *is_mapped = calloc(tree->xattr_set_count, sizeof(*is_mapped));
	struct mapping mapping = { .map = map, .tree = tree, .problem = problem };
	bool is_changed = false;
	errcode_t error = is_mapped ? resolve_names(map, tree, problem) : ENOMEM;

	for (; !error && mapping.node < tree->node_count; mapping.node++) {
		uint32_t set = tree->nodes[mapping.node].xattrs;

		error = map_owner(&mapping);
		if (error || is_mapped[set])
			continue;
		is_mapped[set] = true;
		error = map_xattrs(&mapping, &is_changed);
	}
	if (!error && is_changed)
		error = xattr_sets_unify(tree);
	return error ? problem_set(problem, error, NULL, "cannot map owners") : 0;
}
