// SPDX-License-Identifier: GPL-2.0-or-later
/* A member's extended attributes, its ACLs among them. */
#include <errno.h>
#include <limits.h>
#include <linux/limits.h>
#include <string.h>
#include <sys/stat.h>

#include "source/archive/archive_acl.h"
#include "source/archive/archive_scan.h"
#include "support/vector.h"

#define ACCESS_NAME "system.posix_acl_access"
#define DEFAULT_NAME "system.posix_acl_default"

static errcode_t fail(const struct archive_scan *scan, errcode_t error, const char *reason)
{
	return archive_scan_problem(scan, error, "cannot read extended attributes", reason);
}

static errcode_t add_xattr(struct archive_scan *scan, uint32_t *count, const char *name, const void *value,
                           size_t bytes)
{
	errcode_t error = vector_reserve(&scan->xattrs, &scan->xattr_capacity, *count + 1, sizeof(*scan->xattrs));

	if (error)
		return fail(scan, error, NULL);
	if (strlen(name) > XATTR_NAME_MAX || bytes > XATTR_SIZE_MAX || name[strlen(name) - 1] == '.')
		return fail(scan, EINVAL, "a name or a value is too long, or a name is only a prefix");
	scan->xattrs[(*count)++] = (struct tree_xattr){ .name = name, .value = value, .value_bytes = (uint32_t)bytes };
	return 0;
}

static uint16_t tag_of(int archive_tag)
{
	switch (archive_tag) {
	case ARCHIVE_ENTRY_ACL_USER_OBJ:
		return ACL_USER_OBJ;
	case ARCHIVE_ENTRY_ACL_USER:
		return ACL_USER;
	case ARCHIVE_ENTRY_ACL_GROUP_OBJ:
		return ACL_GROUP_OBJ;
	case ARCHIVE_ENTRY_ACL_GROUP:
		return ACL_GROUP;
	case ARCHIVE_ENTRY_ACL_MASK:
		return ACL_MASK;
	case ARCHIVE_ENTRY_ACL_OTHER:
		return ACL_OTHER;
	default:
		return 0;
	}
}

/* An ACL as libarchive has it, of Solaris's tar and of formats other than tar. */
static errcode_t take_entries(const struct archive_scan *scan, int type, struct acl *acl)
{
	int entry_type, permissions, tag, id;
	const char *name;
	errcode_t error = 0;

	if (archive_entry_acl_reset(scan->entry, type) == 0)
		return 0;
	while (!error &&
	       archive_entry_acl_next(scan->entry, type, &entry_type, &permissions, &tag, &id, &name) == ARCHIVE_OK) {
		bool is_named = tag_of(tag) == ACL_USER || tag_of(tag) == ACL_GROUP;

		if (!tag_of(tag))
			return fail(scan, EINVAL, "its ACL is not a POSIX one");
		if (is_named && id == INT_MAX) /* which libarchive makes of every larger one, too */
			return fail(scan, EOVERFLOW,
			            "its ACL has an id of 2147483647 or more, which libarchive cannot tell apart");
		if (!is_named || id >= 0)
			error = acl_add(acl, tag_of(tag), (unsigned int)permissions, (uint32_t)id);
		else
			error = acl_add_name(acl, tag_of(tag), (unsigned int)permissions, name ? name : "");
	}
	return error;
}

/* Libarchive has given what the ACL says of the owner, the group and the others to the mode. */
static errcode_t take_from_mode(struct acl *acl, uint16_t mode)
{
	static const uint16_t tags[] = { ACL_OTHER, ACL_GROUP_OBJ, ACL_USER_OBJ };
	errcode_t error = 0;

	for (unsigned int i = 0; !error && i < sizeof(tags) / sizeof(*tags); i++)
		if (acl->count && acl_permissions(acl, tags[i]) < 0)
			error = acl_add(acl, tags[i], mode >> 3 * i, 0);
	return error;
}

/* The mode's group bits are the mask, if there is one. An ACL of three entries says no more than the mode. */
static void give_to_mode(struct acl *acl, uint16_t *mode)
{
	int mask = acl_permissions(acl, ACL_MASK), group = acl_permissions(acl, ACL_GROUP_OBJ);

	if (!acl->count)
		return;
	*mode = (uint16_t)((*mode & ~0777) | acl_permissions(acl, ACL_USER_OBJ) << 6 |
	                   (mask >= 0 ? mask : group) << 3 | acl_permissions(acl, ACL_OTHER));
	if (acl->count == 3)
		acl->count = 0;
}

/* What the header says, where that is known; libarchive changes it. */
static errcode_t read_acl(struct archive_scan *scan, bool is_default, struct tree_node *node, struct acl *acl)
{
	const char *text = is_default ? scan->header.default_acl : scan->header.access_acl;
	errcode_t error;

	acl->is_default = is_default;
	acl->is_foreign = scan->kind == &archive_kind_layer;
	if (text)
		error = acl_parse(acl, text);
	else
		error = take_entries(scan, is_default ? ARCHIVE_ENTRY_ACL_TYPE_DEFAULT : ARCHIVE_ENTRY_ACL_TYPE_ACCESS,
		                     acl);
	if (!error && !is_default)
		error = take_from_mode(acl, node->mode);
	return error;
}

static errcode_t add_acl(struct archive_scan *scan, bool is_default, uint32_t *count, struct tree_node *node)
{
	struct acl acl = { 0 };
	const void *value = NULL;
	size_t bytes;
	errcode_t error = read_acl(scan, is_default, node, &acl);

	if (!error)
		error = acl_complete(&acl);
	if (!error && !is_default)
		give_to_mode(&acl, &node->mode);
	if (!error)
		error = acl_encode(&acl, &scan->member_memory, &value, &bytes);
	if (value)
		error = add_xattr(scan, count, is_default ? DEFAULT_NAME : ACCESS_NAME, value, bytes);
	free(acl.list);
	return error ? fail(scan, error, acl.why) : 0;
}

/* Of two with the same name the first one stays: stored bytes, with numbers, override text with names. */
static uint32_t sort_unique(struct tree_xattr *list, uint32_t count)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct tree_xattr xattr = list[i];
		uint32_t at = kept;

		while (at && strcmp(list[at - 1].name, xattr.name) > 0)
			at--;
		if (at && !strcmp(list[at - 1].name, xattr.name))
			continue;
		memmove(list + at + 1, list + at, (kept - at) * sizeof(*list));
		list[at] = xattr;
		kept++;
	}
	return kept;
}

errcode_t archive_scan_xattrs(struct archive_scan *scan, struct tree_node *node)
{
	uint32_t count = 0;
	const char *name;
	const void *value;
	size_t bytes;
	errcode_t error = 0;

	if (archive_entry_xattr_reset(scan->entry) > 0)
		while (!error && archive_entry_xattr_next(scan->entry, &name, &value, &bytes) == ARCHIVE_OK)
			if (name && tree_xattr_is_kept(name))
				error = add_xattr(scan, &count, name, value, bytes);
	if (!error && !S_ISLNK(node->mode))
		error = add_acl(scan, false, &count, node);
	if (!error && S_ISDIR(node->mode))
		error = add_acl(scan, true, &count, node);
	node->has_lost_acl = archive_entry_acl_types(scan->entry) & ARCHIVE_ENTRY_ACL_TYPE_NFS4;
	if (!error && count && !scan->options->without_xattrs)
		error = xattr_table_intern(scan->xattr_table, scan->xattrs, sort_unique(scan->xattrs, count),
		                           &scan->last_set, &node->xattrs);
	return error ? fail(scan, error, NULL) : 0;
}
