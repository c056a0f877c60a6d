/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/archive/archive_acl.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

/* The entries as "TAG:PERMISSIONS:ID" in their order, or what is wrong. */
static void check(const char *text, bool is_default, const char *expected)
{
	struct acl acl = { .is_default = is_default };
	char shown[1000] = "";
	struct arena memory = { 0 };
	const void *value;
	size_t bytes;
	errcode_t error = acl_parse(&acl, text);

	if (!error)
		error = acl_complete(&acl);
	if (!error)
		error = acl_encode(&acl, &memory, &value, &bytes);
	for (size_t i = 0; !error && i < acl.count; i++) {
		struct posix_acl_xattr_entry entry;
		size_t used = strlen(shown);

		memcpy(&entry, (const char *)value + sizeof(struct posix_acl_xattr_header) + i * sizeof(entry),
		       sizeof(entry));
		snprintf(shown + used, sizeof(shown) - used, "%s%d:%d:%d", i ? " " : "", le16toh(entry.e_tag),
		         le16toh(entry.e_perm), (int)le32toh(entry.e_id));
	}
	ck_assert_str_eq(error ? acl.why : shown, expected);
	free(acl.list);
	arena_destroy(&memory);
}

#define BASE "user::rwx,group::r-x,other::---"
#define SHOWN_BASE "1:7:-1 4:5:-1 32:0:-1"
#define DAMAGED "its ACL is damaged"
#define BAD_ID "its ACL has an id that is not a number from 0 to 4294967294"

START_TEST(texts_that_tar_has)
{
	check("", false, "");
	check(BASE, false, SHOWN_BASE);
	check("user::rwx\ngroup::r-x\nother::---\n", false, SHOWN_BASE);
	check("u::rwx, g::r-x ,o:--- # all", false, SHOWN_BASE);
	check(BASE "#,user:5:rwx\n", false, SHOWN_BASE);
	check(BASE ",user:name:rw-:1000", false, "1:7:-1 2:6:1000 4:5:-1 16:7:-1 32:0:-1");
	check(BASE ",user:1000:rw-,mask::r--", false, "1:7:-1 2:6:1000 4:5:-1 16:4:-1 32:0:-1");
	check(BASE ",group:name:-wx:4294967294,user:root:r:", false, "1:7:-1 2:4:0 4:5:-1 8:3:-2 16:7:-1 32:0:-1");
	check(BASE ",user:b:r:2147483648,user:a:r:2147483647", false,
	      "1:7:-1 2:4:2147483647 2:4:-2147483648 4:5:-1 16:5:-1 32:0:-1");
	check("default:user::rwx,d:group::r-x,default:other:---", true, SHOWN_BASE);
}
END_TEST

START_TEST(what_is_wrong_is_not_left_out)
{
	static const char *const damaged[] = {
		BASE ",garbage",   BASE ",usr:5:rwx",     BASE ",user:5",     BASE ",user:a:rwx:5:6",
		BASE ",mask::rwz", BASE ",user:5:",       BASE ",mask:5:r--", BASE ",default:user:5:r",
		BASE ",:::",       BASE ",a:b:c:d:e:f:g",
	};
	static const char *const ids[] = { "4294967295", "4294967296", "99999999999999999999", "-1", "12a", "0x5" };

	for (size_t i = 0; i < sizeof(damaged) / sizeof(*damaged); i++)
		check(damaged[i], false, DAMAGED);
	for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++) {
		char text[100];

		snprintf(text, sizeof(text), BASE ",user:name:rwx:%s", ids[i]);
		check(text, false, BAD_ID);
	}
	check("user::rwx,group::r-x", false, "its ACL lacks an entry for the owner, the group or others");
	check(BASE ",user:5:r,user:x:w:5", false, "its ACL has an entry twice");
	check(BASE ",other::r", false, "its ACL has an entry twice");
	check(BASE ",user:nobody of that name:r", false,
	      "its ACL names a user or a group that this host does not know: make the archive with numbers");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("archive_acl");
	TCase *tests = tcase_create("archive_acl");

	tcase_add_test(tests, texts_that_tar_has);
	tcase_add_test(tests, what_is_wrong_is_not_left_out);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
