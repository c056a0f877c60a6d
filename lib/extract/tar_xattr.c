/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/tar_xattr.h"

#include <errno.h>
#include <nettle/base64.h>
#include <stdio.h>
#include <string.h>

static bool needs_escapes(const char *name)
{
	return strchr(name, '=') || strstr(name, "%3D") || strstr(name, "%25");
}

/*
 * Returns the name with "%XX" for each byte that is not a letter, a digit or a point. The caller frees it; NULL: no
 * memory.
 */
static char *escaped_keyword(const char *name)
{
	static const char prefix[] = "LIBARCHIVE.xattr.";
	char *keyword = malloc(strlen(prefix) + 3 * strlen(name) + 1), *end = keyword;

	if (!keyword)
		return NULL;
	end += sprintf(end, "%s", prefix);
	for (; *name; name++) {
		unsigned char byte = (unsigned char)*name;
		bool is_plain = (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') ||
		                (byte >= 'a' && byte <= 'z') || byte == '.';

		end += sprintf(end, is_plain ? "%c" : "%%%02X", byte);
	}
	return keyword;
}

static errcode_t add_escaped(struct tar_records *records, const struct tree_xattr *xattr)
{
	SCOPE_FREE char *keyword = escaped_keyword(xattr->name);
	size_t bytes = BASE64_ENCODE_RAW_LENGTH((size_t)xattr->value_bytes);
	SCOPE_FREE char *text = malloc(bytes + 1);

	if (!keyword || !text)
		return ENOMEM;
	base64_encode_raw(text, xattr->value_bytes, xattr->value);
	return tar_record_add(records, keyword, text, bytes);
}

errcode_t tar_xattr_add(struct tar_records *records, const struct tree_xattr *xattr)
{
	SCOPE_FREE char *keyword = NULL;

	if (needs_escapes(xattr->name))
		return add_escaped(records, xattr);
	if (asprintf(&keyword, "SCHILY.xattr.%s", xattr->name) < 0) {
		keyword = NULL;
		return ENOMEM;
	}
	return tar_record_add(records, keyword, xattr->value, xattr->value_bytes);
}
