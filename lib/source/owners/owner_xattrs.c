/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/owners/owner_xattrs.h"

#include <endian.h>
#include <errno.h>
#include <linux/capability.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <string.h>

#define ENTRY_BYTES sizeof(struct posix_acl_xattr_entry)
#define HEADER_BYTES sizeof(struct posix_acl_xattr_header)

struct mapping {
	const struct owner_map *map;
	struct tree *tree;
	uint32_t node;
	struct problem *problem;
};

static errcode_t map_id(const struct mapping *mapping, enum account_kind kind, uint32_t *id)
{
	uint32_t before = *id;

	if (owner_map_id(mapping->map, kind, id))
		return 0;
	return owner_map_problem(mapping->tree, mapping->node, "cannot map its extended attributes", kind, before,
	                         mapping->problem);
}

/* Within a tag entries are sorted by id: the kernel does not require it, but programs that compare ACLs do. */
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
	char *copy = arena_alloc(&mapping->tree->memory, xattr->value_bytes);
	SCOPE_FREE struct posix_acl_xattr_entry *entries = malloc(count * ENTRY_BYTES + 1);

	if (!copy || !entries)
		return ENOMEM;
	memcpy(copy, xattr->value, HEADER_BYTES);
	memcpy(entries, (const char *)xattr->value + HEADER_BYTES, count * ENTRY_BYTES);
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
	memcpy(copy + HEADER_BYTES, entries, count * ENTRY_BYTES);
	xattr->value = copy;
	return 0;
}

/* Revision 3 with 0 for root is what revision 2 says without it, and what the kernel makes of it. */
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

errcode_t owner_xattrs_map(const struct owner_map *map, struct tree *tree, uint32_t node, bool *is_changed,
                           struct problem *problem)
{
	const struct mapping mapping = { map, tree, node, problem };
	struct tree_xattr_set *set = &tree->xattr_sets[tree->nodes[node].xattrs];
	struct tree_xattr *list = NULL;

	for (uint32_t i = 0; i < set->count; i++) {
		struct tree_xattr xattr = set->list[i];
		errcode_t error = map_xattr(&mapping, &xattr);

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
