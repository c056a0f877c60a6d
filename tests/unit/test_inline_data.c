/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How much an inode holds inline, and where it stands; what the kernel makes of it is for tests/populate-inline. */

#include <errno.h>
#include <string.h>

#include "ondisk/xattr.h"
#include "directory_names.h"
#include "unit.h"

#define AREA_BYTES 96 /* of 256-byte inodes */
#define MOST_BYTES (60 + AREA_BYTES - 8 - 20)

static const struct ondisk_format format = { .block_bytes = 4096,
	                                     .block_bits = 12,
	                                     .inode_bytes = 256,
	                                     .extra_isize = 32,
	                                     .inline_data = true,
	                                     .filetype = true };

/* The area with one xattr, "user.a", of value_bytes bytes. */
static void make_area(uint8_t area[AREA_BYTES], uint32_t value_bytes)
{
	static const uint8_t value[AREA_BYTES] = { 'v', 'v', 'v' };
	struct xattr xattr = { .name = "user.a", .value = value, .value_bytes = value_bytes };
	struct xattr_layout layout;

	ck_assert_int_eq(xattr_place(&format, &xattr, 1, &layout), 0);
	ck_assert_int_eq(xattr_encode_inode(&format, &xattr, 1, &layout, area), 0);
}

START_TEST(room)
{
	static const struct {
		uint32_t value_bytes, room_bytes;
	} cases[] = { { 0, 108 }, { 1, 104 }, { 4, 104 }, { 5, 100 }, { 44, 64 }, { 48, 60 }, { 49, 0 }, { 68, 0 } };
	struct ondisk_format other = format;
	uint8_t area[AREA_BYTES] = { 0 };

	ck_assert_uint_eq(inline_data_room(&format, NULL), MOST_BYTES);
	ck_assert_uint_eq(inline_data_room(&format, area), MOST_BYTES);
	for (size_t n = 0; n < sizeof(cases) / sizeof(cases[0]); n++) {
		make_area(area, cases[n].value_bytes);
		ck_assert_uint_eq(inline_data_room(&format, area), cases[n].room_bytes);
	}
	other.inline_data = false;
	ck_assert_uint_eq(inline_data_room(&other, NULL), 0);
	other = format;
	other.inode_bytes = 128;
	other.extra_isize = 0;
	ck_assert_uint_eq(inline_data_room(&other, NULL), 0);
}
END_TEST

START_TEST(behind_an_xattr)
{
	uint8_t area[AREA_BYTES], before[AREA_BYTES], root[INODE_ROOT_BYTES], data[100];

	memset(data, 'd', sizeof(data));
	make_area(area, 3);
	memcpy(before, area, sizeof(area));
	inline_data_encode(&format, data, 67, root, area);
	ck_assert_mem_eq(root, data, sizeof(root));
	ck_assert_mem_eq(area, before, 24); /* magic and the xattr's entry */
	ck_assert_mem_eq(area + 24, "\x04\x07\x50\0\0\0\0\0\x07\0\0\0\0\0\0\0data\0\0\0\0", 24);
	ck_assert_mem_eq(area + 84, "ddddddd\0vvv\0", 12);
}
END_TEST

static struct directory_target some_target(const void *context, uint32_t entry)
{
	(void)context;
	return (struct directory_target){ 12 + entry, EXT2_FT_REG_FILE };
}

/* count names of length_bytes bytes. */
static struct name_set same_length(uint32_t count, uint32_t length_bytes)
{
	struct name_set set = name_set_start();
	char name[256];

	for (uint32_t n = 0; n < count; n++) {
		snprintf(name, sizeof(name), "%0*u", (int)length_bytes, n);
		name_set_add(&set, name, length_bytes);
	}
	return set;
}

START_TEST(directories)
{
	static const struct {
		uint32_t count, length_bytes, bytes;
	} cases[] = {
		{ 0, 1, 60 },  { 4, 4, 60 },   { 5, 4, 72 },   { 9, 4, 120 }, { 10, 4, 0 }, /* 12 bytes each */
		{ 1, 48, 60 }, { 1, 49, 120 }, { 1, 60, 128 }, { 1, 61, 0 },  { 2, 48, 116 },
		{ 3, 4, 60 },  { 1, 200, 0 },
	};
	uint8_t data[MOST_BYTES];

	for (size_t n = 0; n < sizeof(cases) / sizeof(cases[0]); n++) {
		struct name_set set = same_length(cases[n].count, cases[n].length_bytes);
		struct directory_source source = name_set_source(&set);

		source.target = some_target;
		ck_assert_uint_eq(directory_inline_bytes(&source, MOST_BYTES), cases[n].bytes);
		ck_assert_uint_eq(directory_inline_bytes(&source, 0), 0);
		if (cases[n].bytes) {
			ck_assert_int_eq(directory_build_inline(&format, &source, 2, data, cases[n].bytes), 0);
			ck_assert_int_eq(directory_build_inline(&format, &source, 0, data, cases[n].bytes), EINVAL);
			ck_assert_int_eq(directory_build_inline(&format, &source, 2, data, 59), EINVAL);
		}
		if (cases[n].bytes > 60)
			ck_assert_int_eq(directory_build_inline(&format, &source, 2, data, 60), EINVAL);
		name_set_free(&set);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("inline data");
	TCase *test_case = tcase_create("all");

	tcase_add_test(test_case, room);
	tcase_add_test(test_case, behind_an_xattr);
	tcase_add_test(test_case, directories);
	suite_add_tcase(suite, test_case);
	return run_suite(suite);
}
