/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which block of their xattr set inodes share: 1024 at a time, for as many inodes as there can be. */
#include "ondisk/xattr.h"
#include "populate/metadata/xattrs.h"
#include "unit.h"

START_TEST(shares)
{
	static const uint32_t users[] = { 0,          1,           1023,        1024,       1025,
		                          67107839,   67108863,    67108864u,   67108865u,  134217728u,
		                          0x7fffffff, 0x80000000u, 0xfffffbffu, 0xfffffffeu };

	for (size_t index = 0; index < sizeof(users) / sizeof(*users); index++) {
		struct xattr_store store = { .users = users[index] };
		struct placement placement = { .has_extent_map = true, .knows_flags = true };

		xattrs_share(&store, &placement);
		ck_assert_uint_eq(placement.xattr_share, users[index] / XATTR_MAX_REFERENCES);
		ck_assert_uint_eq(store.users, users[index] + 1);
		ck_assert(placement.has_extent_map && placement.knows_flags && !placement.is_casefolded &&
		          !placement.is_inline);
	}
	ck_assert_uint_eq(sizeof(struct placement), 24);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("xattr_shares");
	TCase *tests = tcase_create("shares");

	tcase_add_test(tests, shares);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
