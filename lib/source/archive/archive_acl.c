/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/archive/archive_acl.h"

#include <ctype.h>
#include <endian.h>
#include <errno.h>
#include <grp.h>
#include <nss.h>
#include <pwd.h>
#include <string.h>

#include "support/text/units.h"
#include "support/vector.h"

#define NO_ID ((uint32_t)ACL_UNDEFINED_ID)
#define MOST_FIELDS 5 /* "default" and four more */

static errcode_t refuse(struct acl *acl, const char *why)
{
	acl->why = why;
	return EINVAL;
}

errcode_t acl_add(struct acl *acl, uint16_t tag, unsigned int permissions, uint32_t id)
{
	errcode_t error = vector_reserve(&acl->list, &acl->capacity, acl->count + 1, sizeof(*acl->list));

	if (!error)
		acl->list[acl->count++] = (struct posix_acl_xattr_entry){
			.e_tag = tag,
			.e_perm = permissions & 7,
			.e_id = tag == ACL_USER || tag == ACL_GROUP ? id : NO_ID,
		};
	return error;
}

errcode_t acl_add_name(struct acl *acl, uint16_t tag, unsigned int permissions, const char *name)
{
	struct passwd user, *found_user = NULL;
	struct group group, *found_group = NULL;
	char buffer[16384];
	uint64_t number = NO_ID;

	if (units_parse_number(name, 0, NO_ID - 1, &number) == 0)
		return acl_add(acl, tag, permissions, (uint32_t)number);
	if (acl->is_foreign)
		return refuse(acl, "its ACL names a user or a group without a number");
	acl->has_asked_host = true;
	/* Else a static tool would load modules of the host's glibc, whose version is another one. */
	if (STATIC_TOOLS && (__nss_configure_lookup("passwd", "files") || __nss_configure_lookup("group", "files")))
		return ENOMEM;
	if (tag == ACL_USER && !getpwnam_r(name, &user, buffer, sizeof(buffer), &found_user) && found_user)
		return acl_add(acl, tag, permissions, found_user->pw_uid);
	if (tag == ACL_GROUP && !getgrnam_r(name, &group, buffer, sizeof(buffer), &found_group) && found_group)
		return acl_add(acl, tag, permissions, found_group->gr_gid);
	return refuse(acl,
	              "its ACL names a user or a group that this host does not know: make the archive with numbers");
}

static bool parse_permissions(const char *text, unsigned int *permissions)
{
	static const char letters[] = "xwr";

	*permissions = 0;
	for (const char *at = text; *at; at++) {
		const char *letter = strchr(letters, tolower((unsigned char)*at));

		if (letter)
			*permissions |= 1u << (letter - letters);
		else if (*at != '-')
			return false;
	}
	return *text;
}

static bool is_either(const char *text, const char *word, const char *letter)
{
	return !strcmp(text, word) || !strcmp(text, letter);
}

/* Adds user:NAME:rwx[:ID], user::rwx or the same for a group; a number may replace the name. */
static errcode_t add_account(struct acl *acl, bool is_user, char *const *fields, size_t count)
{
	unsigned int permissions;
	uint64_t id;

	count -= count == 4 && !*fields[3];
	if (count < 3 || count > 4 || !parse_permissions(fields[2], &permissions))
		return refuse(acl, "its ACL is damaged");
	if (!*fields[1] && count == 3)
		return acl_add(acl, is_user ? ACL_USER_OBJ : ACL_GROUP_OBJ, permissions, NO_ID);
	uint16_t tag = is_user ? ACL_USER : ACL_GROUP;

	if (count == 3)
		return acl_add_name(acl, tag, permissions, fields[1]);
	if (units_parse_number(fields[3], 0, NO_ID - 1, &id))
		return refuse(acl, "its ACL has an id that is not a number from 0 to 4294967294");
	return acl_add(acl, tag, permissions, (uint32_t)id);
}

/* Adds mask::rwx or, in Solaris's form, mask:rwx. */
static errcode_t add_other(struct acl *acl, uint16_t tag, char *const *fields, size_t count)
{
	unsigned int permissions;

	if (count < 2 || count > 3 || (count == 3 && *fields[1]) || !parse_permissions(fields[count - 1], &permissions))
		return refuse(acl, "its ACL is damaged");
	return acl_add(acl, tag, permissions, NO_ID);
}

static char *trim(char *text)
{
	text += strspn(text, " \t\r");
	for (size_t end = strlen(text); end && strchr(" \t\r", text[end - 1]); end--)
		text[end - 1] = '\0';
	return text;
}

static errcode_t parse_entry(struct acl *acl, char *text)
{
	char *all[MOST_FIELDS], **fields = all;
	size_t count = 0;

	if (!*trim(text))
		return 0;
	for (char *rest = trim(text); rest;) {
		char *field = strsep(&rest, ":");

		if (count == MOST_FIELDS)
			return refuse(acl, "its ACL is damaged");
		all[count++] = trim(field);
	}
	/* In a default ACL the prefix "default:" says nothing new. */
	if (acl->is_default && is_either(*fields, "default", "d")) {
		fields++;
		count--;
	}
	if (!count)
		return refuse(acl, "its ACL is damaged");
	if (is_either(*fields, "user", "u"))
		return add_account(acl, true, fields, count);
	if (is_either(*fields, "group", "g"))
		return add_account(acl, false, fields, count);
	if (is_either(*fields, "mask", "m"))
		return add_other(acl, ACL_MASK, fields, count);
	if (is_either(*fields, "other", "o"))
		return add_other(acl, ACL_OTHER, fields, count);
	return refuse(acl, "its ACL is damaged");
}

errcode_t acl_parse(struct acl *acl, const char *text)
{
	SCOPE_FREE char *copy = strdup(text);
	char *rest = copy;
	errcode_t error = copy ? 0 : ENOMEM;

	while (!error && rest) {
		char *line = strsep(&rest, "\n");

		line[strcspn(line, "#")] = '\0';
		while (!error && line)
			error = parse_entry(acl, strsep(&line, ","));
	}
	return error;
}

int acl_permissions(const struct acl *acl, uint16_t tag)
{
	for (size_t i = 0; i < acl->count; i++)
		if (acl->list[i].e_tag == tag)
			return acl->list[i].e_perm;
	return -1;
}

static int compare_entries(const void *one, const void *other)
{
	const struct posix_acl_xattr_entry *first = one, *second = other;

	if (first->e_tag != second->e_tag)
		return first->e_tag < second->e_tag ? -1 : 1;
	return first->e_id < second->e_id ? -1 : first->e_id > second->e_id;
}

/*
 * Completes an ACL. An ACL that names a user or group has a mask; by default it is the union of the permissions of its
 * group class.
 */
errcode_t acl_complete(struct acl *acl)
{
	unsigned int tags = 0, permissions = 0;

	if (!acl->count)
		return 0;
	for (size_t i = 0; i < acl->count; i++) {
		tags |= acl->list[i].e_tag;
		if (acl->list[i].e_tag & (ACL_USER | ACL_GROUP_OBJ | ACL_GROUP))
			permissions |= acl->list[i].e_perm;
	}
	if (~tags & (ACL_USER_OBJ | ACL_GROUP_OBJ | ACL_OTHER))
		return refuse(acl, "its ACL lacks an entry for the owner, the group or others");
	if (!(tags & ACL_MASK) && tags & (ACL_USER | ACL_GROUP))
		return acl_add(acl, ACL_MASK, permissions, NO_ID);
	return 0;
}

errcode_t acl_encode(struct acl *acl, struct arena *memory, const void **value, size_t *bytes)
{
	*value = NULL;
	*bytes = 0;
	if (!acl->count)
		return 0;
	qsort(acl->list, acl->count, sizeof(*acl->list), compare_entries);
	for (size_t i = 1; i < acl->count; i++)
		if (!compare_entries(&acl->list[i - 1], &acl->list[i]))
			return refuse(acl, "its ACL has an entry twice");
	*bytes = sizeof(struct posix_acl_xattr_header) + acl->count * sizeof(*acl->list);
	struct posix_acl_xattr_header *header = arena_alloc(memory, *bytes);

	if (!header)
		return ENOMEM;
	struct posix_acl_xattr_entry *entries = (void *)(header + 1);

	header->a_version = htole32(POSIX_ACL_XATTR_VERSION);
	for (size_t i = 0; i < acl->count; i++)
		entries[i] = (struct posix_acl_xattr_entry){ htole16(acl->list[i].e_tag), htole16(acl->list[i].e_perm),
			                                     htole32(acl->list[i].e_id) };
	*value = header;
	return 0;
}
