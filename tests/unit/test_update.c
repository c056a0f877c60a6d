/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parts of lib/update that need no image: the map of inodes, the balance of space, and xattrs beside inline data. */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "ondisk/xattr_read.h"
#include "unit.h"
#include "update/compare/inode_map.h"
#include "update/target/need.h"

#define INODES 20000u

START_TEST(a_map_has_what_was_entered)
{
	struct inode_map map = { 0 };
	uint32_t *value;

	ck_assert_ptr_null(inode_map_find(&map, 1));
	for (uint32_t i = 1; i <= INODES; i++) {
		ck_assert_int_eq(inode_map_enter(&map, i * 7919, &value), 0);
		ck_assert_uint_eq(*value, 0);
		*value = i;
	}
	ck_assert_uint_eq(map.count, INODES);
	for (uint32_t i = 1; i <= INODES; i++) {
		ck_assert_int_eq(inode_map_enter(&map, i * 7919, &value), 0);
		ck_assert_uint_eq(*value, i);
		ck_assert_ptr_eq(inode_map_find(&map, i * 7919), value);
	}
	ck_assert_ptr_null(inode_map_find(&map, 2));
	inode_map_free(&map);
	ck_assert_ptr_null(inode_map_find(&map, 7919));
}
END_TEST

START_TEST(space_that_is_freed_counts_after_a_commit)
{
	const struct update_need need = { .blocks = { .taken = 100, .freed = 90, .peak = 30 },
		                          .inodes = { .taken = 5, .freed = 5, .peak = 1 } };
	struct update_lack lack = update_need_lack(&need, 30, 1, 0, false);

	ck_assert_uint_eq(lack.blocks, 0);
	ck_assert_uint_eq(lack.inodes, 0);
	/* All at once. */
	lack = update_need_lack(&need, 30, 1, 0, true);
	ck_assert_uint_eq(lack.blocks, 70);
	ck_assert_uint_eq(lack.inodes, 4);
	/* Afterwards 10 more are taken than before. */
	lack = update_need_lack(&need, 35, 1, 40, false);
	ck_assert_uint_eq(lack.blocks, 15);
}
END_TEST

/* An area with some xattrs, then with inline data beside them; without these it is the same again. */
START_TEST(inline_data_leave_no_trace)
{
	const struct ondisk_format format = { .inode_bytes = 512, .extra_isize = 32, .inline_data = true };
	const struct xattr list[] = {
		{ .name = "user.one", .value = "1", .value_bytes = 1 },
		{ .name = "trusted.empty", .value = "", .value_bytes = 0 },
		{ .name = "security.selinux", .value = "system_u:object_r:etc_t:s0", .value_bytes = 27 },
	};
	const struct xattr_layout layout = { .in_inode = 7 };
	uint8_t area[512], raw[512] = { 0 }, again[512], data[200], root[INODE_ROOT_BYTES];
	uint32_t bytes = inode_xattr_area_bytes(&format);
	const uint16_t extra = 32, stored = htole16(extra);

	ck_assert_int_eq(xattr_encode_inode(&format, list, 3, &layout, area), 0);
	memcpy(again, area, bytes);
	memset(data, 'd', sizeof(data));
	ck_assert_uint_ge(inline_data_room(&format, area), sizeof(data));
	inline_data_encode(&format, data, sizeof(data), root, area);
	memcpy(raw + EXT2_GOOD_OLD_INODE_SIZE, &stored, sizeof(stored));
	memcpy(raw + EXT2_GOOD_OLD_INODE_SIZE + extra, area, bytes);
	memset(area, 0xff, sizeof(area));
	ck_assert_int_eq(inline_data_area(&format, raw, area), 0);
	ck_assert_mem_eq(area, again, bytes);
	/* An inode with more extra fields has less room. */
	const struct ondisk_format narrow = { .inode_bytes = 512, .extra_isize = 300, .inline_data = true };

	ck_assert_int_eq(inline_data_area(&narrow, raw, area), ENOSPC);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("update");
	TCase *tests = tcase_create("update");

	tcase_add_test(tests, a_map_has_what_was_entered);
	tcase_add_test(tests, space_that_is_freed_counts_after_a_commit);
	tcase_add_test(tests, inline_data_leave_no_trace);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
