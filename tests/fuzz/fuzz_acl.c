/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ACLs as archives of tar have them, as text; in an archive a record's length keeps most of them from being read. The
 * first byte says whether they are a directory's defaults. They are of another host, so no names are looked up.
 */
#include "fuzz.h"

#include <errno.h>

#include "ondisk/posix_acl.h"
#include "source/archive/archive_acl.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
	if (!count)
		return 0;
	SCOPE_FREE char *text = strndup((const char *)bytes + 1, count - 1);
	struct acl acl = { .is_default = bytes[0] & 1, .is_foreign = true };
	struct arena memory = { 0 };
	const void *value;
	size_t value_bytes;

	FUZZ_CHECK(text);
	errcode_t error = acl_parse(&acl, text);

	if (!error)
		error = acl_complete(&acl);
	if (!error)
		error = acl_encode(&acl, &memory, &value, &value_bytes);
	FUZZ_CHECK(!error || (error == EINVAL && acl.why));
	FUZZ_CHECK(error || !value == !acl.count);
	FUZZ_CHECK(error || !acl.count || acl_permissions(&acl, ACL_USER_OBJ) <= 7);
	arena_destroy(&memory);
	free(acl.list);
	return 0;
}
