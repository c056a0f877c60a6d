// SPDX-License-Identifier: GPL-2.0-or-later
/* A member's extended attributes, and its ACLs in the form in which a host directory would have them. */
#include <endian.h>
#include <errno.h>
#include <grp.h>
#include <linux/limits.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "source/archive_scan.h"
#include "source/host_xattrs.h"
#include "support/units.h"
#include "support/vector.h"

#define ACCESS_NAME "system.posix_acl_access"
#define DEFAULT_NAME "system.posix_acl_default"

/* system.posix_acl_*: a version, then these, little-endian, ordered by tag and id. */
struct acl_entry {
	uint16_t tag, permissions;
	uint32_t id;
};

enum acl_tag { USER_OBJ = 1, USER = 2, GROUP_OBJ = 4, GROUP = 8, MASK = 16, OTHER = 32 };

#define ACL_VERSION 2
#define NO_ID UINT32_MAX

struct acl {
	struct acl_entry *list;
	size_t count, capacity;
};

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

/* GNU tar writes names without numbers unless it was asked for --numeric-owner; other systems' names are a guess. */
static bool find_id(int tag, const char *name, uint32_t *id)
{
	struct passwd user, *found_user = NULL;
	struct group group, *found_group = NULL;
	char buffer[16384];
	uint64_t number;

	if (!name)
		return false;
	if (units_parse_number(name, 0, NO_ID - 1, &number) == 0)
		*id = (uint32_t)number;
	else if (tag == USER && !getpwnam_r(name, &user, buffer, sizeof(buffer), &found_user) && found_user)
		*id = found_user->pw_uid;
	else if (tag == GROUP && !getgrnam_r(name, &group, buffer, sizeof(buffer), &found_group) && found_group)
		*id = found_group->gr_gid;
	else
		return false;
	return true;
}

static int tag_of(int archive_tag)
{
	switch (archive_tag) {
	case ARCHIVE_ENTRY_ACL_USER_OBJ:
		return USER_OBJ;
	case ARCHIVE_ENTRY_ACL_USER:
		return USER;
	case ARCHIVE_ENTRY_ACL_GROUP_OBJ:
		return GROUP_OBJ;
	case ARCHIVE_ENTRY_ACL_GROUP:
		return GROUP;
	case ARCHIVE_ENTRY_ACL_MASK:
		return MASK;
	case ARCHIVE_ENTRY_ACL_OTHER:
		return OTHER;
	default:
		return 0;
	}
}

static errcode_t add_acl_entry(const struct archive_scan *scan, struct acl *acl, int tag, int permissions, int id,
                               const char *name)
{
	errcode_t error = vector_reserve(&acl->list, &acl->capacity, acl->count + 1, sizeof(*acl->list));
	struct acl_entry entry = { .tag = (uint16_t)tag, .permissions = permissions & 7, .id = NO_ID };

	if (error)
		return fail(scan, error, NULL);
	if ((tag == USER || tag == GROUP) && id >= 0)
		entry.id = (uint32_t)id;
	else if ((tag == USER || tag == GROUP) && scan->kind == &archive_kind_layer)
		return fail(scan, EINVAL, "its ACL names a user or a group without a number");
	else if ((tag == USER || tag == GROUP) && !find_id(tag, name, &entry.id))
		return fail(scan, EINVAL, "its ACL names a user or a group that this host does not know");
	acl->list[acl->count++] = entry;
	return 0;
}

static int compare_entries(const void *one, const void *other)
{
	const struct acl_entry *first = one, *second = other;

	if (first->tag != second->tag)
		return first->tag < second->tag ? -1 : 1;
	return first->id < second->id ? -1 : first->id > second->id;
}

/* An ACL that names somebody has a mask, by default what all of its group class may do. */
static errcode_t complete(const struct archive_scan *scan, struct acl *acl, int *mask)
{
	int tags = 0, permissions = 0;

	for (size_t i = 0; i < acl->count; i++) {
		tags |= acl->list[i].tag;
		if (acl->list[i].tag & (USER | GROUP_OBJ | GROUP))
			permissions |= acl->list[i].permissions;
		if (acl->list[i].tag == MASK)
			*mask = acl->list[i].permissions;
	}
	if ((tags & (USER_OBJ | GROUP_OBJ | OTHER)) != (USER_OBJ | GROUP_OBJ | OTHER))
		return fail(scan, EINVAL, "its ACL lacks the owner, the group or the others");
	if (!(tags & MASK) && tags & (USER | GROUP)) {
		*mask = permissions;
		return add_acl_entry(scan, acl, MASK, permissions, -1, NULL);
	}
	return 0;
}

/* *bytes: the xattr's value, which the caller frees; NULL where there is no more than the mode says. */
static errcode_t read_acl(const struct archive_scan *scan, int type, struct acl *acl, int *mask)
{
	int entry_type, permissions, tag, id;
	const char *name;

	if (archive_entry_acl_reset(scan->entry, type) == 0)
		return 0;
	while (archive_entry_acl_next(scan->entry, type, &entry_type, &permissions, &tag, &id, &name) == ARCHIVE_OK) {
		errcode_t error = tag_of(tag) ? add_acl_entry(scan, acl, tag_of(tag), permissions, id, name) :
		                                fail(scan, EINVAL, "its ACL is not a POSIX one");

		if (error)
			return error;
	}
	errcode_t error = acl->count ? complete(scan, acl, mask) : 0;

	if (acl->count)
		qsort(acl->list, acl->count, sizeof(*acl->list), compare_entries);
	return error;
}

/* The entries become the value in place, behind a version that goes before them. */
static errcode_t add_acl(struct archive_scan *scan, int type, const char *name, uint32_t *count, int *mask)
{
	struct acl acl = { 0 };
	errcode_t error = read_acl(scan, type, &acl, mask);
	size_t bytes = sizeof(uint32_t) + acl.count * sizeof(struct acl_entry);
	char *value = !error && acl.count ? arena_alloc(&scan->acl_memory, bytes) : NULL;

	if (!error && acl.count && !value)
		error = fail(scan, ENOMEM, NULL);
	if (value) {
		memcpy(value, &(uint32_t){ htole32(ACL_VERSION) }, sizeof(uint32_t));
		for (size_t i = 0; i < acl.count; i++) {
			struct acl_entry entry = {
				htole16(acl.list[i].tag),
				htole16(acl.list[i].permissions),
				htole32(acl.list[i].id),
			};

			memcpy(value + sizeof(uint32_t) + i * sizeof(entry), &entry, sizeof(entry));
		}
		error = add_xattr(scan, count, name, value, bytes);
	}
	free(acl.list);
	return error;
}

/* Of the same name the one that was added first stays: stored bytes, with numbers, go before text with names. */
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
	int mask = -1, default_mask = -1;
	const char *name;
	const void *value;
	size_t bytes;
	errcode_t error = 0;

	if (archive_entry_xattr_reset(scan->entry) > 0)
		while (!error && archive_entry_xattr_next(scan->entry, &name, &value, &bytes) == ARCHIVE_OK)
			if (name && host_xattrs_are_kept(name))
				error = add_xattr(scan, &count, name, value, bytes);
	if (!error && !S_ISLNK(node->mode))
		error = add_acl(scan, ARCHIVE_ENTRY_ACL_TYPE_ACCESS, ACCESS_NAME, &count, &mask);
	if (!error && S_ISDIR(node->mode))
		error = add_acl(scan, ARCHIVE_ENTRY_ACL_TYPE_DEFAULT, DEFAULT_NAME, &count, &default_mask);
	/* libarchive has put the permissions of the group itself there. */
	if (mask >= 0)
		node->mode = (uint16_t)((node->mode & ~070) | mask << 3);
	if (!error && count && !scan->options->without_xattrs)
		error = xattr_table_intern(scan->xattr_table, scan->xattrs, sort_unique(scan->xattrs, count),
		                           &scan->last_set, &node->xattrs);
	arena_destroy(&scan->acl_memory);
	return error ? fail(scan, error, NULL) : 0;
}
