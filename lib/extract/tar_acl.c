/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/tar_acl.h"

#include <endian.h>
#include <inttypes.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <stdio.h>

#include "ondisk/posix_acl.h"

/* "group:4294967294:rwx," */
#define ENTRY_BYTES 24

const char *tar_acl_keyword(const struct tree_xattr *xattr)
{
	uint32_t disk_bytes;
	const char *keyword = !strcmp(xattr->name, "system.posix_acl_access")  ? "SCHILY.acl.access" :
	                      !strcmp(xattr->name, "system.posix_acl_default") ? "SCHILY.acl.default" :
	                                                                         NULL;

	return keyword && posix_acl_measure(xattr->value, xattr->value_bytes, &disk_bytes) == 0 ? keyword : NULL;
}

static const char *tag_name(uint16_t tag)
{
	switch (tag) {
	case ACL_USER_OBJ:
	case ACL_USER:
		return "user";
	case ACL_GROUP_OBJ:
	case ACL_GROUP:
		return "group";
	case ACL_MASK:
		return "mask";
	default:
		return "other";
	}
}

char *tar_acl_text(const struct tree_xattr *xattr)
{
	uint32_t first = sizeof(struct posix_acl_xattr_header);
	size_t count = (xattr->value_bytes - first) / sizeof(struct posix_acl_xattr_entry);
	char *text = calloc(count + 1, ENTRY_BYTES), *end = text;

	for (size_t i = 0; text && i < count; i++) {
		struct posix_acl_xattr_entry entry;

		memcpy(&entry, (const char *)xattr->value + first + i * sizeof(entry), sizeof(entry));
		uint16_t tag = le16toh(entry.e_tag), permissions = le16toh(entry.e_perm);
		char id[16] = "";

		if (tag == ACL_USER || tag == ACL_GROUP)
			snprintf(id, sizeof(id), "%" PRIu32, le32toh(entry.e_id));
		end += snprintf(end, ENTRY_BYTES, "%s%s:%s:%c%c%c", i ? "," : "", tag_name(tag), id,
		                permissions & ACL_READ ? 'r' : '-', permissions & ACL_WRITE ? 'w' : '-',
		                permissions & ACL_EXECUTE ? 'x' : '-');
	}
	return text;
}
