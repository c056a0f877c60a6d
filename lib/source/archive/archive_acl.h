/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ACLs of an archive's member, in the form in which a host directory would have them. */
#pragma once

#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/arena.h"
#include "support/problem.h"

/* Zero-initialise; list is freed by the owner. */
struct acl {
	struct posix_acl_xattr_entry *list; /* of this host's byte order */
	size_t count, capacity;
	bool is_default;     /* acl_parse: entries may begin with "default:" */
	bool is_foreign;     /* its users and groups are not those of this host */
	bool has_asked_host; /* a name was looked up on this host */
	const char *why;     /* what is wrong with it, after EINVAL */
};

/* tag is ACL_USER_OBJ and so on; id counts for ACL_USER and ACL_GROUP. ENOMEM. */
MUST_CHECK errcode_t acl_add(struct acl *acl, uint16_t tag, unsigned int permissions, uint32_t id);

/*
 * Adds a user or a group by name, which is a number or looked up on this host: GNU tar writes names without numbers
 * unless it was asked for --numeric-owner; other systems' names are a guess. EINVAL, ENOMEM.
 */
MUST_CHECK errcode_t acl_add_name(struct acl *acl, uint16_t tag, unsigned int permissions, const char *name);

/*
 * Adds the entries of a text as archives of tar have it: TYPE:NAME:PERMISSIONS or TYPE:NAME:PERMISSIONS:ID, with commas
 * or line ends between them and comments after "#". Anything else in it is EINVAL. (libarchive leaves out what it does
 * not understand, and makes every id from 2^31 on 2147483647.) ENOMEM.
 */
MUST_CHECK errcode_t acl_parse(struct acl *acl, const char *text);

/* Gives one that names somebody a mask. EINVAL: it lacks the owner, the group or the others; ENOMEM. */
MUST_CHECK errcode_t acl_complete(struct acl *acl);

/* Sorts it; *value is that of the xattr, in memory, NULL where there are no entries. EINVAL, ENOMEM. */
MUST_CHECK errcode_t acl_encode(struct acl *acl, struct arena *memory, const void **value, size_t *bytes);

/* The permissions of the entry with this tag, the first one; -1: there is none. */
int acl_permissions(const struct acl *acl, uint16_t tag);
